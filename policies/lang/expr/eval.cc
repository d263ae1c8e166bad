#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>

#include "core/assert.h"
#include "policies/lang/expr/functions.h"
#include "policies/lang/expr/missed.h"
#include "policies/lang/expr/program.h"
#include "policies/lang/extractors/json.h"
#include "policies/lang/frame.h"

/// The meaning of an expression. The results are CEL's where CEL defines one, with one difference:
/// a missing field is null, and null spreads like an error but more quietly:
///
///    == and !=                   CEL's: null equals null only
///    < <= > >= in + - * / % f()  an error if an operand is an error, else null if one is null
///    && and ||                   false (true) decides, whatever the other side is, in any order;
///                                else an error if there is one, else null if there is one
///    ! - ? :                     of null (error): null (error)
///    has(f)                      whether f has a value
///
/// Errors come from overflow, division of integers by zero, conversions that fail, an index outside
/// a list, and operands whose type is known only at the request. Callers treat null and errors as
/// "does not hold".
namespace weir::policies::expr {
namespace {

/// Whether some application reads a number where int() and double() read none: PHP, JavaScript,
/// Java and Python take ` 5`, `5.5` and `1e9` for an integer, `0x10`, `5 pieces`, digits of other
/// scripts, infinity.
bool may_be_number(std::string_view text) noexcept {
  const std::size_t first = text.find_first_not_of(" \t\r\n\f\v+-.");
  if (first == std::string_view::npos) return false;
  const auto c = static_cast<unsigned char>(text[first]);
  if ((c >= '0' && c <= '9') || c >= 0x80) return true;
  const auto begins = [&](std::string_view word) {
    return text.size() - first >= word.size() &&
           std::equal(word.begin(), word.end(), text.begin() + static_cast<std::ptrdiff_t>(first),
                      [](char lower, char found) { return (found | 0x20) == lower; });
  };
  return begins("inf") || begins("nan");
}

bool reads_a_number(const FunctionRow& function) noexcept {
  return function.name == "int" || function.name == "double" || function.name == "round";
}

/// The notes of an evaluation about missing values. NoNotes costs nothing.
struct NoNotes {};
struct Notes {
  Missed missed;
  bool as_number = false;
  bool was_full = false;  // of the arena: an evaluation before this one has got no room
};

template <class Noted>
class Evaluator {
 public:
  Evaluator(const Program& program, Frame& frame, Noted& notes) noexcept
      : program_(program), frame_(frame), notes_(notes) {}

  Value eval(std::uint32_t index) const {
    const Node& node = program_.nodes.data()[index];
    switch (node.op) {
      case Op::constant:
        return node.constant;
      case Op::load:
        return load(node.slot);
      case Op::logical_and:
        return junction(node, false);
      case Op::logical_or:
        return junction(node, true);
      case Op::logical_not: {
        const Value x = child(node, 0);
        if (x.is(Type::boolean)) return Value::boolean(!x.as_boolean());
        return x.is_null() ? x : not_taken(node, 0, x);
      }
      case Op::negate: {
        const Value x = child(node, 0);
        const Value negative = negate(x);
        return negative.is_error() && !x.is(Type::integer) ? not_taken(node, 0, x) : negative;
      }
      case Op::conditional: {
        const Value condition = child(node, 0);
        if (condition.is(Type::boolean)) return child(node, condition.as_boolean() ? 1 : 2);
        return condition.is_null() ? condition : not_taken(node, 0, condition);
      }
      case Op::has:
        return has(node);
      case Op::equal:
        return equal_children(node);
      case Op::not_equal: {
        const Value equal = equal_children(node);
        return equal.is_error() ? equal : Value::boolean(!equal.as_boolean());
      }
      case Op::list:
        return list(node);
      case Op::call:
        return call(node);
      default:
        return binary(node);
    }
  }

 private:
  /// Most children are leaves, which need no call.
  [[gnu::always_inline]] Value child(const Node& node, std::uint32_t k) const {
    const std::uint32_t index = program_.arguments.data()[node.first + k];
    const Node& leaf = program_.nodes.data()[index];
    if (leaf.op == Op::constant) return leaf.constant;
    if (leaf.op == Op::load) return load(leaf.slot);
    return eval(index);
  }

  static constexpr bool kNotes = std::is_same_v<Noted, Notes>;

  [[gnu::always_inline]] Value load(SlotId slot) const {
    const Value value = frame_.load(slot);
    if constexpr (kNotes) {
      if (value.is_null() || value.is_error()) note(slot, frame_.why(slot));
    }
    return value;
  }

