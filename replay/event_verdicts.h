#pragma once

#include <cstddef>
#include <vector>

#include "core/clock.h"
#include "replay/tally.h"

namespace weir::replay {

/// The verdicts on successive events by the policies of one of several threads. All threads judge
/// the same events. The first thread keeps the verdicts of all events; the others keep only those
/// that are more than a pass.
class EventVerdicts {
 public:
  enum class Keep : std::uint8_t { nothing, all, severe };
  explicit EventVerdicts(Keep keep) : keep_(keep) {}

  void add(TimePoint time, Action effect) {
    if (keep_ == Keep::all) all_.push_back(effect);
    if (keep_ == Keep::severe && effect != Action::none) severe_.push_back({count_, time, effect});
    ++count_;
  }
  /// Applies the severest verdict of each event: where the other's is severer, changes the tally,
  /// which has counted this one's.
  void apply(const EventVerdicts& other, Tally& tally);
  void clear();

 private:
  struct Severe {
    std::size_t at = 0;
    TimePoint time{};
    Action effect{};
  };
  Keep keep_;
  std::size_t count_ = 0;
  std::vector<Action> all_;
  std::vector<Severe> severe_;
};

}  // namespace weir::replay
