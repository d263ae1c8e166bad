#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <mutex>
#include <set>
#include <unordered_map>
#include <variant>

#include "limiter/patterns/absence.h"
#include "limiter/patterns/pair.h"
#include "limiter/patterns/pattern_bank.h"
#include "limiter/patterns/sequence.h"

/// The implementation of PatternBank; only pattern_bank.cc and pattern_snapshot.cc include it.
namespace weir::limiter {

inline constexpr std::size_t kPatternsMax = 1'024;

using PatternState = std::variant<Sequence, Absence, Pair>;
PatternState make_state(PatternSpec::Kind kind);

/// One key of one pattern: a node of its shard's map, of a list by idleness, and of the timers.
struct PatternKey {
  Hash128 key;
  std::uint16_t pattern = 0;
  bool open = false;       ///< in the list of those with open matches
  TimePoint due = kNever;  ///< its place among the timers
  std::size_t bytes = 0;   ///< as accounted
  PatternKey* idler = nullptr;
  PatternKey* busier = nullptr;
  PatternState state;
};

/// Keys in the order of their last event.
struct IdleList {
  PatternKey* idlest = nullptr;
  PatternKey* busiest = nullptr;
  void push(PatternKey& key) noexcept;
  void remove(PatternKey& key) noexcept;
};

/// The keys of one shard, with their timers, under one mutex.
struct PatternShard {
  struct KeyHash {
    std::size_t operator()(const Hash128& key) const noexcept { return key.lo; }
  };
  struct Earlier {
    bool operator()(const PatternKey* a, const PatternKey* b) const noexcept {
      return a->due != b->due ? a->due < b->due : std::less<>{}(a, b);
    }
  };
  mutable std::mutex mutex;
  std::unordered_map<Hash128, PatternKey, KeyHash> keys;
  std::set<PatternKey*, Earlier> timers;  // keys with a deadline; erased and inserted as it changes
  std::array<IdleList, 2> idle;           // [0] nothing open, [1] open matches
  std::size_t bytes = 0;
  std::size_t open = 0;
};

struct PatternBank::Impl {
  explicit Impl(const PatternLimits& with);

  struct Entry {
    Hash128 identity;
    PatternSpec spec;
    std::atomic<std::uint16_t> generation{0};  // 0: never open; odd: open, even: closed
  };

  const PatternLimits limits;
  std::mutex mutex;  // of entries; readers of an open entry need none
  std::array<std::unique_ptr<Entry>, kPatternsMax> entries;
  std::atomic<std::size_t> entries_used{0};
  std::vector<PatternShard> shards;
  std::atomic<std::uint64_t> next_order{1};
  std::atomic<std::int64_t> due_ms{INT64_MAX};  // at or before the earliest timer
  std::atomic<std::uint64_t> matched{0}, timeouts{0}, unmatched{0}, dropped{0};

  PatternShard& shard_of(const Hash128& key) noexcept { return shards[key.hi % shards.size()]; }
  const Entry* find(PatternId id) const noexcept;
  // All with the shard's lock held.
  /// Null: there is no memory for it, which is counted.
  PatternKey* key_of(PatternShard& shard, const Hash128& key, std::uint16_t pattern);
  void changed(PatternShard& shard, PatternKey& key, std::size_t open_before);
  void erase(PatternShard& shard, PatternKey& key);
  void make_room(PatternShard& shard, const PatternKey* but);
  void note_due(TimePoint due) noexcept;
  void count(const PatternMatches& matches, std::size_t from) noexcept;
};

inline std::size_t open_of(const PatternKey& key) noexcept {
  return std::visit([](const auto& state) { return state.open(); }, key.state);
}

}  // namespace weir::limiter
