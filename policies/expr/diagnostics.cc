#include "policies/expr/diagnostics.h"

#include <algorithm>

namespace weir::policies::expr {
namespace {

std::uint32_t characters(std::string_view text) noexcept {
  return static_cast<std::uint32_t>(std::count_if(text.begin(), text.end(), [](char byte) {
    return (static_cast<unsigned char>(byte) & 0xc0) != 0x80;
  }));
}

}  // namespace

/// A plain scalar is underlined in full and a quoted one with its quotes; by that they are told
/// apart. Where the text in the file is neither (escapes, several lines), columns would lie: all of
/// it is meant.
config::Where Diagnostics::where(std::size_t begin, std::size_t end) const noexcept {
  config::Where at = text_.where;
  const std::string_view text = text_.value;
  const std::uint32_t size = characters(text);
  if (at.line == 0 || (at.length != size && at.length != size + 2)) return at;
  at.column += characters(text.substr(0, begin)) + (at.length == size + 2 ? 1 : 0);
  at.length = std::max<std::uint32_t>(1, characters(text.substr(begin, end - begin)));
  return at;
}

void Diagnostics::error(std::size_t begin, std::size_t end, std::string message, std::string hint) {
  problems_.error(where(begin, end), std::move(message), std::move(hint));
}

void Diagnostics::warning(std::size_t begin, std::size_t end, std::string message,
                          std::string hint) {
  problems_.warning(where(begin, end), std::move(message), std::move(hint));
}

}  // namespace weir::policies::expr
