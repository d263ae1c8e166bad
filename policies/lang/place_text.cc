#include "policies/lang/place_text.h"

#include <charconv>

namespace weir::policies {

std::optional<Place> parse_place(std::string_view text) noexcept {
  Place place;
  const char* const end = text.data() + text.size();
  const auto lat = std::from_chars(text.data(), end, place.lat);
  if (lat.ec != std::errc() || lat.ptr == end || *lat.ptr != ',') return std::nullopt;
  const auto lon = std::from_chars(lat.ptr + 1, end, place.lon);
  if (lon.ec != std::errc() || lon.ptr != end || !is_place(place.lat, place.lon))
    return std::nullopt;
  return place;
}

}  // namespace weir::policies
