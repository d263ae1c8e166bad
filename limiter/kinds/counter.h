#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <optional>

#include "core/key.h"
#include "limiter/kinds/place_grid.h"
#include "limiter/kinds/table.h"
#include "limiter/kinds/windows.h"

namespace weir::limiter {

struct Kind;
struct KindOps;

/// An open (or closed) counter, resolved: all data that an operation needs, on a few cache lines.
/// Immutable except the flags. A closed counter is freed once its keys are gone and a grace period
/// is over (Bank::Retirement), so an operation that has found the counter by a stale id can finish.
/// Do not keep a pointer to a counter beyond one operation, unless the counter stays open.
struct Counter {
  Hash128 identity;
  CounterSpec spec;
  Rule rule;
  const Kind* kind = nullptr;
  const KindOps* ops = nullptr;
  Table* table = nullptr;
  std::uint64_t salt = 0;
  std::uint32_t idle_seconds = 0;  ///< after its last event a key holds nothing
  std::uint16_t index = 0;
  std::uint16_t generation = 0;
  std::uint8_t clock = 0;         ///< Ages::kNow, kWall or kOwnTime
  std::uint8_t inline_words = 4;  ///< of a slot's payload; the last one counts reservations
  std::uint8_t delta_bits = 0;    ///< of a packed ring entry; the rest of 16 is its count
  std::optional<PlaceGrid> grid;  ///< of a counter with a radius
  /// Entries at most; no bound where entries merge. Grows when a policy wants more.
  std::atomic<std::uint32_t> keep{0};
  /// The counter has, or took over, keys that lost their oldest entries because `keep` was smaller.
  /// Until `cut_until` (ms, on its clock) a reading of `cut_from` or more may be too low. A lower
  /// reading is complete, because a key that lost entries of the window reads at least `cut_from`.
  std::atomic<std::uint32_t> cut_from{0};
  std::atomic<std::int64_t> cut_until{0};
  /// Its keys and, maybe, its table are gone. Checked under a region's lock.
  std::atomic<bool> retired{false};
  /// own_time: ms, of the latest of all events. On a line of its own: every event may write it.
  alignas(64) std::atomic<std::int64_t> newest{0};

  /// Advances `newest` to `ms` if that is later; returns the result.
  std::int64_t observe(std::int64_t ms) noexcept {
    std::int64_t known = newest.load(std::memory_order_relaxed);
    while (ms > known && !newest.compare_exchange_weak(known, ms, std::memory_order_relaxed)) {
    }
    return std::max(known, ms);
  }
  bool holds_reservations() const noexcept { return inline_words == 3; }
};

}  // namespace weir::limiter
