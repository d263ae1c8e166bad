#include <algorithm>
#include <boost/json/array.hpp>
#include <map>

#include "admin/keys.h"
#include "admin/operator/outlook.h"
#include "admin/routes.h"
#include "admin/views.h"
#include "core/chars/key_text.h"
#include "core/chars/network_text.h"
#include "limiter/lists/list_records.h"
#include "policies/set/describe.h"
#include "policies/set/text_keys.h"

/// GET /v1/why: everything that concerns one address, user or other key, and how to lift it.
namespace weir::admin {
namespace {

namespace json = boost::json;

// Entries of lists with several parts that are looked through for one of them: a second's work at
// most, so that a question never holds up the others.
constexpr std::size_t kScannedMax = 200'000;
constexpr std::size_t kPartsMax = 8;
// The most entries whose limits are shown beside the counts.
constexpr std::size_t kMadeMax = 1'000;

json::array commands_of(std::initializer_list<std::string> commands) {
  json::array out;
  for (const std::string& command : commands) out.emplace_back(command);
  return out;
}

/// Gathers the answer, in the order of the policy set.
class Inquiry {
 public:
  Inquiry(const Call& call, std::vector<std::string_view> key)
      : call_(call), key_(std::move(key)) {}

  void look_at_lists() {
    for (const policies::List& list : call_.set->lists) {
      if (list.of.empty()) {  // of a keyless policy: its one entry applies to everyone
        look_at_list(list, {});
        continue;
      }
      const auto parts = canonical_parts(key_, slots_of(*call_.set, list), list.of);
      if (const auto* mine = std::get_if<std::vector<std::string>>(&parts))
        look_at_list(list, *mine);
      else if (key_.size() == 1 && list.of.size() > 1)
        search_part(list);
    }
  }

  boost::asio::awaitable<void> look_at_policies() {
    for (const policies::Policy& policy : call_.set->policies) {
      if (policy.bindings.empty()) continue;
      // A policy without a key concerns every caller. It is shown only while its entry lasts;
      // `weir ctl counter` shows its count at any time.
      if (policy.key_names.empty()) {
        if (!lists_everybody(policy)) {
          add_maker(policy);
          continue;
        }
        const std::vector<std::string> no_key;
        policies_.push_back(policy_row(policy, no_key));
        if (!policy.counters.empty()) co_await look_at_counters(policy, no_key);
        continue;
      }
      auto parts = canonical_parts(key_, policy.bindings.front().key, policy.key_names);
      const auto* const mine = std::get_if<std::vector<std::string>>(&parts);
      if (mine == nullptr || mine->empty()) {
        add_maker(policy);
        continue;
      }
      policies_.push_back(policy_row(policy, *mine));
      if (!policy.counters.empty()) co_await look_at_counters(policy, *mine);
    }
  }

  /// No entry, and no count.
  bool has_found_nothing() const { return entries_.empty() && counters_.empty(); }

  json::object answer() {
    json::object out;
    out["key"] = texts({key_.begin(), key_.end()});
    out["listed"] = worst_ != nullptr;
    out["allowed"] = allowed_;
    out["effect"] = worst_ == nullptr ? json::value() : json::value(row_of(worst_->effect).name);
    out["summary"] = summary();  // before the rows are moved away
    out["entries"] = std::move(entries_);
    out["counters"] = std::move(counters_);
    out["policies"] = std::move(policies_);
    out["counted_here_only"] = utf8_text(why_here_);
    out["complete"] = is_complete();
    out["unsearched"] = std::move(unsearched_);
    return out;
  }

 private:
  bool lists_everybody(const policies::Policy& policy) const {
    const auto has_entry = [&](policies::ListIndex index) {
      const policies::List& list = call_.set->lists[index];
      const auto key = policies::list_key(*call_.set, list, {}, call_.stores.secret);
      return key && call_.stores.lists.get(list.id, *key, call_.at.now);
    };
    return std::any_of(policy.own_lists.begin(), policy.own_lists.end(), has_entry) ||
           std::any_of(policy.lists_asleep.begin(), policy.lists_asleep.end(), has_entry);
  }

