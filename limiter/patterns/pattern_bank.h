#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "core/result.h"
#include "limiter/patterns/pattern.h"

namespace weir::limiter {

/// The most memory of open matches beside counters that take `memory` bytes.
std::uint64_t pattern_memory(std::uint64_t memory) noexcept;

/// The limits of a pattern bank, fixed at its start.
struct PatternLimits {
  std::uint64_t memory = std::uint64_t{32} << 20;  ///< bytes of all keys together, about
  unsigned shards = 16;                            ///< locks; 1 where one thread uses it
  /// True: events come at most PatternSpec::late behind the watermark, so matches that no event can
  /// complete any more are dropped. False: events come as late as they like (a file in the order of
  /// arrival); then only keep and memory bound the matches.
  bool forgets = true;
};

/// Numbers of a pattern bank for metrics; memory in bytes. The first two lines count from the
/// start, the others are of this moment.
struct PatternStats {
  std::uint64_t matched = 0, timeouts = 0, unmatched = 0;
  std::uint64_t dropped = 0;  ///< open matches that went because of keep or memory
  std::uint64_t open = 0;     ///< matches that have begun, now
  std::uint64_t keys = 0;
  std::uint64_t memory_used = 0, memory_limit = 0;
};

/// The effect that an event would have, and the open matches of its key.
struct PatternView {
  bool completes = false;
  std::size_t open = 0;       ///< matches that have begun
  std::uint8_t furthest = 0;  ///< the most steps that one of them has
};

/// The open matches of all patterns, by key, and their timers; they outlive reloads.
///
/// Time is an argument: events have their own, and the watermark says that no event at or before it
/// will come any more (live: now - 1 ms). Deadlines at or before the watermark fire; each match
/// carries the time of its deadline, however late advance() is called.
///
/// Thread-safe: a mutex per shard, held for one key (advance: for the due ones; export_all: for one
/// shard at a time). Allocates where a match begins. Beyond the memory bound the idlest keys are
/// dropped, those without open matches first; dropped open matches are counted. open, tune,
/// close_unused and import are for one thread at a time, the control thread.
class PatternBank {
 public:
  explicit PatternBank(const PatternLimits& limits);
  ~PatternBank();
  PatternBank(const PatternBank&) = delete;
  PatternBank& operator=(const PatternBank&) = delete;

  /// The pattern of this identity, the one that is there or a new one. One that is there keeps its
  /// open matches, and its `keep` and `late` until tune(). Error::full: over 1,024 of them.
  Result<PatternId> open(const Hash128& identity, const PatternSpec& spec);
  /// From now on `keep` and `late` of an open pattern are those of `spec`.
  void tune(PatternId id, const PatternSpec& spec);
  /// Closes every pattern that is not in `used`, and drops its open matches.
  void close_unused(std::span<const PatternId> used);

  /// `key`: a hash that no other pattern uses (the identity is part of it).
  PatternView peek(PatternId id, const Hash128& key, const PatternEvent& event) const;
  /// Appends the matches that the event completes.
  void feed(PatternId id, const Hash128& key, const PatternEvent& event, PatternMatches& out);

  /// The matches that the event would complete were it not refused: counted, but it is not taken.
  void refuse(PatternId id, const Hash128& key, const PatternEvent& event, PatternMatches& out);

  /// The earliest time at which advance() has work. No lock.
  TimePoint due() const noexcept;
  /// Appends the matches that fire, in the order of time, then of arrival.
  void advance(TimePoint watermark, PatternMatches& out);
  /// No more events come. Pairs without `within` are unmatched now, at the time `last`; with
  /// `flush` all other deadlines fire too, each at its own time.
  void end_of_input(TimePoint last, bool flush, PatternMatches& out);

  PatternStats stats() const;

  /// All open matches, checksummed and versioned. Keys are hashes, so the data is useless without
  /// the secret. Omits patterns that other threads open meanwhile.
  void export_all(TimePoint now, std::string& out) const;
  /// Imports the output of export_all, for patterns that are open with the same spec and for keys
  /// that have nothing yet; deadlines that have passed fire at the next advance(). Torn or foreign
  /// input (Error::malformed) changes nothing. If the clock is behind the snapshot's, times
  /// move back with it. Returns how many keys came back.
  Result<std::size_t> import(std::string_view snapshot, TimePoint now);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weir::limiter
