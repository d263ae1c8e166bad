#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/words.h"

namespace weir::app {

/// The action that people call so, by its name or its other spelling; `none` has none. None: there
/// is no such action.
std::optional<Action> action_called(std::string_view word) noexcept;

/// `flag, graylist, delay, challenge, deny`.
std::string known_actions();

}  // namespace weir::app
