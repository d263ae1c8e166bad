#pragma once

#include <cmath>
#include <compare>
#include <cstdint>
#include <limits>
#include <string>

namespace weir {

/// 2^53: up to it every integer is a double. Numbers that other programs may read as a double,
/// JSON's above all, stay within it.
inline constexpr std::int64_t kExactInteger = std::int64_t{1} << 53;

/// An amount, a reading or a limit: a 64-bit integer or a double. Integers stay exact; sums
/// saturate instead of overflowing (a saturated sum is over every limit, which is the safe side).
class Number {
 public:
  constexpr Number() noexcept : integer_(0) {}
  constexpr Number(std::int64_t value) noexcept
      : integer_(value) {}  // NOLINT(google-explicit-constructor)
  static constexpr Number real(double value) noexcept {
    Number n;
    n.is_real_ = true;
    n.real_ = value;
    return n;
  }

  constexpr bool is_real() const noexcept { return is_real_; }
  constexpr std::int64_t integer() const noexcept { return integer_; }  ///< only if !is_real()
  constexpr double as_real() const noexcept {
    return is_real_ ? real_ : static_cast<double>(integer_);
  }
  /// For formats without infinity, such as JSON: a sum of doubles that has overflown is the largest
  /// double, as one of integers is the largest integer; so is NaN, the safe side.
  Number finite() const noexcept {
    if (is_finite()) return *this;
    constexpr double kMost = std::numeric_limits<double>::max();
    return real(real_ < 0 ? -kMost : kMost);
  }
  bool is_finite() const noexcept { return !is_real_ || std::isfinite(real_); }
  bool is_negative() const noexcept { return is_real_ ? real_ < 0 : integer_ < 0; }
  bool is_zero() const noexcept { return is_real_ ? real_ == 0 : integer_ == 0; }

  friend Number operator+(Number a, Number b) noexcept {
    if (a.is_real_ || b.is_real_) return real(a.as_real() + b.as_real());
    std::int64_t out;
    if (!__builtin_add_overflow(a.integer_, b.integer_, &out)) return out;
    return a.integer_ < 0 ? std::numeric_limits<std::int64_t>::min()
                          : std::numeric_limits<std::int64_t>::max();
  }
  friend Number operator-(Number a, Number b) noexcept {
    if (a.is_real_ || b.is_real_) return real(a.as_real() - b.as_real());
    std::int64_t out;
    if (!__builtin_sub_overflow(a.integer_, b.integer_, &out)) return out;
    return a.integer_ < 0 ? std::numeric_limits<std::int64_t>::min()
                          : std::numeric_limits<std::int64_t>::max();
  }
  /// Compares by mathematical value, also an integer with a double (never by rounding the integer).
  friend std::partial_ordering operator<=>(Number a, Number b) noexcept {
    if (!a.is_real_ && !b.is_real_) return a.integer_ <=> b.integer_;
    return compare_reals(a, b);
  }
  friend bool operator==(Number a, Number b) noexcept {
    return (a <=> b) == std::partial_ordering::equivalent;
  }

  /// Integers bare, doubles as the integer that they equal, else in shortest form (`3`, `0.5`,
  /// `1e+30`): equal numbers have one spelling. At most 32 bytes; returns the length.
  std::size_t to_chars(char* out) const noexcept;
  std::string to_string() const;

 private:
  /// Precondition: at least one of the two is a double.
  static std::partial_ordering compare_reals(Number a, Number b) noexcept;
  union {
    std::int64_t integer_;
    double real_;
  };
  bool is_real_ = false;
};

/// The mathematical order of an integer and a double; unordered for NaN.
std::partial_ordering compare(std::int64_t a, double b) noexcept;

}  // namespace weir
