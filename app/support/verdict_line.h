#pragma once

#include <string>

#include "app/support/news.h"

namespace weir::app {

/// One line for people, as `weir dev` shows it: time, address, request, effect, and the policy that
/// decided, with its value and limit. Pure.
std::string verdict_line(const News& news, bool colour);

}  // namespace weir::app
