#pragma once

#include <cstdint>
#include <string_view>

#include "limiter/exchange/shared_op.h"

namespace weir::store {

/// A script holds the forms of one kind, or all of them for operations whose parts differ; that of
/// patterns holds no other.
using ScriptIndex = std::uint8_t;
inline constexpr ScriptIndex kMixedScript = limiter::kSharedForms.size();
inline constexpr ScriptIndex kPatternScript = kMixedScript + 1;
inline constexpr std::size_t kScripts = kPatternScript + 1;

/// The form, beside those of limiter::SharedForm, of logs that do not remember their events
/// (times.lua).
inline constexpr unsigned kTimesForm = limiter::kSharedForms.size();

struct Script {
  std::string_view name;      ///< of its file
  std::string_view text;      ///< for EVAL
  std::string_view sha1;      ///< for EVALSHA: 40 hexadecimal digits
  std::string_view function;  ///< for FCALL, of function_library()
};

/// Made once, from the files beside this one. Thread-safe.
const Script& script(ScriptIndex index);
/// list.lua (store/lists): for replicas that share a list.
const Script& list_script();
/// get.lua: the value of a string that is no counter.
const Script& get_script();
/// board.lua (store/board): the messages between the replicas of a fleet.
const Script& board_script();

/// view.lua (store/views): for replicas that share a view.
const Script& view_script();

/// All scripts as one library of functions, for FUNCTION LOAD (Redis 7 or newer). Names end in a
/// digest of the text, so versions of weir with different scripts can share a server.
struct FunctionLibrary {
  std::string_view name, text;
};
const FunctionLibrary& function_library();

/// Whether the script takes plain operations (plain_calls.h); its first argument is theirs.
bool knows_plain(ScriptIndex index) noexcept;
ScriptIndex script_of(const limiter::SharedOp& op) noexcept;

}  // namespace weir::store
