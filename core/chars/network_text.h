#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/address.h"

namespace weir {

/// Whether the text is meant as an address block: an address, `/` and a number of bits; host bits
/// may be set, which Cidr::parse() refuses.
bool is_network(std::string_view text) noexcept;

/// Explains, for people, which bits of a text that is_network() are wrong, with the network that
/// may be meant: `the bits after the prefix must be zero: 10.0.0.0/8`. Empty: none, or it is no
/// network.
std::string network_fault(std::string_view text);

/// The addresses that a text means: of a network (host bits may be set), or of a range as entries
/// show it, `10.0.0.1 - 10.0.0.9`. Nothing: it is neither.
std::optional<AddressRange> read_range(std::string_view text) noexcept;

}  // namespace weir
