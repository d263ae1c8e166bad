#pragma once

#include <string>
#include <string_view>

namespace weir {

/// Appends the text as a JSON string, quotes included. What is no UTF-8 becomes U+FFFD, a byte at a
/// time; control characters (DEL and U+0080 to U+009F too: a terminal obeys them), quotes and
/// backslashes are escaped, all else stands as it is.
void append_json_text(std::string& out, std::string_view text);

}  // namespace weir
