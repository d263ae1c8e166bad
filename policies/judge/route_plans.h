#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "policies/judge/flat_plan.h"
#include "policies/judge/judging.h"

namespace weir::policies {

/// The part of the plan that all requests on one route share. If no condition reads the request,
/// this is nearly everything: the events, and the policies that watch them.
struct RoutePlan {
  bool is_constant = false;  ///< no condition reads the request; else there is nothing below
  std::vector<EventIndex> events, open_events;  ///< as in Plan
  std::vector<PolicySet::Watcher> watchers;     ///< of all of them, in the order of the file
  std::unique_ptr<FlatPlan> flat;               ///< null: some policy needs more than its key
};

/// The plans of the routes that have come so far, each made once. Their number is bounded; requests
/// on other routes take the general path. One per worker; not thread-safe.
class RoutePlans {
 public:
  explicit RoutePlans(Judging& work) noexcept : work_(work) {}

  /// Another policy set is in use.
  void forget();
  /// The plan of requests that are these base events. Null: use the general path.
  RoutePlan* find(const std::vector<EventIndex>& bases) {
    if (bases.size() > kBasesMax) return nullptr;
    std::uint64_t key = 1;  // a leading one, so that different lists are different numbers
    for (const EventIndex base : bases) key = key << 16 | base;
    if (key == last_key_) return last_;
    return find(key, bases);
  }

 private:
  static constexpr std::size_t kBasesMax = 3, kPlansMax = 256;
  RoutePlan* find(std::uint64_t key, const std::vector<EventIndex>& bases);
  std::unique_ptr<RoutePlan> make(const std::vector<EventIndex>& bases) const;

  struct Entry {
    std::uint64_t key = 0;  // 0: empty
    std::unique_ptr<RoutePlan> plan;
  };
  Judging& work_;
  std::vector<Entry> entries_;  // open addressing, half empty at least
  std::size_t used_ = 0;
  std::uint64_t last_key_ = 0;
  RoutePlan* last_ = nullptr;
};

}  // namespace weir::policies
