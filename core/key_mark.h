#pragma once

#include <string>
#include <string_view>

#include "core/key.h"

namespace weir {

/// Replaces a key where its text must not appear: `#` and 16 hex digits. Under one secret, equal
/// keys have equal marks. Without the secret, a mark reveals nothing.
std::string key_mark(const HashSecret& secret, std::string_view key);

}  // namespace weir
