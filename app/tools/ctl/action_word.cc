#include "app/tools/ctl/action_word.h"

namespace weir::app {

std::optional<Action> action_called(std::string_view word) noexcept {
  for (const ActionRow& row : kActions) {
    if (row.action == Action::none || word.empty()) continue;
    if (row.name == word || row.alias == word) return row.action;
  }
  return std::nullopt;
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
