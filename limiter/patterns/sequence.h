#pragma once

#include "limiter/memory/frame.h"
#include "limiter/patterns/pattern.h"

namespace weir::limiter {

/// `sequence: [a, b, ...]` for one key: the open matches.
///
/// Events follow each other in the order in which they come. In addition, no event may be earlier
/// than the previous one by their own times, and at most `within` passes from the first to the
/// last. An open match takes the next event of its next step, and no later one: if that event comes
/// too late, the match ends. So each first step matches at most once. strict: an event of `among`
/// that is not its next step ends the match. overlap false: a match uses up all open matches of the
/// key, and its last event begins none. Memory: 16 bytes per event of an open match. Not
/// thread-safe.
class Sequence {
 public:
  /// Whether feed() would complete at least one match.
  bool completes(const PatternSpec& spec, const PatternEvent& event) const noexcept;
  /// Appends the matches that the event completes, those that began first before the others.
  /// Returns how many open ones had to go because there were `keep` of them.
  std::size_t feed(const PatternSpec& spec, const PatternEvent& event, std::uint64_t order,
                   PatternMatches& out);

  std::size_t open() const noexcept { return done_.size(); }
  std::uint8_t furthest() const noexcept;  ///< the most steps that an open match has
  bool empty() const noexcept { return done_.empty(); }
  /// When the next open match can go, if events come at most `late` behind the watermark.
  TimePoint due(const PatternSpec& spec, bool forgets) const noexcept;
  void expire(const PatternSpec& spec, TimePoint watermark, bool forgets, PatternMatches& out);
  void end(const PatternSpec&, TimePoint, PatternMatches&) {}
  std::size_t bytes() const noexcept;
  void put(std::string& out) const;
  bool get(Reader& in, const PatternSpec& spec, milliseconds back);

 private:
  struct Mark {
    TimePoint ts;
    std::uint64_t line = 0;
  };
  std::size_t forget_before(const PatternSpec& spec, TimePoint first);
  void erase(const PatternSpec& spec, std::size_t index);

  std::vector<std::uint8_t> done_;     // per open match: how many steps
  std::vector<std::uint64_t> orders_;  // per open match: arrival of its first event
  std::vector<Mark> marks_;            // per open match: steps - 1 places
};

}  // namespace weir::limiter