  /// A policy whose key is another one than was asked for concerns it all the same, if it made one
  /// of the entries: silencing it needs its name.
  void add_maker(const policies::Policy& policy) {
    const auto found = makers_.find(policy.name);
    if (found != makers_.end()) policies_.push_back(policy_row(policy, found->second));
  }

  void note_maker(const policies::List& list, const limiter::ListEntry& entry) {
    std::string maker = entry.policy;
    if (maker.empty() && list.owner) maker = call_.set->policies[*list.owner].name;
    const policies::Policy* const policy = call_.set->find_policy(maker);
    if (policy == nullptr) return;
    // The key of the first entry; of another key than the list's only the policy knows it.
    const bool same = policy->key_names == list.of;
    makers_.try_emplace(std::move(maker), same ? entry.parts : std::vector<std::string>());
  }

  void look_at_list(const policies::List& list, const std::vector<std::string>& parts) {
    const auto key = policies::list_key(*call_.set, list, as_views(parts), call_.stores.secret);
    if (!key) return;
    std::optional<Address> address;
    if (list.of_address) address = Address::parse(key_.front());
    const TimePoint now = call_.at.now;
    if (const auto* fixed = list.fixed.find(*key, address ? &*address : nullptr, now)) {
      add_fixed(list, *fixed);
    }
    if (auto entry = source_entry_view(call_, list, *key, address ? &*address : nullptr, parts)) {
      // A network that another one cuts is a range, and no line of the file.
      const std::string text = entry_key(entry->row);
      const bool is_line = text.find(" - ") == std::string::npos;
      entry->row["how"] = (is_line ? "the entry " : "an entry that covers ") + text +
                          " comes from " + source_text(list) +
                          ": take it out there; weir notices the change";
      entry->row["commands"] = json::array();
      add_entry_row(list, std::move(entry->row), entry->until);
    }
    if (const auto entry = call_.stores.lists.get(list.id, *key, now))
      return add_dynamic(list, *entry);
    if (std::any_of(parts.begin(), parts.end(), limiter::may_be_cut)) {
      search(list, [&](const limiter::ListEntry& entry) { return entry.parts == parts; });
    }
  }

  static std::string entry_key(const json::object& row) {
    std::vector<std::string> parts;
    for (const json::value& part : row.at("key").get_array()) parts.emplace_back(text_of(part));
    return key_text(parts);
  }

  void add_fixed(const policies::List& list, const limiter::StaticList::Entry& entry) {
    json::object row = static_entry_view(call_, list, entry);
    row["how"] = "the entry " + entry_key(row) +
                 " is in the configuration: remove it from the list \"" + list.name +
                 "\" in the file, then weir ctl reload";
    row["commands"] = json::array();
    add_entry_row(list, std::move(row), entry.until);
  }

  void add_dynamic(const policies::List& list, const limiter::ListEntry& entry) {
    const bool of_key = entry.parts.size() == key_.size() || list.of.empty();
    if (!entry.policy.empty() && of_key && made_.size() < kMadeMax)
      made_.emplace_back(&list, entry);
    json::object row = entry_view(call_, list, entry);
    if (list.shadow) {
      row["how"] = "a shadow entry acts on nobody";
      row["commands"] = json::array();
    } else {
      row["how"] = list.asleep ? "the entry acts again when the override of its policy ends" : "";
      lift(list, entry.parts, row);
    }
    note_maker(list, entry);
    add_entry_row(list, std::move(row), entry.until);
  }

  /// The commands that lift an entry, as far as a command line can name its key.
  static void lift(const policies::List& list, const std::vector<std::string>& parts,
                   json::object& row) {
    const bool has_zero = std::any_of(parts.begin(), parts.end(), [](const std::string& part) {
      return part.find('\0') != std::string::npos;
    });
    if (has_zero) {
      std::string how(row["how"].get_string());
      how += how.empty() ? "" : "; ";
      row["how"] = how + "no command line can carry a zero byte: DELETE /v1/lists/" + list.name +
                   "/entries?key=KEY, with %00 for it";
      row["commands"] = json::array();
      return;
    }
    row["commands"] = commands_of({list_command(list.name, parts, "--remove")});
    // The count is found by the whole key alone.
    if (std::none_of(parts.begin(), parts.end(), limiter::is_cut))
      row["commands"].get_array().emplace_back(list_command(list.name, parts, "--forgive"));
  }

