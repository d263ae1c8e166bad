#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "limiter/patterns/pattern.h"
#include "limiter/patterns/pattern_bank.h"

/// Patterns of keys that all replicas share: questions to the store, as plain data.
namespace weir::limiter {

/// A pattern that all replicas share, made once when the policies are loaded. Immutable.
///
/// Open matches with a deadline lie in a shard of the pattern's keys, together with the deadlines:
/// a replica finds everything that is due in one slot of a cluster, without having the keys. A
/// pattern without deadlines has a place in the store for each key.
struct SharedPattern {
  static constexpr unsigned kShards = 16;

  SharedPattern(const Hash128& id, const PatternSpec& what);

  Hash128 identity;
  PatternSpec spec;
  std::string name;  ///< in keys of the store: 16 hexadecimal digits

  bool has_deadlines() const noexcept { return spec.kind != PatternSpec::Kind::sequence; }
  /// How long any data of the pattern is of use.
  milliseconds longest() const noexcept;
  static unsigned shard_of(const Hash128& key) noexcept { return key.lo % kShards; }
  /// The SharedOp::key of this shard; no other pattern uses it.
  std::string tag(unsigned shard) const { return name + "." + std::to_string(shard); }
};

/// The arguments of an operation on a pattern. The verbs are add (the event happened), look (the
/// effect that the event would have, and the open matches of its key), due (keys with a deadline at
/// or before SharedOp::at) and done (the deadlines of this key whose lease ends at `at` have been
/// handled). With a lifetime, a due deadline is leased, until that long after SharedReply::at:
/// unless `done` arrives in time, the next caller gets it.
/// SharedOp::key is the key, or, for patterns with deadlines, the tag of its shard.
struct PatternAsk {
  const SharedPattern* pattern = nullptr;
  std::string_view key;  ///< where there are deadlines: of add, look, done
  /// ts: the time of the event in a replay. Live, SharedOp::at is its time by the caller's wall
  /// clock, and the store computes by its own clock how long ago that was.
  PatternEvent event;
  bool forgets = true;  ///< as PatternLimits::forgets
};

/// The store's answer to a message of a shared pattern.
struct PatternReply {
  PatternView view;           ///< before the event
  std::uint32_t matched = 0;  ///< by the event
  std::uint32_t dropped = 0;  ///< open matches that went because of keep
  std::uint32_t keys = 0;     ///< due: how many keys it looked at
  bool more = false;          ///< due: there are others
  TimePoint next = kNever;    ///< the earliest deadline of the key; due: of the shard
  milliseconds asked{0};      ///< due: the time since the last request of any replica
  PatternMatches matches;     ///< that are due, with PatternMatch::key; by an event in replay only
};

}  // namespace weir::limiter
