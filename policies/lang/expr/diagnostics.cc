#include "policies/lang/expr/diagnostics.h"

#include <algorithm>

namespace weir::policies::expr {

/// A plain scalar is underlined in full, and a quoted one with its quotes; the length distinguishes
/// the two. If the text in the file is neither (escapes, several lines), columns would be wrong, so
/// the whole text is underlined. Columns and lengths are bytes, as in the loader.
config::Where Diagnostics::where(std::size_t begin, std::size_t end) const noexcept {
  config::Where at = text_.where;
  const std::size_t size = text_.value.size();
  if (at.line == 0 || (at.length != size && at.length != size + 2)) return at;
  at.column += static_cast<std::uint32_t>(begin + (at.length == size + 2 ? 1 : 0));
  at.length = static_cast<std::uint32_t>(std::max<std::size_t>(1, end - begin));
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
