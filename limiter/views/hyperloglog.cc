#include "limiter/views/hyperloglog.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

namespace weir::limiter {
namespace {

constexpr std::uint32_t kRankBits = 6;
constexpr std::uint32_t kRankMask = (1u << kRankBits) - 1;
constexpr std::size_t kUnsorted = 64;  // at least so many before they are put in order

/// Ertl 2017, algorithm 6: the contribution of the registers that are still 0.
double sigma(double x) {
  if (x == 1) return std::numeric_limits<double>::infinity();
  double y = 1, z = x, before;
  do {
    x *= x;
    before = z;
    z += x * y;
    y += y;
  } while (z != before);
  return z;
}

/// The same for registers at their greatest rank.
double tau(double x) {
  if (x == 0 || x == 1) return 0;
  double y = 1, z = 1 - x, before;
  do {
    x = std::sqrt(x);
    before = z;
    y *= 0.5;
    z -= (1 - x) * (1 - x) * y;
  } while (z != before);
  return z / 3;
}

}  // namespace

unsigned HyperLogLog::precision_for(double error) noexcept {
  const double registers = std::pow(4 * 1.04 / error, 2);
  const double bits = std::ceil(std::log2(registers));
  return static_cast<unsigned>(std::clamp(bits, double{kLeast}, double{kMost}));
}

std::uint32_t HyperLogLog::entry_of(std::uint64_t hash, unsigned precision) noexcept {
  const auto index = static_cast<std::uint32_t>(hash >> (64 - precision));
  const auto rank = static_cast<std::uint32_t>(
      std::min(std::countl_zero(hash << precision), static_cast<int>(64 - precision)) + 1);
  return index << kRankBits | rank;
}

std::uint64_t HyperLogLog::hash_of(std::uint32_t entry, unsigned precision) noexcept {
  const std::uint64_t index = std::uint64_t{entry >> kRankBits} << (64 - precision);
  const unsigned below =
      precision + (entry & kRankMask);  // bits down to the first 1, itself included
  return below > 64 ? index : index | std::uint64_t{1} << (64 - below);
}

bool HyperLogLog::is_entry(std::uint32_t entry, unsigned precision) noexcept {
  const std::uint32_t rank = entry & kRankMask;
  return entry >> kRankBits < std::uint32_t{1} << precision && rank >= 1 && rank <= 65 - precision;
}

bool HyperLogLog::add(std::uint64_t hash) {
  const std::uint32_t entry = entry_of(hash, precision_);
  const std::uint32_t index = entry >> kRankBits, rank = entry & kRankMask;
  if (!registers_.empty()) {
    if (registers_[index] >= rank) return false;
    registers_[index] = static_cast<std::uint8_t>(rank);
    return true;
  }
  const auto sorted_end = sparse_.begin() + static_cast<std::ptrdiff_t>(sorted_);
  const auto at = std::lower_bound(sparse_.begin(), sorted_end, index << kRankBits);
  if (at != sorted_end && *at >> kRankBits == index) {
    if (*at >= entry) return false;
    *at = entry;
    return true;
  }
  if (std::find(sorted_end, sparse_.end(), entry) != sparse_.end()) return false;
  sparse_.push_back(entry);
  if (sparse_.size() - sorted_ >= kUnsorted) tidy();
  return true;
}

void HyperLogLog::tidy() {
  const auto sorted_end = sparse_.begin() + static_cast<std::ptrdiff_t>(sorted_);
  std::sort(sorted_end, sparse_.end());
  std::inplace_merge(sparse_.begin(), sorted_end, sparse_.end());
  // The greatest rank of a register is its last.
  std::size_t kept = 0;
  for (std::size_t i = 0; i < sparse_.size(); ++i) {
    const bool last =
        i + 1 == sparse_.size() || sparse_[i] >> kRankBits != sparse_[i + 1] >> kRankBits;
    if (last) sparse_[kept++] = sparse_[i];
  }
  sparse_.resize(kept);
  sorted_ = kept;
  if (sparse_.size() * sizeof(std::uint32_t) * 4 > std::size_t{1} << precision_) make_dense();
}

void HyperLogLog::make_dense() {
  registers_.assign(std::size_t{1} << precision_, 0);
  for (const std::uint32_t entry : sparse_) {
    auto& rank = registers_[entry >> kRankBits];
    rank = std::max(rank, static_cast<std::uint8_t>(entry & kRankMask));
  }
  std::vector<std::uint32_t>().swap(sparse_);
  sorted_ = 0;
}

double HyperLogLog::estimate() const {
  const unsigned q = 64 - precision_;
  std::array<std::uint32_t, 66> count{};
  const auto m = static_cast<double>(std::uint64_t{1} << precision_);
  if (!registers_.empty()) {
    for (const std::uint8_t rank : registers_) ++count[rank];
  } else {
    HyperLogLog whole(*this);
    whole.tidy();
    if (!whole.registers_.empty()) return whole.estimate();
    for (const std::uint32_t entry : whole.sparse_) ++count[entry & kRankMask];
    count[0] = static_cast<std::uint32_t>((std::size_t{1} << precision_) - whole.sparse_.size());
  }
  double z = m * tau(1 - count[q + 1] / m);
  for (unsigned k = q; k >= 1; --k) z = 0.5 * (z + count[k]);
  z += m * sigma(count[0] / m);
  const double alpha = 0.5 / std::log(2.0);
  return alpha * m * m / z;
}

}  // namespace weir::limiter
