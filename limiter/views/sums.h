#pragma once

#include <cstdint>
#include <limits>

#include "core/number.h"

namespace weir::limiter {

/// A sum that amounts are taken out of again: integers exactly in 128 bits, doubles in two of them
/// (about 106 bits; Knuth's two-sum, Dekker 1971), so that the rest after years of coming and
/// going is exact, and does not depend on the order.
class Sum {
  __extension__ using Wide = __int128;

 public:
  /// Doubles are smaller. Beyond, the rounding of a sum could no longer be undone, and a sum of
  /// 2^48 of them would be infinite.
  static constexpr double kAmountMax = 1e290;

  /// All that it is, to be written down and read again.
  struct Raw {
    Wide whole = 0;
    double high = 0, low = 0;
    std::int64_t reals = 0;
  };
  Sum() = default;
  explicit Sum(const Raw& raw) noexcept
      : whole_(raw.whole), high_(raw.high), low_(raw.low), reals_(raw.reals) {}
  Raw raw() const noexcept { return {whole_, high_, low_, reals_}; }

  void add(Number amount) noexcept {
    if (amount.is_real()) {
      accumulate(amount.as_real(), 0);
      ++reals_;
    } else {
      whole_ += amount.integer();
    }
  }
  void add(const Sum& other) noexcept {
    whole_ += other.whole_;
    reals_ += other.reals_;
    accumulate(other.high_, other.low_);
  }
  void subtract(const Sum& other) noexcept {
    whole_ -= other.whole_;
    reals_ -= other.reals_;
    accumulate(-other.high_, -other.low_);
    if (reals_ == 0) high_ = low_ = 0;
  }
  /// A 64-bit integer (saturated) unless a double is in it.
  Number value() const noexcept {
    if (reals_ != 0) return Number::real(as_real());
    constexpr Wide kMost = std::numeric_limits<std::int64_t>::max();
    constexpr Wide kLeast = std::numeric_limits<std::int64_t>::min();
    return static_cast<std::int64_t>(whole_ > kMost ? kMost : whole_ < kLeast ? kLeast : whole_);
  }
  double as_real() const noexcept {
    Sum out;
    const auto rounded = static_cast<double>(whole_);
    out.accumulate(rounded, static_cast<double>(whole_ - static_cast<Wide>(rounded)));
    out.accumulate(high_, low_);
    return out.high_;
  }

 private:
  static void two_sum(double a, double b, double& sum, double& error) noexcept {
    sum = a + b;
    const double other = sum - a;
    error = (a - (sum - other)) + (b - other);
  }
  void accumulate(double high, double low) noexcept {
    double sum, error, small, lost;
    two_sum(high_, high, sum, error);
    two_sum(low_, low, small, lost);
    error += small;
    two_sum(sum, error, high_, low_);
    low_ += lost;
    two_sum(high_, low_, high_, low_);
  }

  Wide whole_ = 0;
  double high_ = 0, low_ = 0;
  std::int64_t reals_ = 0;
};

}  // namespace weir::limiter
