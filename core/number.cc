#include "core/number.h"

#include <charconv>

namespace weir {

std::partial_ordering compare(std::int64_t a, double b) noexcept {
  if (std::isnan(b)) return std::partial_ordering::unordered;
  if (b >= 0x1p63) return std::partial_ordering::less;
  if (b < -0x1p63) return std::partial_ordering::greater;
  // b lies in the integers' range: compare whole parts exactly, then the fraction decides.
  const double whole = std::trunc(b);
  const auto integer = static_cast<std::int64_t>(whole);
  if (a != integer)
    return a < integer ? std::partial_ordering::less : std::partial_ordering::greater;
  if (b == whole) return std::partial_ordering::equivalent;
  return whole < b ? std::partial_ordering::less : std::partial_ordering::greater;
}

std::partial_ordering Number::compare_reals(Number a, Number b) noexcept {
  if (a.is_real_ && b.is_real_) return a.real_ <=> b.real_;
  if (a.is_real_) return 0 <=> compare(b.integer_, a.real_);
  return compare(a.integer_, b.real_);
}

std::size_t Number::to_chars(char* out) const noexcept {
  // A whole number is written as the integer that it equals: 1e5 and 100000 are one key.
  const bool whole = is_real_ && real_ >= -0x1p63 && real_ < 0x1p63 && std::trunc(real_) == real_;
  const std::int64_t integer = !is_real_ ? integer_ : whole ? static_cast<std::int64_t>(real_) : 0;
  const auto end = is_real_ && !whole ? std::to_chars(out, out + 32, real_).ptr
                                      : std::to_chars(out, out + 32, integer).ptr;
  return static_cast<std::size_t>(end - out);
}

std::string Number::to_string() const {
  char buffer[32];
  return {buffer, to_chars(buffer)};
}

}  // namespace weir
