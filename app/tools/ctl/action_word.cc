#include "app/tools/ctl/action_word.h"

namespace weir::app {

std::optional<Action> action_called(std::string_view word) noexcept {
  const ActionRow* const row = find_word(kActions, word);
  if (row == nullptr || row->action == Action::none) return std::nullopt;
  return row->action;
}

std::string known_actions() {
  std::string out;
  for (const ActionRow& row : kActions) {
    if (row.action == Action::none) continue;
    out.append(out.empty() ? "" : ", ").append(row.name);
  }
  return out;
}

}  // namespace weir::app
