#include "admin/views.h"

#include <boost/json/array.hpp>

#include "admin/operator/override_view.h"
#include "config/text/secrets.h"
#include "core/text.h"
#include "policies/set/describe.h"

namespace weir::admin {
namespace {

namespace json = boost::json;
using config::MetricDef;

json::object by_action(const ByAction<std::uint64_t>& cells) {
  json::object out;
  for (const ActionRow& row : kActions) {
    out[row.name] = cells[static_cast<std::size_t>(row.action)];
  }
  return out;
}

std::string key_part_text(const std::string& name, const policies::KeySlot& slot) {
  if (!slot.is_address) return name;
  return name + "/" + std::to_string(slot.v4_bits) + "," + std::to_string(slot.v6_bits);
}

}  // namespace

json::object load_view(const LoadReport& report) {
  json::array problems;
  for (const ProblemLine& problem : report.problems) {
    json::object row;
    row["severity"] = problem.is_error ? "error" : "warning";
    row["file"] = utf8_text(problem.file);
    row["line"] = problem.line;
    row["column"] = problem.column;
    row["message"] = utf8_text(problem.message);
    row["hint"] = utf8_text(problem.hint);
    problems.push_back(std::move(row));
  }
  json::object out;
  out["ok"] = report.ok;
  put_time(out, "at", report.at);
  out["hash"] = report.hash;
  out["problem_count"] = report.problem_count;
  out["problems"] = std::move(problems);
  return out;
}

std::string warnings_note(const LoadReport& report) {
  constexpr std::size_t kShown = 3;
  std::string out;
  std::size_t warnings = 0;
  for (const ProblemLine& problem : report.problems) {
    if (problem.is_error || ++warnings > kShown) continue;
    out += "; warning: " + problem.message;
    if (!problem.hint.empty()) out += " (" + problem.hint + ")";
  }
  if (warnings > kShown)
    out += "; and " + counted(warnings - kShown, "more warning", "more warnings");
  return utf8_text(out);
}

json::value window_value(const policies::Counter& counter) {
  const std::string text = policies::window_text(counter);
  if (text.empty()) return nullptr;
  return json::value(text);
}

namespace {

std::string metric_text(const policies::PolicySet& set, const policies::Policy& policy) {
  if (policy.reads_score) return "score";
  if (!policy.has_metric) return "none";
  std::string out(name_of(set.counters[policy.counters.front()].spec.metric));
  const auto& arguments = policy.bindings.front().arguments;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    out.append(i == 0 ? "(" : ", ").append(arguments[i].canonical());
  }
  return arguments.empty() ? out : out += ")";
}

/// The counting of a policy, or of one of its metrics, as JSON.
json::object count_view(const policies::PolicySet& set, const policies::Policy& policy) {
  json::array watch, key;
  json::value when = nullptr;
  for (const policies::Binding& binding : policy.bindings) {
    if (binding.counts) watch.emplace_back(set.events[binding.event].name);
    if (binding.when) when = binding.when->canonical();
  }
  for (std::size_t i = 0; i < policy.key_names.size(); ++i) {
    key.emplace_back(key_part_text(policy.key_names[i], policy.bindings.front().key[i]));
  }
  json::object out;
  out["name"] = policy.name;
  out["watch"] = std::move(watch);
  out["when"] = std::move(when);
  out["key"] = std::move(key);
  out["metric"] = metric_text(set, policy);
  out["window"] =
      policy.counters.empty() ? json::value() : window_value(set.counters[policy.counters.front()]);
  return out;
}

}  // namespace

std::string_view mode_text(const Call&, const policies::Policy& policy) {
  // An override silences a policy by its rungs.
  const bool silent = policy.shadow || (policy.shadow_rungs && !policy.enforced_rungs);
  return silent ? "shadow" : "enforce";
}

json::object policy_view(const Call& call, const policies::Policy& policy) {
  const policies::PolicySet& set = *call.set;
  json::array guard, metrics, rungs;
  for (const policies::EventIndex event : policy.guards) guard.emplace_back(set.events[event].name);
  for (const policies::PolicyIndex meter : policy.meters) {
    json::object metric = count_view(set, set.policies[meter]);
    metric["missing"] = call.stores.stats.totals("policy", set.policies[meter].name).missing;
    metrics.push_back(std::move(metric));
  }
  for (std::size_t i = 0; i < policy.rungs.size(); ++i) {
    rungs.emplace_back(policies::rung_text(set, policy, i));
  }
  json::array lists;
  for (const policies::ListIndex index : policy.own_lists) {
    if (!set.lists[index].shadow) lists.emplace_back(set.lists[index].name);
  }
  for (const policies::ListIndex index : policy.lists_asleep)
    lists.emplace_back(set.lists[index].name);
  const policies::StatsBank::Totals totals = call.stores.stats.totals("policy", policy.name);
  json::object sums;
  sums["verdicts"] = by_action(totals.verdicts);
  sums["shadows"] = by_action(totals.shadows);
  sums["missing"] = totals.missing;
  sums["amounts_refused"] = totals.amounts_refused;
  sums["listed"] = totals.listed;

  json::object out = count_view(set, policy);
  out["mode"] = mode_text(call, policy);
  out["guard"] = std::move(guard);
  out["metrics"] = std::move(metrics);
  out["pattern"] =
      policy.pattern ? json::value(policies::pattern_text(set, policy)) : json::value();
  out["rungs"] = std::move(rungs);
  out["lists"] = std::move(lists);
  out["totals"] = std::move(sums);
  out["overrides"] = overrides_view(call, policy.name);
  return out;
}

