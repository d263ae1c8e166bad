#pragma once

#include "limiter/patterns/waiting.h"

namespace weir::limiter {

/// `sequence: [a, no b]` for one key: the a's that wait for their time, and the recent b's.
///
/// An a at t times out at t + within, stamped so, unless a b follows it: one with
/// t < ts <= t + within by its own time, whenever it came, or one of a's own millisecond that came
/// after the a (`tied`: or before it). One b answers every a that it can. An event that is
/// both answers those before it and waits itself. Not thread-safe.
class Absence {
 public:
  bool completes(const PatternSpec&, const PatternEvent&) const noexcept { return false; }
  std::size_t feed(const PatternSpec& spec, const PatternEvent& event, std::uint64_t order,
                   PatternMatches& out);

  std::size_t open() const noexcept { return waiting_.size(); }
  std::uint8_t furthest() const noexcept { return waiting_.empty() ? 0 : 1; }
  bool empty() const noexcept { return waiting_.empty() && answers_.empty(); }
  /// The next deadline, or the time from which the oldest b is not needed any more.
  TimePoint due(const PatternSpec& spec, bool forgets) const noexcept;
  /// Fires the a's with a deadline at or before the watermark.
  void expire(const PatternSpec& spec, TimePoint watermark, bool forgets, PatternMatches& out);
  void end(const PatternSpec&, TimePoint, PatternMatches&) {}
  std::size_t bytes() const noexcept;
  void put(std::string& out) const;
  bool get(Reader& in, const PatternSpec& spec, milliseconds back);

 private:
  WaitingEvents waiting_;
  std::vector<TimePoint> answers_;  // b's, by time: an a may come after its b
};

}  // namespace weir::limiter
