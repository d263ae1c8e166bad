#pragma once

#include <string_view>

namespace weir {

/// Whether somebody means an address block: an address, `/` and a number of bits; host bits may be
/// set, which Cidr::parse() refuses.
bool is_network(std::string_view text) noexcept;

}  // namespace weir
