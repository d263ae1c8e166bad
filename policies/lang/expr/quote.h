#pragma once

#include <string>
#include <string_view>

/// How expressions are written back as text.
namespace weir::policies::expr {

/// A name as the grammar has it: a letter or `_`, then letters, digits and `_`.
bool is_identifier(std::string_view text) noexcept;
/// A string literal in double quotes; parses back to `text`.
std::string quoted(std::string_view text);
/// A double literal; parses back to the same finite value and never looks like an integer.
std::string real_literal(double value);

}  // namespace weir::policies::expr
