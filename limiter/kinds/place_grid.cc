#include "limiter/kinds/place_grid.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/assert.h"

namespace weir::limiter {
namespace {

constexpr double kRadian = std::numbers::pi / 180;
// Cells are wider than the radius by more than all that is rounded, and a reader looks a
// micrometre further than it must.
constexpr double kSlack = 1 + 1e-4;
constexpr double kMargin = 1e-11;  // degrees

}  // namespace

UnitVector UnitVector::of(const Place& place) noexcept {
  if (!is_place(place.lat, place.lon)) return {};
  const double lat = place.lat * kRadian, lon = place.lon * kRadian;
  return {std::cos(lat) * std::cos(lon), std::cos(lat) * std::sin(lon), std::sin(lat)};
}

PlaceGrid::PlaceGrid(double radius) noexcept {
  const double angle = radius / kEarthRadiusMetres;
  degrees_ = angle / kRadian;
  sine_ = std::sin(angle);
  const double chord = 2 * std::sin(angle / 2);
  reach_ = chord * chord;
  rows_ = static_cast<std::uint32_t>(std::max(1.0, std::floor(180 / (degrees_ * kSlack))));
}

/// How far the circle about a place of this latitude reaches east and west, in degrees; 360 where
/// it holds a pole.
double PlaceGrid::half_width(double lat) const noexcept {
  if (std::abs(lat) + degrees_ >= 90 - kMargin) return 360;
  return std::asin(std::min(1.0, sine_ / std::cos(lat * kRadian))) / kRadian;
}

std::uint32_t PlaceGrid::row_of(double lat) const noexcept {
  const double row = std::floor((std::clamp(lat, -90.0, 90.0) + 90) * rows_ / 180);
  return std::min(static_cast<std::uint32_t>(row), rows_ - 1);
}

/// An event that reads a row lies in the row or in a neighbouring one: the widest circle of these
/// rows decides.
std::uint32_t PlaceGrid::columns(std::uint32_t row) const noexcept {
  const double height = 180.0 / rows_;
  const double low = (row - 1.0) * height - 90, high = (row + 2.0) * height - 90;
  const double furthest = std::min(90.0, std::max(std::abs(low), std::abs(high)));
  const double width = half_width(furthest) * kSlack;
  return width >= 180 ? 1 : static_cast<std::uint32_t>(360 / width);
}

PlaceGrid::Cells PlaceGrid::around(const Place& place) const noexcept {
  Cells out;
  if (!is_place(place.lat, place.lon)) {
    out.cells[out.size++] = kNowhere;
    return out;
  }
  // The column of a longitude that may be beyond 180 by less than a turn, not yet taken round.
  const auto column_of = [](double lon, std::uint32_t columns) {
    return static_cast<std::int64_t>(std::floor((lon + 180) * columns / 360));
  };
  const auto cell_of = [](std::uint32_t row, std::int64_t column, std::int64_t columns) {
    return Cell{row} << 32 | static_cast<Cell>((column % columns + columns) % columns);
  };
  const std::uint32_t own_row = row_of(place.lat);
  const std::uint32_t own_columns = columns(own_row);
  const Cell own = cell_of(own_row, column_of(place.lon, own_columns), own_columns);
  out.cells[out.size++] = own;

  const double half = half_width(place.lat) + kMargin;
  const std::uint32_t last = row_of(place.lat + degrees_ + kMargin);
  for (std::uint32_t row = row_of(place.lat - degrees_ - kMargin); row <= last; ++row) {
    const std::int64_t all = columns(row);
    const std::int64_t first = column_of(place.lon - half, static_cast<std::uint32_t>(all));
    const std::int64_t count =
        std::min(column_of(place.lon + half, static_cast<std::uint32_t>(all)) - first + 1, all);
    for (std::int64_t i = 0; i < count; ++i) {
      const Cell cell = cell_of(row, first + i, all);
      if (cell == own) continue;
      WEIR_ASSERT(out.size < kCells);
      out.cells[out.size++] = cell;
    }
  }
  return out;
}

}  // namespace weir::limiter
