#pragma once

#include <cstdint>
#include <string_view>

#include "limiter/shared_op.h"

namespace weir::store {

/// A script holds the forms of one kind, or all of them for operations whose parts differ.
using ScriptIndex = std::uint8_t;
inline constexpr ScriptIndex kMixedScript = static_cast<ScriptIndex>(limiter::kSharedForms);
inline constexpr std::size_t kScripts = limiter::kSharedForms + 1;

struct Script {
  std::string_view name;  ///< of its file
  std::string_view text;  ///< for EVAL
  std::string_view sha1;  ///< for EVALSHA: 40 hexadecimal digits
};

/// Made once, from the files beside this one. Thread-safe.
const Script& script(ScriptIndex index);
/// list.lua (store/lists): what replicas that share a list call.
const Script& list_script();
ScriptIndex script_of(const limiter::SharedOp& op) noexcept;

}  // namespace weir::store
