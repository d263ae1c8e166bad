#include "policies/judgement/unread.h"

#include "policies/lang/expr/missed.h"

namespace weir::policies {

MissReason why_no_text(Frame& frame, const PolicySet& set, SlotId slot) {
  const MissReason why = frame.why(slot);
  if (why != MissReason::none) return why;
  const Value value = frame.load(slot);
  const bool odd = set.slots[slot].reads_header && value.is(Type::text) &&
                   !is_header_read_alike(value.as_text());
  return odd || value.is(Type::json) || value.is(Type::list) ? MissReason::unreadable
                                                             : MissReason::none;
}

MissReason why_no_number(Frame& frame, const Expression& expression, const Value& value) {
  if (value.is_null() || value.is_error())
    return expr::why_missed(*expression.program(), frame, true).why;
  return expression.client_asserted() ? MissReason::unreadable : MissReason::failed;
}

/// The part of the request that this failed expression could not read.
Unread unread_in(Frame& frame, const PolicySet& set, const Expression& expression) {
  const expr::Missed missed = expr::why_missed(*expression.program(), frame);
  if (missed.part == SlotTable::kMax) return {};
  return {set.slots[missed.part].text, missed.part_why};
}

Unread unread_in(Frame& frame, const PolicySet& set, const Limit& limit, std::uint32_t open) {
  // Null is no failure: a table may have no limit for a value that all parsers read alike.
  if (const auto* expression = std::get_if<Expression>(&limit.source))
    return unread_in(frame, set, *expression);
  for (const SlotId slot : limit.table_slots) {
    const bool hangs_on_it = (open & 1) != 0;
    open >>= 1;
    if (!hangs_on_it) continue;
    const MissReason why = why_no_text(frame, set, slot);
    if (is_unread(why)) return {set.slots[slot].text, why};
  }
  return {};
}

/// The same for an event of which it is unknown whether it happened.
Unread unread_in(Frame& frame, const PolicySet& set, EventIndex event) {
  for (EventIndex at = event;; at = set.events[at].parent) {
    const Event& of = set.events[at];
    if (of.when && of.when->side() == Side::request) {
      frame.set_event(of.name);
      const Unread unread =
          of.when->eval(frame).is_error() ? unread_in(frame, set, *of.when) : Unread{};
      if (unread) return unread;
    }
    if (of.parent == at) return {};
  }
}

/// Whether an undecidable condition depends on a part of the request.
bool is_unclear(Frame& frame, const PolicySet& set, const Binding& binding) {
  const auto fails_by_request = [&](const std::optional<Expression>& when) {
    return when && when->eval(frame).is_error() &&
           unread_in(frame, set, *when).why != MissReason::none;
  };
  for (EventIndex at = binding.event;; at = set.events[at].parent) {
    frame.set_event(set.events[at].name);
    if (fails_by_request(set.events[at].when)) return true;
    if (set.events[at].parent == at) break;
  }
  frame.set_event(set.events[binding.event].name);
  return fails_by_request(binding.when);
}

/// Whether an expression failed for no other reason than that something cannot be read.
bool hangs_on_unread(Frame& frame, const Expression& expression, const Value& result) {
  return result.is_error() && is_unread(frame.why(expression, result));
}

}  // namespace weir::policies
