#include "policies/key_slot.h"

namespace weir::policies {

Value key_part(const KeySlot& part, Value value, Address& masked) {
  if (part.reads_address && value.is(Type::text)) {
    if (const auto address = Address::parse(value.as_text())) {
      masked = *address;
      value = Value::address(&masked);
    }
  }
  if (value.is(Type::address)) {
    masked = value.as_address().masked(part.v4_bits, part.v6_bits);
    return Value::address(&masked);
  }
  const bool none = value.is_error() || value.is(Type::json) || value.is(Type::list);
  return none ? Value::null() : value;
}

std::optional<Address> address_part(const KeySlot& part, std::string_view text) {
  if (!part.is_address && !part.reads_address) return std::nullopt;
  const auto address = Address::parse(text);
  if (!address) return std::nullopt;
  return address->masked(part.v4_bits, part.v6_bits);
}

}  // namespace weir::policies
