#pragma once

#include <cstddef>
#include <vector>

#include "core/clock.h"
#include "replay/tally.h"

namespace weir::replay {

/// What became of events, one after the other, by the policies of one of several threads. The first
/// thread knows it of all its events, the others tell it what was more than a pass. All have judged
/// the same events.
class EventVerdicts {
 public:
  enum class Keep : std::uint8_t { nothing, all, severe };
  explicit EventVerdicts(Keep keep) : keep_(keep) {}

  void add(TimePoint time, Action effect) {
    if (keep_ == Keep::all) all_.push_back(effect);
    if (keep_ == Keep::severe && effect != Action::none) severe_.push_back({count_, time, effect});
    ++count_;
  }
  /// The severest counts: tells the tally, which has counted this one's, where the other's is.
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
