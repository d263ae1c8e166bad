#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "config/model.h"

/// Finds which windows of a policy its rungs need to be exact, how many events of a key such a
/// window keeps, and which thresholds no reading can reach. Rungs with equal windows (`in: 10m`
/// beside `window: 10m`) read one counter.
namespace weir::config {

inline constexpr std::size_t kKeepDefault = 1000;
inline constexpr std::size_t kKeepMax = 50'000;       ///< limiter::kKeepMax
inline constexpr std::size_t kKeepMostNear = 10'000;  ///< limiter::kNearKeepMax

/// Whether both are one counter of the same events.
bool same_window(const WindowDef& a, const WindowDef& b);

/// The window that the rung reads: its own (`in`), or the policy's; null: none.
const WindowDef* window_of(const PolicyDef& policy, const Rung& rung);

/// Whether the rung reads the counter of that window (null: of a policy without one).
bool reads(const PolicyDef& policy, const Rung& rung, const WindowDef* window);

/// A sliding window in buckets reads up to a bucket too much: it never undercounts, which is what
/// `over` and `at` need. A rung that asks whether a value is `under` a limit needs the true value.
bool is_read_by_under(const PolicyDef& policy, const WindowDef* window);

/// The highest `keep` that the policy may have.
std::size_t keep_most(const PolicyDef& policy);

/// The number of events or members of a key that the counter of this window keeps: `keep`. If only
/// an `under` rung makes the window exact, it is the number that the highest threshold needs; at
/// least kKeepDefault, at most keep_most.
std::size_t keep_of(const PolicyDef& policy, const WindowDef* window);

/// The largest value that a policy's own metric can read, and its bound.
struct LargestReading {
  enum class By : std::uint8_t { events, keep, exists, bucket, rate };
  double value = 0;
  By by = By::keep;
  Number capacity;  ///< bucket, rate: one less than `value`

  /// Whether the rung with this limit never holds; with `under`, whether it always does. False for
  /// a limit of plus infinity: `unlimited` says so on purpose.
  bool is_below(Compare compare, const Number& limit) const;
  /// The text after "LIMIT" in a message: `can never hold: the window has at most 5 events`.
  std::string text(Compare compare) const;
};

/// The largest reading of this policy's counter of this window. None: no bound is known, as with
/// sums and with counts in buckets.
std::optional<LargestReading> largest_reading(const PolicyDef& policy, const WindowDef* window);

}  // namespace weir::config