  void note(SlotId slot, MissReason why) const {
    Missed& missed = notes_.missed;
    missed.why = worse(missed.why, why);
    const bool of_request = is_unread(why) && frame_.slots()[slot].side == Side::request;
    if (!of_request || missed.part != SlotTable::kMax) return;
    missed.part = slot;
    missed.part_why = why;
  }

  /// The operand does not have a type that the node takes.
  Value not_taken(const Node& node, std::uint32_t k, const Value& x) const {
    if constexpr (kNotes) note_operand(node, k, x);
    return Value::error();
  }

  /// The operands do not go together.
  Value not_taken(const Node& node, const Value& a, const Value& b) const {
    if constexpr (kNotes) {
      if (!a.is_error() && !b.is_error()) {  // else noted where it came from
        note_operand(node, 0, a);
        note_operand(node, 1, b);
      }
    }
    return Value::error();
  }

  void note_operand(const Node& node, std::uint32_t k, const Value& x) const {
    if (x.is_error() || x.is_null()) return;  // noted where it came from
    notes_.missed.why = worse(notes_.missed.why, MissReason::failed);
    if (!x.is(Type::text)) {
      note_source(node, k, [](const Slot& slot) { return slot.needs_body; });
    } else if (takes_number(node) && may_be_number(x.as_text())) {
      note_source(node, k, [](const Slot& slot) { return slot.client_asserted; });
    }
  }

  bool takes_number(const Node& node) const {
    switch (node.op) {
      case Op::negate:
      case Op::add:
      case Op::subtract:
      case Op::multiply:
      case Op::divide:
      case Op::modulo:
        return notes_.as_number;
      case Op::call:
        return reads_a_number(*node.function);
      default:
        return false;
    }
  }

  /// The operand could not be read if a slot of such a kind made it.
  template <class Kind>
  void note_source(const Node& node, std::uint32_t k, Kind kind,
                   MissReason why = MissReason::unreadable) const {
    const SlotId slot = source(program_.arguments[node.first + k], kind);
    if (slot != SlotTable::kMax) note(slot, why);
  }

  template <class Kind>
  SlotId source(std::uint32_t index, Kind kind) const {
    const Node& node = program_.nodes[index];
    if (node.op == Op::load) return kind(frame_.slots()[node.slot]) ? node.slot : SlotTable::kMax;
    std::uint32_t first = 0, end = node.count;
    if (node.op == Op::conditional) {
      first = child(node, 0).is_true() ? 1 : 2;
      end = first + 1;
    }
    for (std::uint32_t k = first; k < end; ++k) {
      const SlotId found = source(program_.arguments[node.first + k], kind);
      if (found != SlotTable::kMax) return found;
    }
    return SlotTable::kMax;
  }

  /// The node fails although it takes its operands.
  Value failed() const {
    if constexpr (kNotes) notes_.missed.why = worse(notes_.missed.why, MissReason::failed);
    return Value::error();
  }

  /// The node fails for lack of memory. A client can cause that by long values, so the condition
  /// may not pass for one that does not hold.
  Value no_room(const Node& node) const {
    if constexpr (kNotes) {
      notes_.missed.why = worse(notes_.missed.why, MissReason::too_costly);
      const auto of_request = [](const Slot& slot) { return slot.side == Side::request; };
      for (std::uint32_t k = 0; k < node.count; ++k)
        note_source(node, k, of_request, MissReason::too_costly);
    }
    return Value::error();
  }

  Value equal_children(const Node& node) const {
    const Value a = child(node, 0), b = child(node, 1);
    if (a.is(Type::integer) && b.is(Type::integer)) {
      return Value::boolean(a.as_integer() == b.as_integer());
    }
    if (a.is(Type::text) && b.is(Type::text)) return Value::boolean(a.as_text() == b.as_text());
    const Value same = equals(frame_, a, b);
    return same.is_error() ? not_taken(node, a, b) : same;
  }

  /// && (decided by false) and || (decided by true).
  Value junction(const Node& node, bool decisive) const {
    [[maybe_unused]] const Noted before = notes_;
    bool fails = false, missing = false;
    for (std::uint32_t k = 0; k < node.count; ++k) {
      const Value x = child(node, k);
      if (x.is(Type::boolean)) {
        if (x.as_boolean() == decisive) {
          if constexpr (kNotes) notes_ = before;  // the others are outweighed
          return x;
        }
      } else if (x.is_null()) {
        missing = true;
      } else {
        fails = true;
        not_taken(node, k, x);
      }
    }
    if (fails) return Value::error();
    return missing ? Value::null() : Value::boolean(!decisive);
  }

