#include "admin/operator/threshold.h"

#include <algorithm>
#include <boost/json/object.hpp>

#include "admin/json.h"
#include "config/table_edit.h"

namespace weir::admin {
namespace {

namespace json = boost::json;

/// The values of a table's dimensions that are in the key of every event.
std::vector<std::optional<std::string_view>> known_dimensions(const policies::Policy& policy,
                                                              std::size_t rung,
                                                              const policies::ThresholdTable& table,
                                                              std::span<const std::string> parts) {
  std::vector<std::optional<std::string_view>> out(table.by().size());
  for (std::size_t dimension = 0; dimension < out.size(); ++dimension) {
    for (std::size_t part = 0; part < parts.size(); ++part) {
      const auto is_same = [&](const policies::Binding& binding) {
        const auto& slots = binding.rungs[rung].limit.table_slots;
        if (part >= binding.key.size() || dimension >= slots.size()) return false;
        const policies::KeySlot& key = binding.key[part];
        // A key has an address masked, and the table as it is.
        return !key.is_address && !key.is_place && key.slot == slots[dimension];
      };
      if (std::all_of(policy.bindings.begin(), policy.bindings.end(), is_same))
        out[dimension] = parts[part];
    }
  }
  return out;
}

}  // namespace

const Number* limit_of(const policies::Policy& policy, std::size_t rung) {
  return std::get_if<Number>(&policy.bindings.front().rungs[rung].limit.source);
}

const policies::ThresholdTable* table_of(const policies::PolicySet& set,
                                         const policies::Policy& policy, std::size_t rung) {
  const auto& source = policy.bindings.front().rungs[rung].limit.source;
  const auto* const table = std::get_if<std::uint16_t>(&source);
  return table == nullptr ? nullptr : set.tables[*table].get();
}

Threshold threshold_of(const policies::PolicySet& set, const policies::Policy& policy,
                       std::size_t rung, const KeyFacts& key) {
  Threshold out;
  const policies::Limit& limit = policy.bindings.front().rungs[rung].limit;
  if (const auto* const number = std::get_if<Number>(&limit.source)) out.limit = *number;
  out.expression = std::get_if<policies::Expression>(&limit.source);
  out.table = table_of(set, policy, rung);
  if (out.table == nullptr) return out;
  const auto known = known_dimensions(policy, rung, *out.table, key.parts);
  out.reach = out.table->reach(known);
  if (out.reach && out.reach->always && out.reach->least == out.reach->most)
    out.limit = out.reach->least;
  for (const auto& [list, entry] : key.entries) {
    const auto& writes = policy.rungs[rung].list;
    // Rungs of one action share a list: the limit may be another rung's.
    if (writes && &set.lists[*writes] == list && entry.policy == policy.name &&
        std::equal(entry.parts.begin(), entry.parts.end(), key.parts.begin(), key.parts.end()) &&
        out.table->may_give(entry.limit, known))
      out.listed_at = entry.limit;
  }
  return out;
}

bool passes(Compare compare, const Number& reading, const Number& limit) {
  switch (compare) {
    case Compare::over:
      return reading > limit;
    case Compare::at:
      return reading >= limit;
    case Compare::under:
      return reading < limit;
    case Compare::none:
      break;
  }
  return false;
}

std::optional<bool> holds(Compare compare, const Threshold& threshold, const Number& reading) {
  if (threshold.limit) return passes(compare, reading, *threshold.limit);
  if (threshold.table == nullptr) return std::nullopt;
  if (!threshold.reach) return false;
  const bool least = passes(compare, reading, threshold.reach->least);
  const bool most = passes(compare, reading, threshold.reach->most);
  if (least != most || (least && !threshold.reach->always)) return std::nullopt;
  return least;
}

std::string range_text(const Threshold& threshold) {
  if (!threshold.reach) return "no limit for it";
  std::string out = config::limit_text(threshold.reach->least);
  if (threshold.reach->least != threshold.reach->most)
    out += " to " + config::limit_text(threshold.reach->most);
  const auto& by = threshold.table->by();
  for (std::size_t i = 0; i < by.size(); ++i) out.append(i == 0 ? " by " : ", ").append(by[i]);
  return out;
}

json::value table_value(const Threshold& threshold) {
  if (threshold.table == nullptr) return nullptr;
  json::object out;
  out["name"] = threshold.table->name();
  out["by"] = texts(threshold.table->by());
  out["least"] = threshold.reach ? number_value(threshold.reach->least) : json::value();
  out["most"] = threshold.reach ? number_value(threshold.reach->most) : json::value();
  out["listed_at"] = threshold.listed_at ? number_value(*threshold.listed_at) : json::value();
  return out;
}

}  // namespace weir::admin
