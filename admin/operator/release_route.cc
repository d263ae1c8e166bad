#include <algorithm>
#include <boost/json/array.hpp>
#include <charconv>

#include "admin/entry_target.h"
#include "admin/keys.h"
#include "admin/operator/outlook.h"
#include "admin/operator/replicas.h"
#include "admin/operator/undo_log.h"
#include "admin/routes.h"
#include "admin/views.h"
#include "config/text/units.h"
#include "limiter/lists/list_records.h"
#include "policies/set/describe.h"
#include "policies/set/text_keys.h"

/// Taking keys off lists: one, with its count if that is wished, or many at once; and taking that
/// back.
namespace weir::admin {
namespace {

namespace json = boost::json;

constexpr std::size_t kSampleMax = 20;
constexpr std::size_t kPage = 1000;

/// A policy, or one of its metrics, whose counts put keys on a list.
struct Writer {
  const policies::Policy* policy = nullptr;  ///< with the rungs
  const policies::Policy* counts = nullptr;  ///< itself, or its metric
  bool same_key = false;                     ///< counts by the key of the list
};

std::vector<Writer> writers_of(const policies::PolicySet& set,
                               const std::vector<const policies::List*>& lists) {
  std::vector<Writer> out;
  for (const policies::Policy& policy : set.policies) {
    const auto& slots = slots_of(set, *lists.front());
    const auto is_asked_for = [&](policies::ListIndex index) {
      return std::find(lists.begin(), lists.end(), &set.lists[index]) != lists.end();
    };
    const bool writes =
        std::any_of(policy.rungs.begin(), policy.rungs.end(),
                    [&](const policies::Rung& rung) {
                      return rung.list && !rung.disabled && is_asked_for(*rung.list);
                    }) ||
        std::any_of(policy.lists_asleep.begin(), policy.lists_asleep.end(), is_asked_for) ||
        std::any_of(policy.named_asleep.begin(), policy.named_asleep.end(), is_asked_for);
    if (!writes) continue;
    const auto add = [&](const policies::Policy& counts) {
      if (counts.counters.empty()) return;
      const bool same = counts.key_names == lists.front()->of &&
                        counts.bindings.front().key.size() == slots.size();
      out.push_back({&policy, &counts, same});
    };
    add(policy);
    for (const policies::PolicyIndex meter : policy.meters) add(set.policies[meter]);
  }
  return out;
}

// Explains what the remaining counts of a released key mean, for each policy that writes to these
// lists. The key was on these lists until now.
boost::asio::awaitable<json::array> what_remains(const Call& call,
                                                 const std::vector<const policies::List*>& lists,
                                                 const std::vector<std::string>& parts,
                                                 const std::vector<MadeEntry>& made) {
  json::array out;
  const KeyFacts key{parts, made};
  // A policy that an override silences lists the key again when the override ends.
  const auto is_silenced = [&](const policies::Policy& policy) {
    return std::any_of(lists.begin(), lists.end(), [&](const policies::List* list) {
      const auto& named = policy.named_asleep;
      return list->asleep || std::any_of(named.begin(), named.end(), [&](auto index) {
               return &call.set->lists[index] == list;
             });
    });
  };
  for (const Writer& writer : writers_of(*call.set, lists)) {
    if (!writer.same_key || writer.policy != writer.counts) continue;
    const policies::Policy& policy = *writer.policy;
    const bool silenced = is_silenced(policy);
    const Counts counts = co_await read_counts(call, policy, parts, true);
    for (std::size_t i = 0; i < policy.rungs.size(); ++i) {
      const policies::Rung& rung = policy.rungs[i];
      if (rung.counter >= counts.rows.size() || !rung.list || rung.disabled) continue;
      if (rung.shadow && !silenced) continue;
      const limiter::Reading& reading = counts.rows[rung.counter].best_known();
      const Threshold threshold = threshold_of(*call.set, policy, i, key);
      const std::string text = outlook_text(*call.set, policy, i, threshold, reading);
      if (text.empty() || !reading.has_value || reading.value.is_zero()) continue;
      json::object row;
      row["policy"] = policy.name;
      row["rung"] = policies::rung_text(*call.set, policy, i);
      row["value"] = number_value(reading.value.finite());
      row["limit"] = threshold.limit ? number_value(*threshold.limit) : json::value();
      row["table"] = table_value(threshold);
      row["text"] = text;
      out.push_back(std::move(row));
    }
  }
  co_return out;
}

// Empties the counters of this key; `emptied` names the counters, `others` the policies that list
// here by another key. Returns why a store did not answer.
boost::asio::awaitable<std::string> forgive(const Call& call,
                                            const std::vector<const policies::List*>& lists,
                                            const std::vector<std::string>& parts,
                                            json::array& emptied, json::array& others) {
  for (const Writer& writer : writers_of(*call.set, lists)) {
    if (!writer.same_key) {
      others.emplace_back(writer.counts->name);
      continue;
    }
    std::string why = co_await empty_counts(call, *writer.counts, parts);
    if (!why.empty()) co_return why;
    emptied.emplace_back(writer.counts->name);
  }
  co_return std::string();
}

/// The disabled policies that write one of these lists: nothing of them can be emptied now.
json::array disabled_writers(const policies::PolicySet& set,
                             const std::vector<const policies::List*>& lists) {
  json::array out;
  for (const auto& [policy, name] : set.disabled_lists) {
    const bool writes = std::any_of(lists.begin(), lists.end(),
                                    [&](const auto* list) { return list->name == name; });
    if (writes && (out.empty() || out.back().get_string() != policy)) out.emplace_back(policy);
  }
  return out;
}

std::optional<net::HttpReply> read_flag(const Call& call, std::string_view name, bool& out) {
  if (!call.query.has(name)) return std::nullopt;
  const auto text = call.query.one(name);
  if (text != "true" && text != "false")
    return problem(400, "`" + std::string(name) + "` is true or false");
  out = text == "true";
  return std::nullopt;
}

std::string counted_entries(std::size_t n) {
  return std::to_string(n) + (n == 1 ? " entry" : " entries");
}

}  // namespace

boost::asio::awaitable<net::HttpReply> remove_entry(Call& call) {
  if (auto refused = call.refuse_unknown({"key", "forgive"})) co_return std::move(*refused);
  bool forgives = false;
  if (auto refused = read_flag(call, "forgive", forgives)) co_return std::move(*refused);
  auto found = entry_target(call, call.query.all("key"), KeyUse::of_entry);
  if (auto* refused = std::get_if<net::HttpReply>(&found)) co_return std::move(*refused);
  const EntryTarget target = std::move(std::get<EntryTarget>(found));
  call.entry.shared = any_shared(target.lists);

  const bool is_cut = std::any_of(target.parts.begin(), target.parts.end(), limiter::is_cut);
  if (forgives && is_cut) {
    co_return problem(409,
                      "the count of this key cannot be found, because only its beginning is kept: "
                      "name the key in full, or remove the entry alone");
  }
  json::array emptied, others;
  if (forgives) {
    const std::string why = co_await forgive(call, target.lists, target.parts, emptied, others);
    if (!why.empty()) {
      co_return problem(504, "the shared store has not answered: " + why +
                                 "; the entry and the count are as they were");
    }
  }
  std::size_t removed = 0;
  bool fixed = false;
  std::string source;  // the file or URL that an entry for the key comes from
  std::string token;
  json::array entries_before;
  std::vector<MadeEntry> made;
  for (const policies::List* list : target.lists) {
    const Hash128 key = key_in(call, *list, target);
    auto before = call.stores.lists.get(list->id, key, call.at.now);
    fixed = fixed || static_entry(call, *list, target) != nullptr;
    if (source_entry(call, *list, target)) source = source_text(*list);
    if (!call.stores.lists.remove(list->id, key, call.at.now)) continue;
    ++removed;
    if (before) entries_before.push_back(entry_view(call, *list, *before));
    if (before) made.emplace_back(list, *before);
    UndoLog::Change change;
    change.token = token;
    change.what = std::string(forgives ? "forgave" : "removed") + " a key of " + list->name;
    change.list = list->kept_as;
    change.shown = list->name;
    change.steps.push_back({key, std::move(before)});
    token = call.undo.keep(std::move(change), call.at.now);
  }
  if (!entries_before.empty()) call.entry.before = std::move(entries_before);
  call.entry.after = {{"removed", removed}, {"emptied", emptied}};
  if (fixed) {
    co_return problem(409,
                      "an entry of the configuration covers this key: only the file can remove it",
                      {{"removed", removed}});
  }
  if (!source.empty()) {
    co_return problem(409,
                      utf8_text("an entry of " + source +
                                " covers this key: take it out there; weir notices the change"),
                      {{"removed", removed}});
  }
  json::array remains;
  if (!forgives && !is_cut) remains = co_await what_remains(call, target.lists, target.parts, made);
  json::object body;
  body["name"] = call.name();
  body["key"] = texts(target.parts);
  body["removed"] = removed;
  body["emptied"] = std::move(emptied);
  body["counted_by_another_key"] = std::move(others);
  body["disabled"] = forgives ? disabled_writers(*call.set, target.lists) : json::array();
  body["remains"] = std::move(remains);
  put_away_note(call, body);
  body["undo"] = token.empty() ? json::value() : json::value(token);
  co_return json_reply(body);
}

net::HttpReply clear_list(Call& call) {
  if (auto refused = call.refuse_unknown({"since", "dry_run"})) return std::move(*refused);
  bool dry_run = false;
  if (auto refused = read_flag(call, "dry_run", dry_run)) return std::move(*refused);
  const auto lists = lists_named(*call.set, call.name());
  if (lists.empty()) return no_such_list(*call.set, call.name());
  if (dry_run) call.entry.action.clear();  // nothing changes
  call.entry.shared = any_shared(lists);
  TimePoint since{};
  if (call.query.has("since")) {
    const auto text = call.query.one("since");
    const auto parsed = text ? config::parse_date(*text) : config::Parsed<TimePoint>{};
    if (!parsed) return problem(400, "`since` is a time of RFC 3339");
    since = *parsed.value;
  }
  std::size_t matched = 0, removed = 0, kept_static = 0, kept_source = 0;
  json::array sample;
  std::string token;
  for (const policies::List* list : lists) {
    kept_static += list->fixed.size();
    if (list->bulk != nullptr) kept_source += list->bulk->size();
    UndoLog::Change change;
    change.token = token;
    change.list = list->kept_as;
    change.shown = list->name;
    std::optional<Hash128> after;
    for (bool more = true; more;) {
      auto page = call.stores.lists.page(list->id, call.at.now, after, kPage);
      more = page.size() == kPage;
      for (limiter::ListEntry& entry : page) {
        after = entry.key;
        if (entry.since < since) continue;
        ++matched;
        if (sample.size() < kSampleMax) sample.push_back(entry_view(call, *list, entry));
        if (dry_run || removed == UndoLog::kEntriesMax) continue;
        if (!call.stores.lists.remove(list->id, entry.key, call.at.now)) continue;
        ++removed;
        const Hash128 key = entry.key;
        change.steps.push_back({key, std::move(entry)});
      }
    }
    change.what = "removed " + counted_entries(change.steps.size()) + " of " + list->name;
    const std::string kept = call.undo.keep(std::move(change), call.at.now);
    if (!kept.empty()) token = kept;
  }
  json::object body;
  body["name"] = call.name();
  body["dry_run"] = dry_run;
  if (call.query.has("since")) put_time(body, "since", since);
  body["matched"] = matched;
  body["removed"] = removed;
  body["in_configuration"] = kept_static;
  body["in_source"] = kept_source;
  body["sample"] = std::move(sample);
  put_away_note(call, body);
  body["undo"] = token.empty() ? json::value() : json::value(token);
  call.entry.before = {{"entries", matched}, {"sample", body["sample"]}};
  call.entry.after = {{"removed", removed}};
  return json_reply(body);
}

net::HttpReply get_changes(Call& call) {
  if (auto refused = call.refuse_unknown({})) return std::move(*refused);
  // A change that came in pieces, or from another replica in pieces, is taken back as one.
  struct Whole {
    const UndoLog::Change* last;
    std::size_t entries;
    TimePoint until;
  };
  std::vector<Whole> changes;
  for (const UndoLog::Change* change : call.undo.changes(call.at.now)) {
    const TimePoint until = change->at + UndoLog::kKept;
    const auto known = std::find_if(changes.begin(), changes.end(), [&](const Whole& whole) {
      return whole.last->token == change->token && whole.last->list == change->list;
    });
    if (known == changes.end()) {
      changes.push_back({change, change->steps.size(), until});
    } else {
      known->entries += change->steps.size();
      known->until = std::min(known->until, until);
    }
  }
  json::array rows;
  for (const Whole& whole : changes) {
    json::object row;
    row["undo"] = whole.last->token;
    put_time(row, "at", whole.last->at);
    row["what"] = whole.last->what;
    row["list"] = whole.last->shown;
    row["entries"] = whole.entries;
    put_time(row, "until", whole.until);
    rows.push_back(std::move(row));
  }
  return json_reply({{"changes", std::move(rows)}});
}

net::HttpReply undo_change(Call& call) {
  if (auto refused = call.refuse_unknown({})) return std::move(*refused);
  const std::string list = call.undo.list_of(call.name());
  call.entry.shared = shares_entries(*call.set, list);
  const auto undone = call.undo.undo(call.name(), call.stores.lists, call.at.now);
  if (!undone)
    return problem(404,
                   "there is nothing to undo under this token; it is kept for an hour, and "
                   "works once");
  json::object body;
  body["undo"] = utf8_text(call.name());
  body["what"] = utf8_text(undone->what);
  body["restored"] = undone->restored;
  body["removed"] = undone->removed;
  body["left"] = undone->left;
  call.entry.after = body;
  put_away_note(call, body);
  return json_reply(body);
}

}  // namespace weir::admin