  void add_entry_row(const policies::List& list, json::object row, TimePoint until) {
    row["kind"] = name_of(list.kind);
    row["shadow"] = list.shadow;
    entries_.push_back(std::move(row));
    if (list.shadow) return;
    if (list.asleep) {
      asleep_ = &list;
      return;
    }
    if (list.kind == ListKind::allow) {
      allowed_ = true;
      return;
    }
    if (worst_ != nullptr && severity(worst_->effect) >= severity(list.effect)) return;
    worst_ = &list;
    worst_until_ = until;
  }

  // One word for a list of several parts: the entries that have it as one of them.
  void search_part(const policies::List& list) {
    const auto& slots = slots_of(*call_.set, list);
    std::vector<std::optional<std::string>> wanted;  // by part; nullopt: it cannot be this one
    for (const policies::KeySlot& slot : slots) wanted.push_back(canonical(slot, key_.front()));
    const auto& fixed = list.fixed.entries();
    for (const limiter::StaticList::Entry& entry : fixed) {
      if (entry.until <= call_.at.now || ++scanned_ > kScannedMax) continue;
      const std::vector<std::string> parts = static_parts(list, entry);
      bool fits = false;
      for (std::size_t i = 0; i < parts.size() && i < slots.size(); ++i)
        fits = fits || (wanted[i] && canonical(slots[i], parts[i]) == wanted[i]);
      if (fits) add_fixed(list, entry);
    }
    // For these entries only the hash of the whole key is kept.
    const bool may_have = std::any_of(wanted.begin(), wanted.end(),
                                      [](const auto& each) { return each.has_value(); });
    if (may_have && list.bulk != nullptr && list.bulk->size() != 0 && !list.shadow) {
      unsearched_.push_back(json::object{{"list", list.name},
                                         {"source", utf8_text(source_text(list))},
                                         {"of", texts(list.of)},
                                         {"entries", list.bulk->size()}});
    }
    for (auto& each : wanted)
      if (each) each = limiter::printable(*each);
    search(list, [&](const limiter::ListEntry& entry) {
      for (std::size_t i = 0; i < entry.parts.size() && i < wanted.size(); ++i)
        if (wanted[i] && entry.parts[i] == *wanted[i]) return true;
      return false;
    });
  }

  static std::optional<std::string> canonical(const policies::KeySlot& slot,
                                              std::string_view text) {
    if (const auto address = policies::address_part(slot, text)) return address->to_string();
    if (slot.is_address) return std::nullopt;
    return policies::canonical_part(slot.type, text);
  }

  bool is_complete() const { return scanned_ < kScannedMax && unsearched_.empty(); }

  template <class Fits>
  void search(const policies::List& list, Fits fits) {
    std::optional<Hash128> after;
    while (scanned_ < kScannedMax) {
      const auto page = call_.stores.lists.page(list.id, call_.at.now, after, 1000);
      for (const limiter::ListEntry& entry : page) {
        after = entry.key;
        ++scanned_;
        if (fits(entry)) add_dynamic(list, entry);
      }
      if (page.size() < 1000) break;
    }
  }

  json::object policy_row(const policies::Policy& policy, const std::vector<std::string>& parts) {
    json::array rungs;
    for (std::size_t i = 0; i < policy.rungs.size(); ++i)
      rungs.emplace_back(policies::rung_text(*call_.set, policy, i));
    json::object row;
    row["policy"] = policy.name;
    row["mode"] = mode_text(call_, policy);
    row["key"] = texts(parts);
    row["waits_for"] =
        policy.pattern ? json::value(policies::pattern_text(*call_.set, policy)) : json::value();
    row["rungs"] = std::move(rungs);
    row["commands"] = json::array();
    if (!policy.is_meter && mode_text(call_, policy) != name_of(Mode::shadow)) {
      row["commands"] = commands_of({shell_words(
          {"weir", "ctl", "policy", policy.name, "shadow", "--for", "10m", "--reason", "TEXT"})});
    }
    return row;
  }

