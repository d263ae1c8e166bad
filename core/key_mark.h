#pragma once

#include <string>
#include <string_view>

#include "core/key.h"

namespace weir {

/// What stands for a key where its text may not: `#` and 16 hex digits. Equal keys have equal marks
/// under one secret; whoever lacks the secret learns nothing from a mark.
std::string key_mark(const HashSecret& secret, std::string_view key);

}  // namespace weir
