#pragma once

#include "limiter/patterns/waiting.h"

namespace weir::limiter {

/// `pair: [a, b]` for one key: the events of each side without a partner.
///
/// An a at t and a b at u are partners if -before <= u - t <= after; endless: at any times.
/// One to one: an event takes the oldest waiting partner. A waiting event is unmatched at its
/// deadline, t + after for an a and u + before for a b, and carries that time; endless: at the end
/// of input. An event that is both sides takes any partner, the partner of an a first; otherwise it
/// waits as an a. Not thread-safe.
class Pair {
 public:
  bool completes(const PatternSpec& spec, const PatternEvent& event) const noexcept;
  std::size_t feed(const PatternSpec& spec, const PatternEvent& event, std::uint64_t order,
                   PatternMatches& out);

  std::size_t open() const noexcept { return sides_[0].size() + sides_[1].size(); }
  std::uint8_t furthest() const noexcept { return empty() ? 0 : 1; }
  bool empty() const noexcept { return sides_[0].empty() && sides_[1].empty(); }
  TimePoint due(const PatternSpec& spec, bool forgets) const noexcept;
  void expire(const PatternSpec& spec, TimePoint watermark, bool forgets, PatternMatches& out);
  /// endless: all waiting events are unmatched, stamped `last`.
  void end(const PatternSpec& spec, TimePoint last, PatternMatches& out);
  std::size_t bytes() const noexcept { return sides_[0].bytes() + sides_[1].bytes(); }
  void put(std::string& out) const;
  bool get(Reader& in, const PatternSpec& spec, milliseconds back);

 private:
  /// The partner of an event of `side` among those of the other; size() of them if there is none.
  std::size_t partner(const PatternSpec& spec, std::size_t side, TimePoint ts) const noexcept;
  /// The first `count` that wait on this side; stamped with their deadlines, endless with `last`.
  void unmatched(const PatternSpec& spec, std::size_t side, std::size_t count, TimePoint last,
                 PatternMatches& out);

  std::array<WaitingEvents, 2> sides_;
};

}  // namespace weir::limiter
