#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/clock.h"
#include "policies/judgement/verdict.h"

namespace weir::replay {

/// The verdicts on events over time, in columns of equal width. The width grows with the span of
/// times, so that there are never more than kColumns. Not thread-safe.
class Timeline {
 public:
  static constexpr std::size_t kColumns = 60;
  using Counts = ByAction<std::uint64_t>;

  void add(TimePoint time, Action effect) {
    if (time == last_time_ && last_ < columns_.size()) {  // mostly: logs are of whole seconds
      ++columns_.data()[last_][static_cast<std::size_t>(effect)];
    } else {
      add(time, effect, 1);
    }
  }
  /// As if all that was added to the other had been added here.
  void merge(const Timeline& other);
  /// An event that was added as `from` is `to`.
  void change(TimePoint time, Action from, Action to);

  milliseconds width() const noexcept { return width_; }
  TimePoint start() const noexcept { return from_ms(first_ * width_.count()); }  ///< of the first
  const std::vector<Counts>& columns() const noexcept { return columns_; }

 private:
  void widen();
  void add(TimePoint time, Action effect, std::uint64_t events);

  milliseconds width_{1'000};
  std::int64_t first_ = 0;  // number of the first column since 1970
  std::vector<Counts> columns_;
  TimePoint last_time_{};  // of the latest addition, and its column
  std::size_t last_ = kColumns;
};

}  // namespace weir::replay