  static Value negate(const Value& x) noexcept {
    if (x.is(Type::real)) return Value::real(-x.as_real());
    if (x.is_null()) return x;
    std::int64_t out = 0;
    if (!x.is(Type::integer) || __builtin_sub_overflow(std::int64_t{0}, x.as_integer(), &out)) {
      return Value::error();
    }
    return Value::integer(out);
  }

  /// A field whose expression fails is as missing as an absent field. A field that is present and
  /// unreadable is an error: its value is unknown.
  Value has(const Node& node) const {
    [[maybe_unused]] const Noted before = notes_;
    const Value x = child(node, 0);
    if (x.is_error()) {
      const Node& of = program_.nodes[program_.arguments[node.first]];
      if (of.op == Op::load && is_unread(frame_.why(of.slot))) return x;
    }
    if constexpr (kNotes) notes_ = before;
    return Value::boolean(!x.is_null() && !x.is_error());
  }

  Value list(const Node& node) const {
    char* const memory = frame_.arena().allocate(node.count * sizeof(Value));
    if (memory == nullptr) return no_room(node);
    Value* const items = reinterpret_cast<Value*>(memory);
    for (std::uint32_t k = 0; k < node.count; ++k) {
      const Value* const item = new (items + k) Value(child(node, k));
      if (item->is_error()) return Value::error();
    }
    return Value::list({items, node.count});
  }

  Value call(const Node& node) const {
    std::array<Value, kArgumentsMax> args;
    bool missing = false;
    const FunctionRow& function = *node.function;
    for (std::uint32_t k = 0; k < node.count; ++k) {
      args[k] = child(node, k);
      if (args[k].is_null())
        missing = true;
      else if (!accepts(function, k, args[k]))
        return not_taken(node, k, args[k]);
    }
    if (missing) return Value::null();
    const Value result = function.call({frame_, *node.payload, {args.data(), node.count}});
    if constexpr (kNotes) {
      if (result.is_error()) note_call(node, args[0]);
    }
    return result;
  }

  /// A function takes its arguments and fails.
  void note_call(const Node& node, const Value& x) const {
    if (notes_.was_full && takes_memory(*node.function)) return static_cast<void>(no_room(node));
    failed();
    if (!reads_a_number(*node.function)) return;
    if (x.is(Type::text) && !may_be_number(x.as_text())) return;
    note_source(node, 0, [](const Slot& slot) { return slot.client_asserted; });
  }

  /// A text that is no address, and a place that is none, fail by themselves.
  static bool takes_memory(const FunctionRow& function) noexcept {
    return function.result == Type::text || function.result == Type::address;
  }

  /// The check has seen to this where types are known; the rest is known only now. Arguments that
  /// are passed are the `value` parameters in order; of these the last may repeat.
  static bool accepts(const FunctionRow& function, std::uint32_t k, const Value& arg) noexcept {
    const Param* last = nullptr;
    for (const Param& param : function.params) {
      if (param.role != Param::Role::value) continue;
      last = &param;
      if (k-- == 0) break;
    }
    return last != nullptr && (last->types & set_of(arg.type())) != 0 && !arg.is_error();
  }

  Value binary(const Node& node) const {
    const Value a = child(node, 0), b = child(node, 1);
    if (a.is_error() || b.is_error()) return Value::error();
    if (a.is_null() || b.is_null()) return Value::null();
    const Value result = operate(node.op, a, b);
    if constexpr (kNotes) {
      if (!result.is_error()) return result;
      if (joins(node.op, a, b)) return no_room(node);
      return takes(node.op, a, b) ? failed() : not_taken(node, a, b);
    }
    return result;
  }

  Value operate(Op op, const Value& a, const Value& b) const {
    switch (op) {
      case Op::less:
      case Op::less_equal:
      case Op::greater:
      case Op::greater_equal:
        return compare(op, a, b);
      case Op::in:
        return member_of(a, b);
      case Op::index:
        return index(a, b);
      case Op::add:
        if (a.is(Type::text) && b.is(Type::text)) return concatenate(a.as_text(), b.as_text());
        if (a.is(Type::list) && b.is(Type::list)) return concatenate(a.as_list(), b.as_list());
        return arithmetic(op, a, b);
      default:
        return arithmetic(op, a, b);
    }
  }

