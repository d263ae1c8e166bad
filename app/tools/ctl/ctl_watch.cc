#include "app/tools/ctl/ctl_watch.h"

#include <unistd.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "app/support/columns.h"
#include "app/support/exit_code.h"
#include "app/support/verdict_line.h"
#include "app/tools/ctl/action_word.h"
#include "app/tools/ctl/ctl_text.h"
#include "config/text/problem.h"
#include "config/text/units.h"
#include "core/clock.h"
#include "core/json_numbers.h"
#include "core/text.h"
#include "core/visible.h"
#include "core/words.h"

namespace weir::app {

namespace json = boost::json;

namespace {

constexpr std::string_view kClear = "\x1b[H\x1b[2J";

std::optional<milliseconds> interval_of(const WatchOptions& options, milliseconds otherwise) {
  if (options.interval.empty()) return otherwise;
  const auto parsed = config::parse_duration(options.interval);
  if (parsed && *parsed.value >= milliseconds{100}) return *parsed.value;
  complain("--interval: " + (parsed ? std::string("at least 100ms") : parsed.message));
  return std::nullopt;
}

/// The first of these words, with commas between them, that is such; none: none is.
template <class Is>
std::optional<std::string_view> find_word(std::string_view words, Is is) {
  while (!words.empty()) {
    const std::string_view word = words.substr(0, words.find(','));
    if (is(word)) return word;
    words.remove_prefix(std::min(word.size() + 1, words.size()));
  }
  return std::nullopt;
}

/// Whether a row of GET /v1/verdicts is wanted.
bool is_wanted(const json::value& row, const WatchOptions& options) {
  const std::string policy = cell(row, "policy"), list = cell(row, "list");
  if (!options.policy.empty() && policy != options.policy && list != options.policy &&
      !list.starts_with(options.policy + ":"))
    return false;
  if (options.verdict.empty()) return true;
  const std::string effect = cell(row, "effect");
  const auto wanted = find_word(options.verdict, [&](std::string_view word) {
    const auto action = action_called(word);
    return word == effect || (action && row_of(*action).name == effect);
  });
  return wanted.has_value();
}

bool knows_verdicts(const WatchOptions& options) {
  const auto unknown = find_word(options.verdict, [](std::string_view word) {
    return word != row_of(Action::none).name && !action_called(word);
  });
  if (!unknown) return true;
  std::vector<std::string_view> words;
  for (const ActionRow& row : kActions) words.push_back(row.name);
  const std::string_view near = config::nearest(*unknown, words);
  complain("--verdict: \"" + std::string(*unknown) + "\" is none of " + known_actions() +
           (near.empty() ? "" : "; did you mean \"" + std::string(near) + "\"?"));
  return false;
}

/// Whether a policy or list has this name, so that verdicts of it are possible; else prints the
/// problem.
int check_policy(const AdminDoor& door, const WatchOptions& options) {
  if (options.policy.empty()) return kOk;
  const AdminAnswer policies = ask_admin(door, "GET", "/v1/policies");
  if (policies.code != kOk) return complain_of(policies);
  const AdminAnswer lists = ask_admin(door, "GET", "/v1/lists");
  if (lists.code != kOk) return complain_of(lists);
  std::vector<std::string> names;
  const auto add = [&names](const std::string& name) {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  };
  for (const json::value& policy : items(policies.body, "policies")) add(cell(policy, "name"));
  for (const std::string& name : names_in(lists.body, "lists")) add(name);
  if (std::find(names.begin(), names.end(), options.policy) != names.end()) return kOk;
  for (const json::value& name : items(policies.body, "disabled")) {
    if (plain(name) != options.policy) continue;
    complain("--policy: \"" + options.policy + "\" is disabled: it has no verdicts");
    return kNo;
  }
  complain("--policy: there is neither a policy nor a list \"" + options.policy + "\"" +
           name_hint(options.policy, names));
  return kNo;
}

constexpr std::size_t kTopKeys = 20;

/// The key of an entry, else the address of the client. null: the event came without an address.
json::value key_of(const json::value& row) {
  if (cell(row, "kind") == "listed") return items(row, "key");
  const json::value* const client = member(row, "client");
  return client != nullptr ? json::array{*client} : json::value();
}

/// The same for people.
std::string who_of(const json::value& row, const json::value& key) {
  if (!key.is_null()) {
    const std::string text = key_cell(json::object{{"key", key}}, "key");
    return text.empty() ? std::string(kEverybody) : text;
  }
  const std::string event = cell(row, "event");
  return event.empty() ? "(no address)" : "(event " + event + ")";
}
constexpr std::size_t kKeysMax = 10'000;  // different keys in an interval

}  // namespace

int watch_keys(const AdminDoor& door, const WatchOptions& options, const Globals& globals) {
  const auto interval = interval_of(options, milliseconds{2'000});
  if (!interval || !knows_verdicts(options)) return kUsage;
  if (const int code = check_policy(door, options); code != kOk) return code;
  struct Line {
    std::int64_t count = 0;
    json::value key, last;
  };
  std::string after;
  const bool terminal = globals.output == Output::human && ::isatty(STDOUT_FILENO) == 1;
  const std::size_t times = options.count != 0 ? options.count : terminal ? 0 : 1;
  for (std::size_t i = 0; times == 0 || i <= times; ++i) {
    if (i != 0) wait_for(*interval);
    const AdminAnswer answer =
        ask_admin(door, "GET", "/v1/verdicts" + (after.empty() ? after : "?after=" + after));
    if (answer.code != kOk) return complain_of(answer);
    after = cell(answer.body, "next");
    if (i == 0) continue;  // weir keeps verdicts from now on
    const std::int64_t missed = count_of(answer.body, "missed");
    std::map<std::pair<std::string, std::string>, Line> keys;
    for (const json::value& row : items(answer.body, "verdicts")) {
      if (!is_wanted(row, options) || keys.size() >= kKeysMax) continue;
      const json::value key = key_of(row);
      std::string by = cell(row, "policy");
      if (by.empty()) by = cell(row, "list");
      Line& line = keys[{who_of(row, key), by}];
      ++line.count;
      line.key = key;
      line.last = row;
    }
    std::vector<std::pair<std::pair<std::string, std::string>, Line>> sorted(keys.begin(),
                                                                             keys.end());
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const auto& a, const auto& b) { return a.second.count > b.second.count; });
    if (sorted.size() > kTopKeys) sorted.resize(kTopKeys);
    Rows rows{{"KEY", "BY", "TIMES", "LAST", "VALUE", "LIMIT"}};
    json::array out;
    for (const auto& [key, line] : sorted) {
      rows.push_back({key.first, key.second, std::to_string(line.count), cell(line.last, "effect"),
                      cell(line.last, "value"), cell(line.last, "limit")});
      out.push_back(json::object{{"who", key.first},
                                 {"key", line.key},
                                 {"by", key.second},
                                 {"times", line.count},
                                 {"last", line.last}});
    }
    const std::string table = rows.size() == 1 ? "no verdicts in this time\n" : columns(rows);
    const std::string unseen =
        missed == 0 ? std::string()
                    : counted(static_cast<std::uint64_t>(missed), "verdict", "verdicts") +
                          " came too fast to be counted here\n";
    show(globals, json::object{{"keys", std::move(out)}, {"missed", missed}},
         (terminal ? std::string(kClear) : std::string()) + table + unseen);
  }
  return kOk;
}

int watch_top(const AdminDoor& door, const WatchOptions& options, const Globals& globals) {
  const auto interval = interval_of(options, milliseconds{2'000});
  if (!interval) return kUsage;
  if (!options.policy.empty() || !options.verdict.empty())
    return complain_usage("--policy and --verdict go with keys: weir ctl top keys");
  const bool human = globals.output == Output::human;
  const bool terminal = human && ::isatty(STDOUT_FILENO) == 1;
  const std::size_t times = options.count != 0 ? options.count : terminal ? 0 : 1;
  AdminAnswer before;
  TimePoint asked{};
  for (std::size_t i = 0; times == 0 || i < times; ++i) {
    if (i != 0) wait_for(*interval);
    AdminAnswer answer = ask_admin(door, "GET", "/v1/policies");
    if (answer.code != kOk) return complain_of(answer);
    const TimePoint now = Clock::wall();
    const double seconds = static_cast<double>((now - asked).count()) / 1000;
    std::string text;
    if (terminal)
      text += std::string(kClear) + "weir " + door.address + "  " + iso_time(now) + "\n\n";
    if (!terminal && i != 0) text += "\n";
    text += top_table(answer.body, before.body, seconds);
    show(globals, answer.body, text);
    before = std::move(answer);
    asked = now;
  }
  return kOk;
}

int watch_verdicts(const AdminDoor& door, const WatchOptions& options, const Globals& globals) {
  const auto interval = interval_of(options, milliseconds{500});
  if (!interval || !knows_verdicts(options)) return kUsage;
  if (const int code = check_policy(door, options); code != kOk) return code;
  const bool human = globals.output == Output::human;
  const bool colour = globals.colours(STDOUT_FILENO);
  std::string after;
  std::size_t seen = 0;
  while (true) {
    const AdminAnswer answer =
        ask_admin(door, "GET", "/v1/verdicts" + (after.empty() ? after : "?after=" + after));
    if (answer.code != kOk) return complain_of(answer);
    if (const std::int64_t missed = count_of(answer.body, "missed"); missed != 0)
      complain(counted(static_cast<std::uint64_t>(missed), "verdict", "verdicts") +
               " came too fast to be shown");
    std::string out;
    for (const json::value& row : items(answer.body, "verdicts")) {
      if (!is_wanted(row, options)) continue;
      out += human ? verdict_line(news_of(row), colour)
                   : escape_hidden(plain_numbers(json::serialize(row))) + "\n";
      if (++seen == options.count) {
        print(out);
        return kOk;
      }
    }
    if (!out.empty()) print(out);
    after = cell(answer.body, "next");
    wait_for(*interval);
  }
}

}  // namespace weir::app