  boost::asio::awaitable<void> look_at_counters(const policies::Policy& policy,
                                                const std::vector<std::string>& parts) {
    const Counts counts = co_await read_counts(call_, policy, parts, why_here_.empty());
    if (!counts.why_here.empty()) why_here_ = counts.why_here;
    const KeyFacts facts{parts, made_};
    for (std::size_t i = 0; i < counts.rows.size(); ++i) {
      const Count& count = counts.rows[i];
      const limiter::KeptReading& reading = count.best_known();
      const bool none = !reading.has_value ||
                        (!reading.last && reading.value.is_zero() && reading.in_flight == 0);
      if (none) continue;
      json::object row;
      row["policy"] = policy.name;
      row["mode"] = mode_text(call_, policy);
      row["key"] = texts(parts);
      row["what"] = policies::counter_text(*count.counter);
      row["window"] = window_value(*count.counter);
      row["value"] = value_of(reading, reading.value);
      row["settled"] = value_of(reading, reading.settled);
      row["in_flight"] = reading.in_flight;
      row["from"] = count.all ? "store" : "here";
      row["rungs"] = rungs_of(call_, policy, i, facts, &reading);
      row["commands"] = commands_of({reset_command(policy.name, parts)});
      counters_.push_back(std::move(row));
    }
  }

  std::string summary() const {
    const std::string key = utf8_text(key_text(std::vector<std::string>(key_.begin(), key_.end())));
    if (allowed_) return key + " is on an allow list: policies do not act on it";
    if (worst_ == nullptr && asleep_ != nullptr) {
      return key + " is on " + asleep_->name + " (" + std::string(row_of(asleep_->effect).name) +
             "), which acts on nobody until the override of its policy ends";
    }
    if (worst_ == nullptr) {
      return key + (is_complete() ? " is on no list" : " is on no list that could be searched") +
             (counters_.empty() ? ", and nothing counts it" : "");
    }
    std::string out = key + (worst_->of.empty() ? " is like everybody on " : " is on ") +
                      worst_->name + " (" + std::string(row_of(worst_->effect).name) + ")";
    if (worst_until_ >= limiter::kForever) return out + " until somebody removes it";
    return out + " until " + policies::time_text(worst_until_);
  }

  const Call& call_;
  std::vector<std::string_view> key_;
  std::map<std::string, std::vector<std::string>> makers_;  // of entries: policy, key
  std::vector<MadeEntry> made_;                             // by policies
  json::array entries_, counters_, policies_, unsearched_;
  const policies::List* worst_ = nullptr;  // the severest that acts, allow lists apart
  TimePoint worst_until_{};
  const policies::List* asleep_ = nullptr;  // has the key, but its policy is silenced
  bool allowed_ = false;
  std::size_t scanned_ = 0;
  std::string why_here_;  // why the store was not asked any more
};

}  // namespace

boost::asio::awaitable<net::HttpReply> get_why(Call& call) {
  if (auto refused = call.refuse_unknown({"key"})) co_return std::move(*refused);
  auto key = call.query.all("key");
  if (key.empty()) co_return problem(400, "give the address, user or other key as `key`");
  if (key.size() > kPartsMax) co_return problem(400, "a key has at most 8 parts");
  for (const std::string_view part : key) {
    if (part.size() > kKeyPartBytesMax) {
      co_return problem(400,
                        "a key part has at most " + std::to_string(kKeyPartBytesMax) + " bytes");
    }
  }
  // A policy may have listed callers whose field is empty, and a text may look like a network.
  const bool is_empty =
      std::all_of(key.begin(), key.end(), [](std::string_view part) { return part.empty(); });
  const auto network = std::find_if(key.begin(), key.end(), is_network);
  const std::string about_network = network != key.end() ? network_question(*network) : "";
  Inquiry inquiry(call, std::move(key));
  inquiry.look_at_lists();
  co_await inquiry.look_at_policies();
  if (inquiry.has_found_nothing()) {
    if (is_empty) co_return problem(400, "the key is empty");
    if (!about_network.empty()) co_return problem(400, about_network);
  }
  co_return json_reply(inquiry.answer());
}

}  // namespace weir::admin
