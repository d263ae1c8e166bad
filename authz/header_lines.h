#pragma once

#include <algorithm>
#include <string_view>

namespace weir::authz {

/// Calls `use(name, value)` for each of the whole lines `Name: value\r\n`, without the blanks
/// before the value.
template <class Use>
void for_each_line(std::string_view lines, Use use) {
  while (!lines.empty()) {
    const std::size_t end = std::min(lines.find("\r\n"), lines.size());
    const std::string_view line = lines.substr(0, end);
    lines.remove_prefix(std::min(end + 2, lines.size()));
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    std::string_view value = line.substr(colon + 1);
    while (value.starts_with(' ')) value.remove_prefix(1);
    use(line.substr(0, colon), value);
  }
}

}  // namespace weir::authz
