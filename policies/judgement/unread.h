#pragma once

#include <string_view>

#include "policies/lang/extractors.h"
#include "policies/lang/frame.h"
#include "policies/set/policy_set.h"

/// What of a request can be read by nobody without doubt, and what hangs on it. All of them look at
/// the values of the frame's request or answer.
namespace weir::policies {

/// Something of the request that cannot be read; none if `why` says so.
struct Unread {
  std::string_view name;  ///< canonical; lives as long as the set
  MissReason why = MissReason::none;
  explicit operator bool() const noexcept { return why != MissReason::none; }
};

/// What this expression, which has just failed, could not read.
Unread unread_in(Frame& frame, const PolicySet& set, const Expression& expression);
/// The same of a threshold that could not be told.
Unread unread_in(Frame& frame, const PolicySet& set, const Limit& limit);
/// Of an event of which nobody can tell whether it happened.
Unread unread_in(Frame& frame, const PolicySet& set, EventIndex event);
/// At the answer: whether a condition that nobody can answer hangs on something of the request.
bool is_unclear(Frame& frame, const PolicySet& set, const Binding& binding);
/// Whether an expression failed for no other reason than that something cannot be read.
bool hangs_on_unread(Frame& frame, const Expression& expression, const Value& result);

}  // namespace weir::policies
