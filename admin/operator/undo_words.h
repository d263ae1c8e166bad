#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "admin/operator/undo_log.h"

namespace weir::admin {

/// A change of a list that replicas share, told to the others, so that each can take it back. Times
/// travel as those of the clock that replicas share: ours plus `ahead`.
/// In pieces that are told one by one; none: it has too many entries for that.
std::vector<std::string> undo_words(const UndoChange& change, milliseconds ahead);
/// That the change was taken back: it works once.
std::string undone_words(std::string_view token);

struct UndoNews {
  std::optional<UndoChange> change;
  std::string undone;  ///< a token; empty: none
};
/// nullopt: it is something else.
std::optional<UndoNews> read_undo_words(std::string_view text, milliseconds ahead);

}  // namespace weir::admin
