#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/address.h"
#include "core/value.h"
#include "policies/lang/slots.h"

namespace weir::policies {

/// A part of a key as one event provides it.
struct KeySlot {
  SlotId slot = 0;
  Type type = Type::dyn;  ///< of its values, as far as it is known
  bool is_address = false;
  /// `31.2304,121.4737`: a place that counts within a radius (place_text.h)
  bool is_place = false;
  bool reads_header = false;  ///< of the request
  std::uint8_t v4_bits = 32;
  std::uint8_t v6_bits = 64;  ///< IPv6 counts by /64 by default
  friend bool operator==(const KeySlot&, const KeySlot&) = default;
};

/// Whether applications read one text from a header's bytes. Some take bytes that are not UTF-8 for
/// Latin-1 (Node also trims U+00A0 there), and CherryPy decodes `=?utf-8?q?...?=`. Pure.
bool is_header_read_alike(std::string_view value) noexcept;

/// Whether the value is no part of a key because applications read another text.
inline bool is_odd_header(const KeySlot& part, const Value& value) noexcept {
  return part.reads_header && value.is(Type::text) && !is_header_read_alike(value.as_text());
}

/// The value of a slot as a part of a key; an address is masked into `masked`. Null: not a part.
inline Value key_part(const KeySlot& part, Value value, Address& masked) {
  if (value.is(Type::address)) {
    masked = value.as_address().masked(part.v4_bits, part.v6_bits);
    return Value::address(&masked);
  }
  const bool none = value.is_error() || value.is(Type::json) || value.is(Type::list);
  return none || is_odd_header(part, value) ? Value::null() : value;
}

/// The same for a part that people spell: the address that it is, masked; nothing: it is none.
inline std::optional<Address> address_part(const KeySlot& part, std::string_view text) {
  if (!part.is_address) return std::nullopt;
  const auto address = Address::parse(text);
  if (!address) return std::nullopt;
  return address->masked(part.v4_bits, part.v6_bits);
}

/// Whether counters with this key have a radius.
inline bool has_radius(const std::vector<KeySlot>& key) noexcept {
  return std::any_of(key.begin(), key.end(), [](const KeySlot& part) { return part.is_place; });
}

}  // namespace weir::policies
