#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "limiter/patterns/pattern.h"
#include "limiter/patterns/pattern_bank.h"

/// Patterns of keys that all replicas share: what the store is asked about them, as plain data.
namespace weir::limiter {

/// A pattern that all replicas share, made once when the policies are loaded. Immutable.
///
/// What waits for a deadline lies in a shard of the pattern's keys, together with the deadlines: so
/// that whoever asks what is due need not know the keys, and finds all of it in one slot of a
/// cluster. A pattern without deadlines has a place in the store for each key.
struct SharedPattern {
  static constexpr unsigned kShards = 16;

  SharedPattern(const Hash128& id, const PatternSpec& what);

  Hash128 identity;
  PatternSpec spec;
  std::string name;  ///< in keys of the store: 16 hexadecimal digits

  bool has_deadlines() const noexcept { return spec.kind != PatternSpec::Kind::sequence; }
  /// How long anything of it is of use.
  milliseconds longest() const noexcept;
  static unsigned shard_of(const Hash128& key) noexcept { return key.lo % kShards; }
  /// What SharedOp::key is for this shard; no other pattern uses it.
  std::string tag(unsigned shard) const { return name + "." + std::to_string(shard); }
};

/// What an operation on a pattern says. Verbs: add (the event happened), look (what it would do,
/// and what its key has), due (what has its deadline at or before SharedOp::at; with a lifetime it
/// is only lent: who does not say `done` within that time leaves it to the next who asks) and done
/// (what is due at `at` of this key has been seen to). SharedOp::key is the key's, or where there
/// are deadlines its shard's tag.
struct PatternAsk {
  const SharedPattern* pattern = nullptr;
  std::string_view key;  ///< where there are deadlines: of add, look, done
  /// ts: as replay has it. Else SharedOp::at tells by the caller's wall clock when it happened, and
  /// the store by its own how long ago that was.
  PatternEvent event;
  bool forgets = true;  ///< as PatternLimits::forgets
};

struct PatternReply {
  PatternView view;           ///< before the event
  std::uint32_t matched = 0;  ///< by the event
  std::uint32_t dropped = 0;  ///< open matches that went because of keep
  std::uint32_t keys = 0;     ///< due: how many keys it looked at
  bool more = false;          ///< due: there are others
  TimePoint next = kNever;    ///< the earliest deadline of the key; due: of the shard
  milliseconds asked{0};      ///< due: how long ago somebody asked before
  PatternMatches matches;     ///< that are due, with PatternMatch::key; by an event in replay only
};

}  // namespace weir::limiter
