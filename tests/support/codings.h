#pragma once

#include <string>
#include <string_view>

namespace weir::test {

/// Bodies as real encoders make them. `bare`: without the zlib format around it.
std::string gzip_coded(std::string_view text);
std::string deflate_coded(std::string_view text, bool bare = false);
/// `sized`: the frame says how long its content is, as one made in one piece does; a stream's does
/// not.
std::string zstd_coded(std::string_view text, bool sized = true);

}  // namespace weir::test
