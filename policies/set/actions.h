#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "config/model.h"

namespace weir::policies {

using config::Action;

/// One row per action. Everything that differs between actions stands here, so no other code asks
/// which action it was. Severity orders effects: of all effects that apply to a request, the
/// severest wins.
struct ActionRow {
  Action action;
  std::string_view name;
  std::uint8_t severity;
  bool refuses;              ///< nothing goes upstream
  bool remembers;            ///< with `for`, the key goes on a list
  config::ListKind memory;   ///< of what kind a policy's own list then is
  int status;                ///< when it refuses and nothing else says
  config::Tell tell;         ///< likewise
  std::string_view verdict;  ///< X-Weir-Verdict upstream; empty: no header
  std::string_view help;
};

std::span<const ActionRow> action_rows() noexcept;
const ActionRow& action_row(Action action) noexcept;

inline bool refuses(Action action) noexcept { return action_row(action).refuses; }
inline std::uint8_t severity(Action action) noexcept { return action_row(action).severity; }

}  // namespace weir::policies
