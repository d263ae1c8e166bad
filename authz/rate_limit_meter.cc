#include "authz/rate_limit_meter.h"

#include <algorithm>
#include <cmath>

namespace weir::authz {
namespace {

std::uint64_t unsigned_of(std::int64_t number) noexcept {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(0, number));
}

/// Hits above this are near the limit. envoyproxy/ratelimit multiplies in single precision, so 0.7
/// of 90 is 63 there, and not 62.
std::uint64_t near_of(std::uint64_t limit, double ratio) noexcept {
  const float near = static_cast<float>(limit) * static_cast<float>(ratio);
  return static_cast<std::uint64_t>(std::floor(near));
}

}  // namespace

void RateLimitMeter::use(const policies::PolicySet& set) {
  if (set_ == &set && hash_ == set.source_hash) return;
  set_ = &set;
  hash_ = set.source_hash;
  rows_.clear();
  spaces_.clear();
  for (const auto& limit : set.ratelimit.limits) {
    const auto at =
        std::lower_bound(spaces_.begin(), spaces_.end(), limit.space,
                         [](const Space& s, const auto& name) { return s.name < name; });
    if (at == spaces_.end() || at->name != limit.space)
      spaces_.insert(at, {limit.space, stats_.space(limit.space)});
  }
}

void RateLimitMeter::count_call(const policies::PolicySet& set, std::string_view domain,
                                std::int64_t hits, bool over) {
  if (set.ratelimit.limits.empty()) return;
  use(set);
  const auto at = std::lower_bound(spaces_.begin(), spaces_.end(), domain,
                                   [](const Space& s, const auto& name) { return s.name < name; });
  if (at == spaces_.end() || at->name != domain || at->row == nullptr) return;
  over ? at->row->limited() : at->row->authorized(unsigned_of(hits));
}

void RateLimitMeter::count(const policies::PolicySet& set, const policies::FoundDescriptor& found,
                           const Descriptor& descriptor, const policies::DescriptorStatus& status) {
  if (found.what == nullptr || !found.what->rule || found.replaced) return;
  const config::DescriptorDef::Rule& rule = *found.what->rule;
  if (!rule.has_limit || rule.unlimited || !found.event) return;
  use(set);
  telemetry::RuleRow* const to = row(found, descriptor);
  if (to == nullptr) return;
  const std::uint64_t hits = unsigned_of(descriptor.hits);
  if (!status.rule) return to->count(hits);
  const std::uint64_t limit = unsigned_of(status.rule->limit);
  to->count(hits, unsigned_of(status.rule->counted), limit, near_of(limit, set.ratelimit.near),
            status.rule->shadow);
}

telemetry::RuleRow* RateLimitMeter::row(const policies::FoundDescriptor& found,
                                        const Descriptor& descriptor) {
  const config::DescriptorDef::Rule& rule = *found.what->rule;
  const bool brought = rule.keys.empty();  // the limit came with the call
  const bool valued = std::find(rule.valued.begin(), rule.valued.end(), true) != rule.valued.end();
  if (brought || rule.detailed_metric || valued) {
    keys_.clear();
    for (std::size_t i = 0; i < descriptor.entries.size(); ++i) {
      const DescriptorEntry& entry = descriptor.entries[i];
      const bool as_written =
          !brought && (rule.shared[i] || (!rule.detailed_metric && !rule.valued[i]));
      std::string& key = keys_.emplace_back(as_written ? rule.keys[i] : entry.key);
      if (as_written || (entry.value.empty() && !rule.detailed_metric)) continue;
      key.append("_").append(entry.value);
    }
    if (telemetry::RuleRow* const own = stats_.row(descriptor.domain, keys_, true)) return own;
    if (brought) return nullptr;
  }
  if (rows_.size() <= *found.event) rows_.resize(*found.event + std::size_t{1}, nullptr);
  telemetry::RuleRow*& cached = rows_[*found.event];
  if (cached == nullptr) cached = stats_.row(descriptor.domain, rule.keys, false);
  return cached;
}

}  // namespace weir::authz
