#pragma once

#include <cstddef>
#include <string_view>

#include "policies/lang/extractors/arena.h"
#include "replay/formats.h"

namespace weir::replay {

/// Makes rows last longer than their formats do: copies what they show of a format's memory, into
/// memory that is reused. Not thread-safe.
class RowKeeper {
 public:
  /// Forgets all rows.
  void reset() noexcept { arena_.reset(); }
  /// A copy of the text, after which LineReader::kPadding bytes can be read.
  std::string_view keep(std::string_view text);
  /// The row was read from the text `from`, which lies at `to` as well, and there it lives longer:
  /// afterwards the row lives as long as `to` and this keeper. False: a value in it cannot be
  /// copied (a part of a JSON document), and is of no use any more.
  bool keep(Row& row, std::string_view from, std::string_view to);

 private:
  struct Move;
  bool keep(std::span<const policies::Preset>& values, const Move& move);
  bool keep(std::span<const HeaderField>& headers, const Move& move);
  bool keep(std::string_view& text, const Move& move);
  bool keep(Value& value, const Move& move);

  policies::Arena arena_;
};

}  // namespace weir::replay