  /// Whether an operator that fails on such operands takes their types.
  static bool takes(Op op, const Value& a, const Value& b) noexcept {
    if (op == Op::in) return false;
    if (op == Op::index) return a.is(Type::list) && b.is(Type::integer);
    return a.is(Type::integer) && b.is(Type::integer);
  }
  /// Two texts or lists, which go together if there is memory for the result.
  static bool joins(Op op, const Value& a, const Value& b) noexcept {
    return op == Op::add && a.type() == b.type() && (a.is(Type::text) || a.is(Type::list));
  }

  static Value compare(Op op, const Value& a, const Value& b) noexcept {
    std::partial_ordering order = std::partial_ordering::unordered;
    if (a.is_number() && b.is_number()) {
      order = a.as_number() <=> b.as_number();
    } else if (a.is(Type::text) && b.is(Type::text)) {
      order = a.as_text() <=> b.as_text();
    } else if (a.is(Type::boolean) && b.is(Type::boolean)) {
      order = a.as_boolean() <=> b.as_boolean();
    } else {
      return Value::error();
    }
    switch (op) {
      case Op::less:
        return Value::boolean(order < 0);
      case Op::less_equal:
        return Value::boolean(order <= 0);
      case Op::greater:
        return Value::boolean(order > 0);
      default:
        return Value::boolean(order >= 0);
    }
  }

  static Value arithmetic(Op op, const Value& a, const Value& b) noexcept {
    if (a.is(Type::real) && b.is(Type::real)) {
      const double x = a.as_real(), y = b.as_real();
      switch (op) {
        case Op::add:
          return Value::real(x + y);
        case Op::subtract:
          return Value::real(x - y);
        case Op::multiply:
          return Value::real(x * y);
        case Op::divide:
          return divide(x, y);
        default:
          return Value::error();
      }
    }
    if (!a.is(Type::integer) || !b.is(Type::integer)) return Value::error();
    const std::int64_t x = a.as_integer(), y = b.as_integer();
    std::int64_t out = 0;
    bool failed = false;
    switch (op) {
      case Op::add:
        failed = __builtin_add_overflow(x, y, &out);
        break;
      case Op::subtract:
        failed = __builtin_sub_overflow(x, y, &out);
        break;
      case Op::multiply:
        failed = __builtin_mul_overflow(x, y, &out);
        break;
      default:
        failed = y == 0 || (y == -1 && x == std::numeric_limits<std::int64_t>::min());
        if (!failed) out = op == Op::divide ? x / y : x % y;
    }
    return failed ? Value::error() : Value::integer(out);
  }

  /// IEEE 754 division, also by zero (on purpose: the sanitizer must not report it).
#if defined(__clang__)
  __attribute__((no_sanitize("float-divide-by-zero")))
#endif
  static Value
  divide(double x, double y) noexcept {
    return Value::real(x / y);
  }

  Value concatenate(std::string_view a, std::string_view b) const {
    if (a.size() + b.size() > kTextMax) return Value::error();
    char* const out = frame_.arena().allocate(a.size() + b.size());
    if (out == nullptr) return Value::error();
    if (!a.empty()) std::memcpy(out, a.data(), a.size());
    if (!b.empty()) std::memcpy(out + a.size(), b.data(), b.size());
    return Value::text({out, a.size() + b.size()});
  }

  Value concatenate(std::span<const Value> a, std::span<const Value> b) const {
    char* const memory = frame_.arena().allocate((a.size() + b.size()) * sizeof(Value));
    if (memory == nullptr) return Value::error();
    Value* const out = reinterpret_cast<Value*>(memory);
    std::uninitialized_copy(a.begin(), a.end(), out);
    std::uninitialized_copy(b.begin(), b.end(), out + a.size());
    return Value::list({out, a.size() + b.size()});
  }

  Value index(const Value& from, const Value& at) const {
    if (from.is(Type::list) && at.is(Type::integer)) {
      const auto items = from.as_list();
      const std::int64_t k = at.as_integer();
      if (k < 0 || static_cast<std::uint64_t>(k) >= items.size()) return Value::error();
      return items[static_cast<std::size_t>(k)];
    }
    if (from.is(Type::json) && at.is(Type::integer)) {
      return json_element(frame_.arena(), from.as_json(), at.as_integer()).value;
    }
    if (from.is(Type::json) && at.is(Type::text)) {
      return json_member(frame_.arena(), from.as_json(), at.as_text()).value;
    }
    return Value::error();
  }

