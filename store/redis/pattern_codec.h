#pragma once

#include <string>
#include <string_view>

#include "limiter/exchange/shared_op.h"
#include "store/redis/store_clock.h"

namespace weir::store {

/// Operations on patterns as the keys and the argument of patterns.lua, and its answers as replies.
/// codec.cc calls these for every operation that has a pattern.

/// Whether the script can take it: a verb of patterns, a pattern, and times within the allowed
/// range.
bool can_send_pattern(const limiter::SharedOp& op) noexcept;

/// A sequence has one key, `weir:<pattern>:{<key>}`, the others two: `weir:<pattern>:{<tag>}` and
/// the same with `:due`. Returns how many.
unsigned append_pattern_keys(std::string& out, const limiter::SharedOp& op);

/// Appends the argument, as one bulk string. `now` defines how long ago the event happened.
void append_pattern_argument(std::string& out, const limiter::SharedOp& op, bool retry, Now now);

/// False: it does not answer the operation.
bool read_pattern_answer(std::string_view bytes, limiter::PatternReply& out);

}  // namespace weir::store
