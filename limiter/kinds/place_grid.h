#pragma once

#include <array>
#include <cstdint>

#include "core/geo.h"

namespace weir::limiter {

/// A point of the unit sphere. Nowhere is its centre.
struct UnitVector {
  double x = 0, y = 0, z = 0;
  static UnitVector of(const Place& place) noexcept;
  /// The square of the straight line between two points: grows with the way on the surface, takes
  /// no sine, and is exact to nanometres on the earth also for neighbours and antipodes.
  double chord_squared(const UnitVector& other) const noexcept {
    const double dx = x - other.x, dy = y - other.y, dz = z - other.z;
    return dx * dx + dy * dy + dz * dz;
  }
  friend bool operator==(const UnitVector&, const UnitVector&) = default;
};

/// Cells such that all that is within a radius of a place is in its own cell or in the next ones,
/// nine at most, wherever that is on the sphere. A geohash cell of fixed length does that near the
/// equator only: a degree of longitude shrinks to nothing towards the poles. So this is a grid of
/// rows of latitude, a little higher than the radius, each cut into as many columns as are wide
/// enough for the latitudes that look into it (a reduced Gaussian grid, as weather models have it):
///
///       90  +---------------------------------+   one column: the pole is within reach
///           +----------+----------+-----------+
///           +------+------+------+------+-----+   columns go round: the last is next to the first
///           +----+----+----+----+----+----+---+
///       0   +---+---+---+---+---+---+---+-----+
///
/// Pure and immutable; nothing allocates. Longitude 180 is longitude -180.
class PlaceGrid {
 public:
  static constexpr unsigned kCells = 9;
  using Cell = std::uint64_t;  ///< row << 32 | column
  static constexpr Cell kNowhere = ~Cell{0};
  struct Cells {
    std::array<Cell, kCells> cells;  ///< the place's own first
    unsigned size = 0;
  };

  /// Metres, kRadiusMin .. kRadiusMax.
  explicit PlaceGrid(double radius) noexcept;

  Cells around(const Place& place) const noexcept;
  /// The chord_squared of two places so far from each other.
  double reach() const noexcept { return reach_; }

 private:
  double half_width(double lat) const noexcept;
  std::uint32_t columns(std::uint32_t row) const noexcept;
  std::uint32_t row_of(double lat) const noexcept;

  double degrees_;  // of the radius
  double sine_;
  double reach_;
  std::uint32_t rows_;
};

}  // namespace weir::limiter
