#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "policies/slots.h"

namespace weir::policies {

/// A part of a key as one event provides it.
struct KeySlot {
  SlotId slot = 0;
  Type type = Type::dyn;  ///< of its values, as far as it is known
  bool is_address = false;
  /// `31.2304,121.4737`: a place that counts within a radius (place_text.h)
  bool is_place = false;
  bool reads_address = false;  ///< a column's text is taken for an address, if it is one
  std::uint8_t v4_bits = 32;
  std::uint8_t v6_bits = 64;  ///< IPv6 counts by /64 unless told otherwise
  friend bool operator==(const KeySlot&, const KeySlot&) = default;
};

/// Whether counters with this key have a radius.
inline bool has_radius(const std::vector<KeySlot>& key) noexcept {
  return std::any_of(key.begin(), key.end(), [](const KeySlot& part) { return part.is_place; });
}

}  // namespace weir::policies
