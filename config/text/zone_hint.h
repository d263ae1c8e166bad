#pragma once

#include <string>
#include <string_view>

namespace weir::config {

/// Suggests a time zone for a text that names none: `CST`, `+08:00`, `Asia/Beijing`, `local`.
std::string zone_hint(std::string_view text);

}  // namespace weir::config