json::object disabled_policy_view(const Call& call, std::string_view name) {
  const policies::StatsBank::Totals none{};
  json::object sums;
  sums["verdicts"] = by_action(none.verdicts);
  sums["shadows"] = by_action(none.shadows);
  for (const char* count : {"missing", "amounts_refused", "listed"}) sums[count] = 0;
  json::object out;
  out["name"] = name;
  out["watch"] = json::array();
  out["when"] = nullptr;
  out["key"] = json::array();
  out["metric"] = "none";
  out["window"] = nullptr;
  out["mode"] = "disabled";
  out["guard"] = json::array();
  out["metrics"] = json::array();
  out["pattern"] = nullptr;
  out["rungs"] = json::array();
  out["lists"] = json::array();
  out["totals"] = std::move(sums);
  out["overrides"] = overrides_view(call, name);
  return out;
}

json::object list_view(const Call& call, const policies::List& list) {
  json::object out;
  out["name"] = list.name;
  out["policy"] = list.owner ? json::value(call.set->policies[*list.owner].name) : json::value();
  out["kind"] = name_of(list.kind);
  out["effect"] = row_of(list.effect).name;
  out["of"] = texts(list.of);
  out["max"] = list.max;
  out["entries"] = call.stores.lists.size(list.id);
  out["static_entries"] = list.fixed.size();
  out["refused"] = call.stores.lists.refused(list.id);
  out["source"] = list.bulk == nullptr ? json::value() : json::value(source_text(list));
  out["source_entries"] = list.bulk == nullptr ? 0 : list.bulk->size();
  out["share"] = list.shared ? "redis" : "local";
  out["asleep"] = list.asleep;
  return out;
}

std::string source_text(const policies::List& list) {
  if (list.file) return *list.file;
  return list.url ? config::without_secrets(list.url->name()) : std::string();
}

std::optional<SourceEntry> source_entry_view(const Call& call, const policies::List& list,
                                             const Hash128& key, const Address* address,
                                             const std::vector<std::string>& parts) {
  const limiter::BulkList* const bulk = list.bulk != nullptr ? list.bulk->get() : nullptr;
  if (bulk == nullptr) return std::nullopt;
  const auto found = bulk->find(key, address, call.at.now);
  if (!found) return std::nullopt;
  return SourceEntry{source_entry_row(call, list, *found, parts), found->until};
}

json::object source_entry_row(const Call& call, const policies::List& list,
                              const limiter::BulkList::Found& found,
                              const std::vector<std::string>& parts) {
  json::object out;
  out["list"] = list.name;
  out["effect"] = row_of(list.effect).name;
  out["static"] = true;
  const std::string range = found.text();
  out["key"] = range.empty() ? texts(parts) : json::array{json::value(range)};
  put_until(out, found.until, call.at.now);
  out["why"] = utf8_text("from " + source_text(list));
  out["by"] = "source";
  return out;
}

json::object entry_view(const Call& call, const policies::List& list,
                        const limiter::ListEntry& entry) {
  json::object out;
  out["list"] = list.name;
  out["effect"] = row_of(list.effect).name;
  out["static"] = false;
  if (list.asleep) out["asleep"] = true;
  out["key"] = texts(entry.parts);
  put_time(out, "since", entry.since);
  put_until(out, entry.until, call.at.now);
  out["why"] = utf8_text(entry.why);
  out["by"] = utf8_text(entry.by);
  out["times"] = entry.times;
  out["level"] = entry.level;
  if (!entry.policy.empty()) {
    out["policy"] = entry.policy;
    // A pattern or a plain rule has nothing to count.
    const policies::Policy* const policy = call.set->find_policy(entry.policy);
    if (policy != nullptr && !policy->has_metric) return out;
    out["value"] = number_value(entry.value);
    out["limit"] = number_value(entry.limit);
  }
  return out;
}

std::vector<std::string> static_parts(const policies::List& list,
                                      const limiter::StaticList::Entry& entry) {
  // In a list of addresses, entries that are no network have been left out.
  if (list.of_address || list.entries.size() != list.fixed.size()) return {entry.text};
  std::vector<std::string> out;
  const auto index = static_cast<std::size_t>(&entry - list.fixed.entries().data());
  for (const config::Text& part : list.entries[index].key) out.push_back(part.value);
  return out;
}

json::object static_entry_view(const Call& call, const policies::List& list,
                               const limiter::StaticList::Entry& entry) {
  json::object out;
  out["list"] = list.name;
  out["effect"] = row_of(list.effect).name;
  out["static"] = true;
  out["key"] = texts(static_parts(list, entry));
  put_until(out, entry.until, call.at.now);
  out["why"] = utf8_text(entry.why);
  out["by"] = "config";
  return out;
}

}  // namespace weir::admin
