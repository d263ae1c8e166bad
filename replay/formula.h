#pragma once

#include <string_view>

namespace weir::replay {

/// Whether a spreadsheet takes a value of csv for a formula: it begins with `=`, `+`, `-`, `@`, a
/// tab or a carriage return, and is no number.
inline bool is_formula(std::string_view value) noexcept {
  return !value.empty() &&
         std::string_view("=+-@\t\r").find(value.front()) != std::string_view::npos &&
         value.find_first_not_of("+-.0123456789") != std::string_view::npos;
}

}  // namespace weir::replay
