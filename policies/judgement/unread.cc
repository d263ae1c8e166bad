#include "policies/judgement/unread.h"

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

namespace {

/// A slot of the expression that cannot be read.
Unread unread_slot_in(Frame& frame, const PolicySet& set, const Expression& expression) {
  Unread part;  // at the answer, only values computed from a field may be kept
  for (const SlotId slot : expression.slots()) {
    const Slot& of = set.slots[slot];
    if (of.side != Side::request) continue;
    const MissReason why = frame.why(slot);
    if (!is_unread(why)) continue;
    if (of.kind != Slot::Kind::computed) return {of.text, why};
    part = {of.text, why};
  }
  return part;
}

/// A list, a number or a boolean where the failed expression takes a text, or a text in which an
/// application may read a number.
Unread misread_in(Frame& frame, const PolicySet& set, const Expression& expression) {
  if (!is_unread(frame.why(expression, Value::error()))) return {};
  for (const SlotId slot : expression.slots()) {
    const Slot& of = set.slots[slot];
    if (of.side != Side::request || of.kind == Slot::Kind::computed) continue;
    const Value value = frame.load(slot);
    if (value.is_null() || value.is_error()) continue;
    if (value.is(Type::text) ? of.client_asserted : of.needs_body)
      return {of.text, MissReason::unreadable};
  }
  return {};
}

}  // namespace

/// The part of the request that this failed expression could not read.
Unread unread_in(Frame& frame, const PolicySet& set, const Expression& expression) {
  const Unread part = unread_slot_in(frame, set, expression);
  return part ? part : misread_in(frame, set, expression);
}

Unread unread_in(Frame& frame, const PolicySet& set, const Limit& limit, std::uint32_t open) {
  if (const auto* expression = std::get_if<Expression>(&limit.source)) {
    const Unread part = unread_slot_in(frame, set, *expression);
    // Null is no failure: a table may have no limit for a value that everybody reads alike.
    return part || !expression->eval(frame).is_error() ? part : misread_in(frame, set, *expression);
  }
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
