#pragma once

#include <string>
#include <string_view>

namespace weir::app {

/// The lines in which two texts differ, with three lines around them, as `diff -u` shows them
/// without its heading. Empty: they are equal. Texts of more than 2,000 changed lines are not
/// compared: the result says so.
std::string text_diff(std::string_view before, std::string_view after);

}  // namespace weir::app
