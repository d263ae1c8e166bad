#pragma once

#include <string>
#include <string_view>

#include "app/support/news.h"

namespace weir::app {

/// What stands for the key of an entry that a policy without a key has made.
inline constexpr std::string_view kEverybody = "(everybody)";

/// One line for people, as `weir dev` shows it: time, address, request, effect, and the policy that
/// decided, with its value and limit. Pure.
std::string verdict_line(const News& news, bool colour);

}  // namespace weir::app
