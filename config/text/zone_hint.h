#pragma once

#include <string>
#include <string_view>

namespace weir::config {

/// What to write for a text that is no time zone: `CST`, `+08:00`, `Asia/Beijing`, `local`.
std::string zone_hint(std::string_view text);

}  // namespace weir::config
