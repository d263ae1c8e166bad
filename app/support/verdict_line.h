#pragma once

#include <string>
#include <string_view>

#include "app/support/news.h"

namespace weir::app {

/// Shown in place of the key if the entry is made by a policy without a key.
inline constexpr std::string_view kEverybody = "(everybody)";

/// One line for people, as `weir dev` shows it: time, address, request, effect, and the policy that
/// decided, with its value and limit. Pure.
std::string verdict_line(const News& news, bool colour);

}  // namespace weir::app
