#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policies/lang/expr/diagnostics.h"

namespace weir::policies::expr {

struct Token {
  enum class Kind : std::uint8_t { end, name, integer, real, text, mark };
  Kind kind = Kind::end;
  std::uint32_t begin = 0, end = 0;  ///< bytes of the expression
  std::string text;                  ///< name, text (unescaped) or mark (`==`)
  std::uint64_t magnitude = 0;       ///< integer: without sign, up to 2^63
  double real = 0;

  bool is(std::string_view mark) const noexcept { return kind == Kind::mark && text == mark; }
  bool is_word(std::string_view word) const noexcept { return kind == Kind::name && text == word; }
};

/// CEL's tokens, ended by one of kind `end`. Nothing after the first problem, which is reported.
std::optional<std::vector<Token>> lex(std::string_view text, Diagnostics& diagnostics);

}  // namespace weir::policies::expr
