#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>

namespace weir::store {

/// How long calls took, by bucket. Not thread-safe.
struct RoundTrips {
  /// Upper bounds, inclusive; slower calls are in the last bucket.
  static constexpr std::array<std::chrono::microseconds::rep, 12> kUpTo{
      100, 250, 500, 1'000, 2'500, 5'000, 10'000, 25'000, 50'000, 100'000, 250'000, 1'000'000};

  std::array<std::uint64_t, kUpTo.size() + 1> calls{};
  std::uint64_t total_us = 0;

  void add(std::chrono::nanoseconds took) noexcept {
    const auto us = std::chrono::ceil<std::chrono::microseconds>(took).count();
    ++calls[static_cast<std::size_t>(std::lower_bound(kUpTo.begin(), kUpTo.end(), us) -
                                     kUpTo.begin())];
    total_us += static_cast<std::uint64_t>(std::max<decltype(us)>(us, 0));
  }
  void add(const RoundTrips& other) noexcept {
    for (std::size_t i = 0; i < calls.size(); ++i) calls[i] += other.calls[i];
    total_us += other.total_us;
  }
};

}  // namespace weir::store
