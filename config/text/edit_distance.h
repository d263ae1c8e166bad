#pragma once

#include <cstddef>
#include <string_view>

namespace weir::config {

/// Edit distance with transpositions of neighbours (optimal string alignment), or `bound` + 1 if it
/// is larger. Takes time and memory with the product of the sizes: the caller cuts the texts.
std::size_t edit_distance(std::string_view a, std::string_view b, std::size_t bound);

}  // namespace weir::config
