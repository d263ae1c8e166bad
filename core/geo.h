#pragma once

#include <cstddef>
#include <limits>

namespace weir {

/// Places on the earth as degrees: latitude -90 .. 90, longitude -180 .. 180 (both ends are one
/// meridian). All functions are pure, noexcept and allocate nothing.

inline constexpr double kEarthRadiusMetres = 6'371'008.8;  ///< the mean radius (IUGG)
inline constexpr unsigned kGeohashMax = 12;

/// A place, or (as made) nowhere: equal to no place, and to itself.
struct Place {
  double lat = std::numeric_limits<double>::infinity();
  double lon = std::numeric_limits<double>::infinity();
  friend bool operator==(const Place&, const Place&) = default;
};

/// Whether these are finite degrees in range.
bool is_place(double lat, double lon) noexcept;

/// Metres along the great circle of a sphere of the mean radius, by the haversine formula (Sinnott,
/// 1984): exact to a millimetre also for neighbours, within 0.6 % of the ellipsoid. NaN if one of
/// the two is not a place.
double distance_metres(double lat1, double lon1, double lat2, double lon2) noexcept;

/// The geohash (Niemeyer, 2008) of `n` letters, without a final zero: alternating bits of longitude
/// and latitude, five to a letter. A point on a border belongs to the cell north and east of it.
/// The pole and longitude 180 have no such cell and belong to the last one. Returns n. If this is
/// not a place, or n is not 1 .. kGeohashMax, returns 0 and writes nothing.
std::size_t geohash(double lat, double lon, std::size_t n, char* out) noexcept;

}  // namespace weir
