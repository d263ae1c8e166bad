#include "core/geo.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>

namespace weir {
namespace {

constexpr double kRadian = std::numbers::pi / 180;

/// Which of 2^bits equal parts of [-half, half] a coordinate is in. Borders are exact doubles (at
/// most 30 bits times 45), but the scaled coordinate is rounded and may land on the wrong side of
/// one.
std::uint32_t part_of(double degrees, double half, unsigned bits) noexcept {
  const double width = std::ldexp(2 * half, -static_cast<int>(bits));
  const double last = std::ldexp(1.0, static_cast<int>(bits)) - 1;
  double part = std::clamp(std::floor((degrees + half) / width), 0.0, last);
  if (part > 0 && part * width - half > degrees) part -= 1;
  if (part < last && (part + 1) * width - half <= degrees) part += 1;
  return static_cast<std::uint32_t>(part);
}

}  // namespace

bool is_place(double lat, double lon) noexcept {
  return std::abs(lat) <= 90 && std::abs(lon) <= 180;  // false for NaN
}

double distance_metres(double lat1, double lon1, double lat2, double lon2) noexcept {
  if (!is_place(lat1, lon1) || !is_place(lat2, lon2))
    return std::numeric_limits<double>::quiet_NaN();
  const double across = std::sin((lat2 - lat1) * kRadian / 2);
  const double along = std::sin((lon2 - lon1) * kRadian / 2);
  const double h =
      across * across + std::cos(lat1 * kRadian) * std::cos(lat2 * kRadian) * along * along;
  return 2 * kEarthRadiusMetres * std::asin(std::sqrt(std::min(h, 1.0)));
}

std::size_t geohash(double lat, double lon, std::size_t n, char* out) noexcept {
  if (!is_place(lat, lon) || n < 1 || n > kGeohashMax) return 0;
  static constexpr char kLetters[] = "0123456789bcdefghjkmnpqrstuvwxyz";
  const auto bits = static_cast<unsigned>(5 * n);
  const unsigned lat_bits = bits / 2;
  const unsigned lon_bits = bits - lat_bits;
  const std::uint32_t y = part_of(lat, 90, lat_bits);
  const std::uint32_t x = part_of(lon, 180, lon_bits);
  unsigned letter = 0;
  for (unsigned bit = 0; bit < bits; ++bit) {
    const bool is_lon = bit % 2 == 0;
    const unsigned shift = (is_lon ? lon_bits : lat_bits) - 1 - bit / 2;
    letter = letter << 1 | ((is_lon ? x : y) >> shift & 1U);
    if (bit % 5 == 4) {
      out[bit / 5] = kLetters[letter];
      letter = 0;
    }
  }
  return n;
}

}  // namespace weir
