#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace weir {

/// The text of zlib's form, of so many bytes. For what the build has compressed into the program:
/// anything else is an error of the program.
std::string unpacked(std::string_view packed, std::size_t bytes);

}  // namespace weir