  Value member_of(const Value& x, const Value& container) const {
    if (container.is(Type::list)) {
      bool failed = false;
      for (const Value& item : container.as_list()) {
        const Value same = equals(frame_, x, item);
        if (same.is_true()) return same;
        failed |= same.is_error();
      }
      return failed ? Value::error() : Value::boolean(false);
    }
    if (!container.is(Type::json)) return Value::error();
    if (!json_is_array(container.as_json())) {
      return x.is(Type::text) ? Value::boolean(json_has_name(container.as_json(), x.as_text()))
                              : Value::boolean(false);
    }
    struct Search {
      Frame& frame;
      const Value& wanted;
    } search{frame_, x};
    return Value::boolean(json_any(
        frame_.arena(), container.as_json(),
        [](void* context, const Value& element) {
          const Search& s = *static_cast<Search*>(context);
          return equals(s.frame, s.wanted, element).is_true();
        },
        &search));
  }

  const Program& program_;
  Frame& frame_;
  [[no_unique_address]] std::conditional_t<kNotes, Notes&, NoNotes> notes_;
};

}  // namespace

namespace {

/// An address equals every spelling of it: a text whose type is known only now is read.
bool spells(const Value& text, const Address& address) noexcept {
  if (!text.is(Type::text)) return false;
  const auto parsed = Address::parse(text.as_text());
  return parsed && *parsed == address;
}

}  // namespace

Value equals(Frame& frame, const Value& a, const Value& b) {
  if (a.is_error() || b.is_error()) return Value::error();
  if (a.is_number() && b.is_number()) return Value::boolean(a.as_number() == b.as_number());
  if (a.type() != b.type()) {
    if (a.is(Type::json) && b.is(Type::list)) return equals(frame, b, a);
    if (a.is(Type::address)) return Value::boolean(spells(b, a.as_address()));
    if (b.is(Type::address)) return Value::boolean(spells(a, b.as_address()));
    if (!a.is(Type::list) || !b.is(Type::json) || !json_is_array(b.as_json())) {
      return Value::boolean(false);
    }
    struct Walk {
      Frame& frame;
      std::span<const Value> items;
      std::size_t at = 0;
    } walk{frame, a.as_list()};
    const bool differs = json_any(
        frame.arena(), b.as_json(),
        [](void* context, const Value& element) {
          Walk& w = *static_cast<Walk*>(context);
          return w.at == w.items.size() || !equals(w.frame, w.items[w.at++], element).is_true();
        },
        &walk);
    return Value::boolean(!differs && walk.at == walk.items.size());
  }
  switch (a.type()) {
    case Type::null:
      return Value::boolean(true);
    case Type::boolean:
      return Value::boolean(a.as_boolean() == b.as_boolean());
    case Type::text:
      return Value::boolean(a.as_text() == b.as_text());
    case Type::address:
      return Value::boolean(a.as_address() == b.as_address());
    case Type::list: {
      const auto x = a.as_list(), y = b.as_list();
      if (x.size() != y.size()) return Value::boolean(false);
      bool failed = false;
      for (std::size_t k = 0; k < x.size(); ++k) {
        const Value same = equals(frame, x[k], y[k]);
        if (same.is_error())
          failed = true;
        else if (!same.as_boolean())
          return same;
      }
      return failed ? Value::error() : Value::boolean(true);
    }
    default:
      return Value::error();
  }
}

Value evaluate(const Program& program, Frame& frame) {
  NoNotes notes;
  return Evaluator<NoNotes>(program, frame, notes).eval(program.root);
}

Missed why_missed(const Program& program, Frame& frame, bool as_number) {
  Notes notes{{}, as_number, frame.arena().was_full()};
  const Value result = Evaluator<Notes>(program, frame, notes).eval(program.root);
  if (!result.is_null() && !result.is_error()) return {};
  Missed& missed = notes.missed;
  missed.why = worse(missed.why, result.is_error() ? MissReason::failed : MissReason::absent);
  // Of a field that is an expression, the part of the request. After the answer only the field may
  // be kept.
  if (missed.part != SlotTable::kMax && frame.slots()[missed.part].program) {
    const Missed inner = why_missed(*frame.slots()[missed.part].program, frame);
    if (inner.part != SlotTable::kMax) {
      missed.part = inner.part;
      missed.part_why = inner.part_why;
    }
  }
  return missed;
}

}  // namespace weir::policies::expr
