#include "limiter/views/bloom.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace weir::limiter {
namespace {

constexpr double kLn2 = std::numbers::ln2;

/// Maps a hash to [0, range) without a division (Lemire, 2019).
std::uint64_t reduce(std::uint64_t hash, std::uint64_t range) noexcept {
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::uint64_t>((static_cast<Wide>(hash) * range) >> 64);
}

}  // namespace

std::size_t Bloom::bytes_for(std::size_t expect, double error) noexcept {
  const double bits = std::ceil(-static_cast<double>(expect) * std::log(error) / (kLn2 * kLn2));
  return (static_cast<std::size_t>(bits) + 63) / 64 * 8;
}

Bloom::Bloom(std::size_t expect, double error)
    : words_(bytes_for(expect, error) / 8), bits_(words_.size() * 64) {
  const double each = static_cast<double>(bits_) / static_cast<double>(expect);
  probes_ = static_cast<unsigned>(std::clamp(std::round(each * kLn2), 1.0, 32.0));
}

bool Bloom::add(const Hash128& member) noexcept {
  bool fresh = false;
  std::uint64_t hash = member.lo;
  for (unsigned i = 0; i < probes_; ++i, hash += member.hi | 1) {
    const std::uint64_t bit = reduce(hash, bits_);
    const std::uint64_t mask = std::uint64_t{1} << (bit % 64);
    fresh = fresh || (words_[bit / 64] & mask) == 0;
    words_[bit / 64] |= mask;
  }
  return fresh;
}

bool Bloom::has(const Hash128& member) const noexcept {
  std::uint64_t hash = member.lo;
  for (unsigned i = 0; i < probes_; ++i, hash += member.hi | 1) {
    const std::uint64_t bit = reduce(hash, bits_);
    if ((words_[bit / 64] & (std::uint64_t{1} << (bit % 64))) == 0) return false;
  }
  return true;
}

}  // namespace weir::limiter
