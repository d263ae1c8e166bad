#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "admin/operator/undo_log.h"

namespace weir::admin {

/// Encodes a change of a shared list for the other replicas, so that each can take it back. Times
/// are sent in the clock that replicas share: ours plus `ahead`. The result is in pieces, sent one
/// by one; none: the change has too many entries.
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
