#include <algorithm>

#include "policies/judge/planning.h"
#include "policies/judgement/unread.h"

namespace weir::policies {

limiter::Datum datum_of(const Value& value) {
  limiter::Datum out;
  if (value.is_number()) {
    out.type = limiter::Datum::Type::number;
    out.number = value.as_number();
  } else if (value.is(Type::boolean)) {
    out.type = limiter::Datum::Type::boolean;
    out.boolean = value.as_boolean();
  } else if (value.is(Type::text) && value.as_text().size() <= limiter::Datum::kTextMax) {
    out.type = limiter::Datum::Type::text;
    out.text = value.as_text();
  }
  return out;
}

/// An address as its canonical text, which `last` can remember; other values as they are.
Value spelled(Frame& frame, const Value& value) {
  if (!value.is(Type::address)) return value;
  constexpr std::size_t kRoom = 64;
  char* const at = frame.arena().allocate(kRoom);
  if (at == nullptr) return Value::null();
  const std::size_t size = value.as_address().to_chars(at);
  frame.arena().shrink(kRoom, size);
  return Value::text({at, size});
}

Planning::AmountLoad Planning::load_amount(const Policy& policy, const Binding& binding,
                                           limiter::Amount& amount, Trace* trace) {
  const auto lacks = [&](std::size_t field, const Expression& expression, const Value& value) {
    const MissReason reason = why_no_number(work_.frame, expression, value);
    return missing(policy, field, expression.canonical(), reason, Skip::amount_missing, trace)
               ? AmountLoad::missing_same
               : AmountLoad::skips;
  };
  if (binding.late_amount) {
    // Known only with the answer: until then, the estimate of `reserve` counts.
    amount.amount = 0;
    if (!binding.reserve) return AmountLoad::loaded;
    const Value value = binding.reserve->eval(work_.frame);
    const Unread unread =
        value.is_error() ? unread_in(work_.frame, *work_.set, *binding.reserve) : Unread{};
    if (unread && refuses_unread(policy, unread.name, unread.why)) return AmountLoad::skips;
    if (value.is_number() && value.as_number().is_finite() && !value.as_number().is_negative()) {
      amount.amount = value.as_number();
    }
    return AmountLoad::loaded;
  }
  if (policy.metric == Metric::last) {
    const Value value = spelled(work_.frame, binding.arguments.front().eval(work_.frame));
    const limiter::Datum datum = datum_of(value);
    // A text that is too long is there; it is remembered as none.
    if (datum.type == limiter::Datum::Type::none && !value.is(Type::text)) {
      return lacks(binding.key.size(), binding.arguments.front(), value);
    }
    amount.datum = work_.frame.arena().make(datum);
    return amount.datum != nullptr ? AmountLoad::loaded : AmountLoad::skips;
  }
  if (takes_amount(policy.metric)) {
    const Expression& expression = binding.arguments.front();
    const Value value = expression.eval(work_.frame);
    const bool real = work_.set->counters[policy.counters.front()].spec.real;
    if (!value.is_number() || (!value.as_number().is_finite() && !policy.amounts_checked)) {
      return lacks(binding.key.size(), expression, value);
    }
    const Number number = value.as_number();
    if (policy.amounts_checked && (number.is_negative() || !number.is_finite())) {
      StatsCells::add(work_.loaded->policy_cells[policy.index]->amounts_refused);
      if (refuses_unread(policy, expression.canonical(), MissReason::failed))
        return AmountLoad::skips;
      if (trace != nullptr) {
        trace->skipped(policy, Skip::amount_refused, expression.canonical(), MissReason::none);
      }
      return AmountLoad::skips;
    }
    amount.amount = real ? Number::real(number.as_real()) : number;
    return AmountLoad::loaded;
  }
  if (takes_members(policy.metric)) {
    const std::optional<std::size_t> bad = load_member(binding, amount.member);
    if (!bad) return AmountLoad::loaded;
    const Expression& expression = binding.arguments[*bad];
    const AmountLoad loaded =
        lacks(binding.key.size() + *bad, expression, expression.eval(work_.frame));
    if (loaded != AmountLoad::missing_same) return loaded;
    amount.member = member_with_gaps(binding);
    return AmountLoad::loaded;
  }
  return AmountLoad::loaded;
}

/// Returns which argument is missing, if one is. hash_ stays unchanged.
std::optional<std::size_t> Planning::load_member(const Binding& binding, std::uint64_t& member) {
  if (binding.member_id != kNoKey) {
    const Hash128 key = keys_.hash();
    const bool there = keys_.hash_key(binding.member, binding.member_id);
    member = keys_.hash().lo;
    keys_.set_hash(key);
    return there ? std::nullopt : std::optional(keys_.bad_part());
  }
  keys_.builder().start();
  for (std::size_t i = 0; i < binding.arguments.size(); ++i) {
    Address masked;
    if (!keys_.builder().add(key_part({}, binding.arguments[i].eval(work_.frame), masked)))
      return i;
  }
  member = keys_.builder().hash(work_.secret).lo;
  return std::nullopt;
}

/// With `missing: same`, all events that lack an argument have one member.
std::uint64_t Planning::member_with_gaps(const Binding& binding) {
  keys_.builder().start();
  for (const Expression& argument : binding.arguments) {
    Address masked;
    if (!keys_.builder().add(key_part({}, argument.eval(work_.frame), masked)))
      keys_.builder().add_missing();
  }
  return keys_.builder().hash(work_.secret).lo;
}

/// The bank's text lives until its next operation; the frame's as long as the judgement.
void Planning::keep_datum(PlannedCounter& planned) {
  const limiter::Datum* datum = planned.reading.datum;
  if (datum == nullptr) return;
  switch (datum->type) {
    case limiter::Datum::Type::none:
      planned.datum = Value::null();
      break;
    case limiter::Datum::Type::boolean:
      planned.datum = Value::boolean(datum->boolean);
      break;
    case limiter::Datum::Type::number:
      planned.datum = Value::number(datum->number);
      break;
    case limiter::Datum::Type::text: {
      char* at = work_.frame.arena().allocate(datum->text.size());
      if (at != nullptr) std::copy(datum->text.begin(), datum->text.end(), at);
      planned.datum = at != nullptr ? Value::text({at, datum->text.size()}) : Value::null();
      break;
    }
  }
}

std::optional<Number> Planning::load_limit(const Limit& limit) {
  if (const auto* number = std::get_if<Number>(&limit.source)) return *number;
  if (const auto* expression = std::get_if<Expression>(&limit.source)) {
    const Value value = expression->eval(work_.frame);
    if (!value.is_number()) return std::nullopt;
    return value.as_number();
  }
  const auto* table = std::get_if<std::uint16_t>(&limit.source);
  if (table == nullptr) return std::nullopt;
  dimensions_.clear();
  open_dimensions_ = 0;
  if (dimension_texts_.size() < limit.table_slots.size())
    dimension_texts_.resize(limit.table_slots.size());
  for (std::size_t i = 0; i < limit.table_slots.size(); ++i) {
    const Value value = work_.frame.load(limit.table_slots[i]);
    if (value.is(Type::text)) {
      dimensions_.emplace_back(value.as_text());
    } else {
      dimension_texts_[i].clear();
      if (append_canonical(dimension_texts_[i], value)) {
        dimensions_.emplace_back(dimension_texts_[i]);
      } else {
        dimensions_.emplace_back(std::nullopt);
      }
    }
  }
  return work_.set->tables[*table]->find(dimensions_, &open_dimensions_);
}

}  // namespace weir::policies
