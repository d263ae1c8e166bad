#include "admin/operator/outlook.h"

#include <boost/json/array.hpp>

#include "config/table_edit.h"
#include "core/chars/ascii.h"
#include "core/utf8.h"
#include "core/visible.h"
#include "policies/set/describe.h"

namespace weir::admin {
namespace {

namespace json = boost::json;

// The consequence for an event for which the rung holds.
std::string consequence(const policies::Rung& rung) {
  if (rung.list) return "lists again";
  if (rung.action == Action::deny) return "is refused";
  const std::string_view done = row_of(rung.action).done;
  return done.empty() ? "takes effect" : "is " + std::string(done);
}

// The same where the event's own limit decides it.
std::string chance(const policies::Rung& rung) {
  const std::string sure = consequence(rung);
  if (sure.starts_with("is ")) return "may be " + sure.substr(3);
  return rung.list ? "may list again" : "may take effect";
}

std::string event_of(const policies::PolicySet& set, const policies::Policy& policy) {
  for (const policies::Binding& binding : policy.bindings) {
    if (binding.counts) return set.events[binding.event].name;
  }
  return "event";
}

/// `4000, listed at 3000; gold_limit has 1500 to 3000 by shop, os: the next reward lists again`
std::string outlook_of_table(const policies::Rung& rung, const Threshold& threshold,
                             const Number& stands, const Number& in_flight, bool grows,
                             const std::string& event) {
  std::string out = stands.finite().to_string();
  if (!in_flight.is_zero()) out += ", and " + in_flight.to_string() + " in flight may join it";
  if (threshold.listed_at) out += ", listed at " + config::limit_text(*threshold.listed_at);
  out += "; " + threshold.table->name() + " has " + range_text(threshold);
  if (!threshold.reach) return out;
  // A count grows by one with the next event.
  const Number one(grows ? 1 : 0);
  const bool least = passes(rung.compare, stands + one, threshold.reach->least);
  const bool most = passes(rung.compare, stands + one, threshold.reach->most);
  const std::string next = "the next " + event + " ";
  if (least && most && threshold.reach->always)
    return out + ": " + next + consequence(rung) + (grows ? "" : " while it does");
  if (least || most) return out + ": " + next + chance(rung) + ", by its own limit";
  if (!grows || !threshold.reach->least.is_finite()) return out;
  if (!in_flight.is_zero() &&
      passes(rung.compare, stands + in_flight + one, threshold.reach->least))
    return out + ": until they are answered, " + next +
           (refuses(rung.effect) ? "may wait for them" : chance(rung)) + ", by its own limit";
  const Number first =
      rung.compare == Compare::over ? threshold.reach->least + one : threshold.reach->least;
  return out + ": after " + (first - stands - one).to_string() + " more, " + next + chance(rung) +
         ", by its own limit";
}

}  // namespace

std::string outlook_text(const policies::PolicySet& set, const policies::Policy& policy,
                         std::size_t index, const Threshold& threshold,
                         const limiter::Reading& reading) {
  const policies::Rung& rung = policy.rungs[index];
  const Compare compare = rung.compare;
  if (compare == Compare::none || (threshold.limit && !threshold.limit->is_finite())) return {};
  std::string out = "the " + std::string(row_of(policy.metric).noun) + " stands at ";
  if (!reading.has_value) return out + "nothing yet";
  const bool counts_ones = policy.metric == weir::Metric::count;
  const bool grows = counts_ones && compare != Compare::under;
  // Events in flight have not happened yet for a count that grows, and the counter does not
  // remember them.
  const bool in_flight = grows && reading.settled < reading.value;
  const Number stands = in_flight ? reading.settled : reading.value;
  if (!threshold.limit) {
    if (threshold.table != nullptr)
      return out + outlook_of_table(rung, threshold, stands,
                                    in_flight ? reading.value - stands : Number(0), grows,
                                    event_of(set, policy));
    out += stands.finite().to_string();
    if (threshold.expression == nullptr) return {};
    return out + "; each " + event_of(set, policy) +
           " brings its own limit: " + threshold.expression->canonical();
  }
  const Number& limit = *threshold.limit;
  out += stands.finite().to_string() + " of " + limit.to_string();
  if (threshold.table != nullptr) out += " by " + threshold.table->name();
  if (!grows) {
    if (!passes(compare, reading.value, limit)) return out;
    return out + ": the next " + event_of(set, policy) + " " + consequence(rung) + " while it does";
  }
  // `over 50` holds from the 51st event on, `at 50` from the 50th.
  const Number first = compare == Compare::over ? limit + Number(1) : limit;
  const Number left = first - stands;
  const std::string what(consequence(rung));
  if (in_flight) {
    const Number flying = reading.value - reading.settled;
    out += ", and " + flying.to_string() + " in flight may join it";
    if (left > Number(1) && first - reading.value <= Number(1)) {
      return out + (refuses(rung.effect)
                        ? ": until they are answered, one more request waits for them, and is then "
                          "refused; nothing is listed"
                        : ": until they are answered, one more request is " +
                              std::string(row_of(rung.action).done) + "; nothing is listed");
    }
  }
  if (left <= Number(1)) return out + ": the next " + event_of(set, policy) + " " + what;
  return out + ": after " + (left - Number(1)).to_string() + " more, the next " +
         event_of(set, policy) + " " + what;
}

json::array rungs_of(const Call& call, const policies::Policy& policy, std::size_t counter,
                     const KeyFacts& key, const limiter::Reading* reading) {
  json::array out;
  for (std::size_t i = 0; i < policy.rungs.size(); ++i) {
    if (policy.rungs[i].counter != counter) continue;
    const Threshold threshold = threshold_of(*call.set, policy, i, key);
    json::object row;
    row["rung"] = policies::rung_text(*call.set, policy, i);
    row["limit"] = threshold.limit ? number_value(*threshold.limit) : json::value();
    row["table"] = table_value(threshold);
    if (reading != nullptr) {
      const auto held = reading->has_value
                            ? holds(policy.rungs[i].compare, threshold, reading->value)
                            : std::nullopt;
      row["holds"] = held ? json::value(*held) : json::value();
      row["outlook"] = outlook_text(*call.set, policy, i, threshold, *reading);
    }
    out.push_back(std::move(row));
  }
  return out;
}

namespace {

/// Whether a terminal would show the word otherwise than it is, so that a copy of it is another
/// word.
bool has_hidden(std::string_view word) noexcept {
  while (!word.empty()) {
    const Utf8 next = decode_utf8(word);
    if (next.length == 0 || is_hidden(next.code)) return true;
    word.remove_prefix(next.length);
  }
  return false;
}

/// `$'a\011b'`, as bash, zsh and ksh read it: after `\x` some of them take more than two digits.
void append_escaped(std::string& out, std::string_view word) {
  out += "$'";
  for (const char c : word) {
    if (c == '\'' || c == '\\') {
      out += '\\';
      out += c;
    } else if (!ascii::is_printable(c)) {
      const auto byte = static_cast<unsigned char>(c);
      out += '\\';
      for (const int shift : {6, 3, 0}) out += static_cast<char>('0' + (byte >> shift & 7));
    } else {
      out += c;
    }
  }
  out += '\'';
}

}  // namespace

std::string shell_words(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) {
    if (!out.empty()) out += ' ';
    const bool plain = !word.empty() && word.find_first_not_of(
                                            "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVW"
                                            "XYZ0123456789@%+=:,./_-") == std::string::npos;
    if (plain) {
      out += word;
      continue;
    }
    if (has_hidden(word)) {
      append_escaped(out, word);
      continue;
    }
    out += '\'';
    for (const char c : word) {
      if (c == '\'')
        out += "'\\''";
      else
        out += c;
    }
    out += '\'';
  }
  return out;
}

namespace {

// A key that looks like a flag is written after `--`.
std::string command_of(const char* verb, std::string_view name, const std::vector<std::string>& key,
                       std::string_view flag) {
  bool dashed = false;
  for (const std::string& part : key) dashed = dashed || part.starts_with('-');
  std::vector<std::string> words{"weir", "ctl", verb};
  if (dashed) words.insert(words.end(), {std::string(flag), "--"});
  words.emplace_back(name);
  words.insert(words.end(), key.begin(), key.end());
  if (!dashed && !flag.empty()) words.emplace_back(flag);
  return shell_words(words);
}

}  // namespace

std::string list_command(std::string_view list, const std::vector<std::string>& key,
                         std::string_view flag) {
  return command_of("list", list, key, flag);
}

std::string reset_command(std::string_view policy, const std::vector<std::string>& key) {
  return command_of("counter", policy, key, "--reset");
}

}  // namespace weir::admin
