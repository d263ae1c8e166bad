#pragma once

#include <cstdint>
#include <string_view>

#include "policies/lang/extractors.h"
#include "policies/lang/frame.h"
#include "policies/set/policy_set.h"

/// Finds unreadable parts of a request, and their dependents. All functions look at the values of
/// the frame's request or answer.
namespace weir::policies {

/// A part of the request that cannot be read; no part if `why` is none.
struct Unread {
  std::string_view name;  ///< canonical; lives as long as the set
  MissReason why = MissReason::none;
  explicit operator bool() const noexcept { return why != MissReason::none; }
};

/// Why the value of a slot is no part of a key and no field of a table; none: it is one. A list or
/// an object is unreadable, because an application may convert it to a text. So is a header that
/// applications decode in different ways.
MissReason why_no_text(Frame& frame, const PolicySet& set, SlotId slot);
/// Why this value of an expression is no number, if a number is needed. A value of the client that
/// is none is unreadable: an application may read a number there.
MissReason why_no_number(Frame& frame, const Expression& expression, const Value& value);
/// The part that this failed expression could not read.
Unread unread_in(Frame& frame, const PolicySet& set, const Expression& expression);
/// The same for a threshold. `open`: the fields of its table on which the limit hangs, as
/// ThresholdTable::find() gives them.
Unread unread_in(Frame& frame, const PolicySet& set, const Limit& limit, std::uint32_t open);
/// The same for an event of which it is unknown whether it happened.
Unread unread_in(Frame& frame, const PolicySet& set, EventIndex event);
/// At the answer: whether an undecidable condition depends on a part of the request.
bool is_unclear(Frame& frame, const PolicySet& set, const Binding& binding);
/// Whether an expression failed for no other reason than that something cannot be read.
bool hangs_on_unread(Frame& frame, const Expression& expression, const Value& result);

}  // namespace weir::policies
