#include "authz/limitador_counters.h"

#include <algorithm>

namespace weir::authz {
namespace {

std::string key_of(const LimitadorCounters::Counter& counter) {
  std::string key = counter.space + '\0' + counter.limit;
  for (const auto& [name, value] : counter.set)
    key += '\0' + std::to_string(value.size()) + ':' + value;
  return key;
}

}  // namespace

void LimitadorCounters::note(Counter counter, TimePoint now) {
  std::size_t size = 0;
  for (const auto& [name, value] : counter.values) size += name.size() + value.size();
  if (size > kTextMax) return;
  std::string key = key_of(counter);
  const std::lock_guard lock(mutex_);
  const auto found = counters_.find(key);
  if (found != counters_.end()) {
    if (found->second.end <= now) found->second = std::move(counter);
    return;
  }
  if (counters_.size() >= kMost) {
    std::erase_if(counters_, [&](const auto& one) { return one.second.end <= now; });
    if (counters_.size() >= kMost) return;
  }
  counters_.emplace(std::move(key), std::move(counter));
}

std::vector<LimitadorCounters::Counter> LimitadorCounters::of(std::string_view space,
                                                              TimePoint now) const {
  std::vector<Counter> out;
  const std::lock_guard lock(mutex_);
  for (const auto& [key, counter] : counters_) {
    if (counter.space == space && counter.end > now) out.push_back(counter);
  }
  return out;
}

std::optional<TimePoint> LimitadorCounters::end_of(const Counter& counter, TimePoint now) const {
  const std::string key = key_of(counter);
  const std::lock_guard lock(mutex_);
  const auto found = counters_.find(key);
  if (found == counters_.end() || found->second.end <= now) return std::nullopt;
  return found->second.end;
}

}  // namespace weir::authz
