#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "core/clock.h"

/// A question to Envoy's rate limit service, as views that live for one judgement.
namespace weir {

struct DescriptorEntry {
  std::string_view key;
  std::string_view value;  ///< may be empty
};

/// The units of Envoy's limits; the numbers are those of RateLimitResponse.RateLimit.Unit.
enum class RateUnit : std::uint8_t {
  unknown = 0,
  second = 1,
  minute = 2,
  hour = 3,
  day = 4,
  month = 5,  ///< 30 days
  year = 6,   ///< 365 days
  week = 7,
};

/// One descriptor of a call: an event that happens `hits` times.
struct Descriptor {
  /// The limit that the call brings along; it takes the place of the configured one.
  struct Limit {
    std::uint32_t requests = 0;
    RateUnit unit = RateUnit::unknown;
  };
  std::string_view domain;
  std::span<const DescriptorEntry> entries;  ///< in the order of the call
  std::int64_t hits = 1;                     ///< 0: looks without counting
  std::optional<Limit> limit;
};

/// The length of the unit's windows, which are aligned to the epoch; unknown: 0.
constexpr milliseconds unit_length(RateUnit unit) noexcept {
  constexpr std::int64_t kSeconds[] = {0, 1, 60, 3'600, 86'400, 2'592'000, 31'536'000, 604'800};
  return milliseconds{kSeconds[static_cast<std::size_t>(unit)] * 1'000};
}

}  // namespace weir
