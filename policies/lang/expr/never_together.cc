#include "policies/lang/expr/never_together.h"

#include <algorithm>
#include <cmath>
#include <compare>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/number.h"
#include "policies/lang/expr/ast.h"
#include "policies/lang/expr/checker.h"
#include "policies/lang/expr/functions.h"
#include "policies/lang/extractors.h"

namespace weir::policies::expr {
namespace {

/// `subject op value`: one of the tests that `&&` joins, or a consequence of one.
struct Test {
  const Ast* at = nullptr;  ///< the whole test
  const Ast* subject = nullptr;
  Op op = Op::equal;          ///< or not_equal, less, less_equal, greater, greater_equal
  std::vector<Value> values;  ///< equal: it is one of them; not_equal: it is none of them
  /// NaN passes as well, which has no order: `!(x < 5)`, of a value that may be a double.
  bool or_unordered = false;
};

bool is_order(Op op) noexcept {
  return op == Op::less || op == Op::less_equal || op == Op::greater || op == Op::greater_equal;
}
/// `5 < x` is `x > 5`.
Op turned(Op op) noexcept {
  switch (op) {
    case Op::less:
      return Op::greater;
    case Op::less_equal:
      return Op::greater_equal;
    case Op::greater:
      return Op::less;
    case Op::greater_equal:
      return Op::less_equal;
    default:
      return op;
  }
}
Op contrary(Op op) noexcept {
  switch (op) {
    case Op::less:
      return Op::greater_equal;
    case Op::less_equal:
      return Op::greater;
    case Op::greater:
      return Op::less_equal;
    case Op::greater_equal:
      return Op::less;
    case Op::equal:
      return Op::not_equal;
    default:
      return Op::equal;
  }
}

/// Whether it gives the same value each time that one event is judged.
bool is_stable(const Ast& node) {
  if (node.op == Op::call && !node.function->pure) return false;
  return std::all_of(node.children.begin(), node.children.end(),
                     [](const AstPtr& child) { return is_stable(*child); });
}

std::optional<Test> comparison(const Ast& node, bool negated) {
  const Ast *subject = node.children[0].get(), *literal = node.children[1].get();
  Op op = node.op;
  if (subject->op == Op::constant) {
    std::swap(subject, literal);
    op = turned(op);
  }
  if (literal->op != Op::constant || subject->op == Op::constant || !is_stable(*subject)) return {};
  const Value& value = literal->constant;
  if (value.is(Type::list) || value.is_error()) return {};
  // A missing value, or one of another type, fails `x < 5` and `!(x < 5)`.
  const bool ordered = subject->type == Type::integer || subject->type == Type::text;
  return Test{
      &node, subject, negated ? contrary(op) : op, {value}, negated && is_order(op) && !ordered};
}

/// None: the node is not analysed.
std::optional<Test> read_test(const Ast& node, bool negated) {
  switch (node.op) {
    case Op::logical_not:
      return read_test(*node.children[0], !negated);
    case Op::equal:
    case Op::not_equal:
    case Op::less:
    case Op::less_equal:
    case Op::greater:
    case Op::greater_equal:
      return comparison(node, negated);
    case Op::in: {
      const Ast &subject = *node.children[0], &list = *node.children[1];
      if (list.op != Op::constant || !list.constant.is(Type::list) || !is_stable(subject) ||
          subject.op == Op::constant)
        return {};
      Test out{&node, &subject, negated ? Op::not_equal : Op::equal, {}, false};
      for (const Value& item : list.constant.as_list()) {
        if (!item.is_null()) out.values.push_back(item);  // `in` does not find a missing value
      }
      return out;
    }
    case Op::load:
    case Op::has:
    case Op::call:
    case Op::select:
    case Op::index:
      if (!is_stable(node)) return {};
      return Test{&node, &node, Op::equal, {Value::boolean(!negated)}, false};
    default:
      return {};
  }
}

/// The kind of a value whose differences are known at load. An address equals the texts that spell
/// it, and a list the JSON that has its elements: they have no kind.
int kind_of(const Value& value) noexcept {
  switch (value.type()) {
    case Type::null:
      return 1;
    case Type::boolean:
      return 2;
    case Type::integer:
    case Type::real:
      return 3;
    case Type::text:
      return 4;
    default:
      return 0;
  }
}
bool is_same(const Value& a, const Value& b) {
  if (a.is_number() && b.is_number()) return a.as_number() == b.as_number();
  if (a.type() != b.type()) return false;
  if (a.is(Type::text)) return a.as_text() == b.as_text();
  if (a.is(Type::boolean)) return a.as_boolean() == b.as_boolean();
  if (a.is(Type::address)) return a.as_address() == b.as_address();
  return a.is_null();
}
/// Whether no value equals both.
bool is_apart(const Value& a, const Value& b) {
  if (a.type() == b.type() && !a.is(Type::list) && !a.is(Type::json)) return !is_same(a, b);
  const int one = kind_of(a), other = kind_of(b);
  return one != 0 && other != 0 && (one != other || !is_same(a, b));
}
/// False: a value equal to `value` fails `op bound`, or there is no such order.
bool may_pass(const Value& value, Op op, const Value& bound) {
  std::partial_ordering order = std::partial_ordering::unordered;
  if (value.is_number() && bound.is_number()) {
    order = value.as_number() <=> bound.as_number();
  } else if (value.is(Type::text) && bound.is(Type::text)) {
    order = value.as_text() <=> bound.as_text();
  } else {
    const int one = kind_of(value), other = kind_of(bound);
    return one == 0 || other == 0 || (one == other && !value.is_null());
  }
  return op == Op::less            ? order < 0
         : op == Op::less_equal    ? order <= 0
         : op == Op::greater       ? order > 0
         : op == Op::greater_equal ? order >= 0
                                   : true;
}

/// The values that something can have, narrower than its type.
struct Range {
  std::optional<std::int64_t> least, most;
  std::string_view why;  ///< empty: there is none
};

Range range_of(const Ast& subject, const SlotTable& slots) {
  if (subject.op == Op::load) {
    const Slot& slot = slots[subject.slot];
    if (slot.extractor != nullptr && slot.extractor->name == "status")
      return {100, 599, "a status is between 100 and 599"};
  }
  if (subject.op == Op::call && subject.function != nullptr) {
    if (subject.function->name == "hour") return {0, 23, "an hour is between 0 and 23"};
    if (subject.function->name == "weekday")
      return {0, 6, "a day of the week is between 0, for Sunday, and 6"};
    if (subject.function->name == "size") return {0, {}, "a size is at least 0"};
  }
  return {};
}

/// The tightest bounds of one kind, numbers or texts.
template <class T>
struct Bounds {
  std::optional<T> low, high;
  bool low_open = false, high_open = false;  ///< the bound itself is left out

  void add(Op op, T bound) {
    const bool open = op == Op::less || op == Op::greater;
    if (op == Op::greater || op == Op::greater_equal) {
      if (!low || *low < bound || (!(bound < *low) && open)) low = bound, low_open = open;
    } else if (!high || bound < *high || (!(*high < bound) && open)) {
      high = bound, high_open = open;
    }
  }
  /// The one value that is left.
  std::optional<T> only() const {
    return low && high && *low == *high && !low_open && !high_open ? low : std::nullopt;
  }
  bool is_empty() const {
    if (!low || !high) return false;
    return *high < *low || (!(*low < *high) && (low_open || high_open));
  }
};

/// The first integer that is not below the bound, or the last that is not above; none: there is no
/// such bound among them.
std::optional<std::int64_t> whole(const std::optional<Number>& bound, bool open, bool low) {
  constexpr double kMost = kExactInteger;  // from there on doubles are even
  if (!bound) return std::nullopt;
  if (bound->is_real()) {
    const double real = bound->as_real();
    if (!(std::abs(real) < kMost)) return std::nullopt;
    const double edge = low ? std::ceil(real) : std::floor(real);
    const auto out = static_cast<std::int64_t>(edge);
    return open && edge == real ? out + (low ? 1 : -1) : out;
  }
  const std::int64_t out = bound->integer();
  if (!open || out == (low ? std::numeric_limits<std::int64_t>::max()
                           : std::numeric_limits<std::int64_t>::min()))
    return out;
  return out + (low ? 1 : -1);
}

class Values {
 public:
  /// The values of one subject that pass all of these tests. `range`: its range if it is a number.
  Values(const std::vector<const Test*>& tests, const Range& range) : tests_(tests) {
    int kind = 0;
    const bool no_nan = std::any_of(tests_.begin(), tests_.end(), [](const Test* test) {
      return is_order(test->op) && !test->or_unordered;
    });
    for (const Test* test : tests_) {
      if (!is_order(test->op)) continue;
      const Value& value = test->values.front();
      mixed_ = mixed_ || (kind != 0 && kind != kind_of(value));
      kind = kind_of(value);
      if (test->or_unordered && !no_nan) continue;
      if (value.is_number()) numbers_.add(test->op, value.as_number());
      if (value.is(Type::text)) texts_.add(test->op, value.as_text());
    }
    if (texts_.high) texts_.add(Op::greater_equal, std::string_view());
    const bool ordered = numbers_.low || numbers_.high;
    if (ordered && range.least) numbers_.add(Op::greater_equal, Number{*range.least});
    if (ordered && range.most) numbers_.add(Op::less_equal, Number{*range.most});
  }

  bool are_none() const {
    bool chosen = false;
    for (const Test* test : tests_) {
      if (test->op != Op::equal) continue;
      chosen = true;
      if (std::any_of(test->values.begin(), test->values.end(),
                      [&](const Value& value) { return passes_all(value); }))
        return false;
    }
    if (chosen) return true;
    const auto number = numbers_.only();
    const auto text = texts_.only();
    return mixed_ || numbers_.is_empty() || texts_.is_empty() || are_no_integers() ||
           (number && !passes_all(Value::number(*number))) ||
           (text && !passes_all(Value::text(*text)));
  }

 private:
  bool passes_all(const Value& value) const {
    return std::all_of(tests_.begin(), tests_.end(), [&](const Test* test) {
      if (is_order(test->op)) return may_pass(value, test->op, test->values.front());
      if (test->op == Op::equal) {
        return std::any_of(test->values.begin(), test->values.end(),
                           [&](const Value& other) { return !is_apart(value, other); });
      }
      return std::none_of(test->values.begin(), test->values.end(),
                          [&](const Value& other) { return is_same(value, other); });
    });
  }

  /// Whether the subject is an integer for certain and no integer passes.
  bool are_no_integers() const {
    constexpr std::int64_t kLookedAt = 64;
    if (tests_.front()->subject->type != Type::integer) return false;
    const auto first = whole(numbers_.low, numbers_.low_open, true);
    const auto last = whole(numbers_.high, numbers_.high_open, false);
    if (!first || !last) return false;
    if (*first > *last) return true;
    if (static_cast<std::uint64_t>(*last) - static_cast<std::uint64_t>(*first) > kLookedAt)
      return false;
    for (std::int64_t n = *first; n <= *last; ++n) {
      if (passes_all(Value::integer(n))) return false;
    }
    return true;
  }

  const std::vector<const Test*>& tests_;
  Bounds<Number> numbers_;
  Bounds<std::string_view> texts_;
  bool mixed_ = false;  // compared by order with numbers and with texts
};

class Chain {
 public:
  explicit Chain(Checker& checker) : checker_(checker) {}

  void add(const Ast& node) {
    if (node.op == Op::logical_and) {
      for (const AstPtr& child : node.children) add(*child);
      return;
    }
    auto test = read_test(node, false);
    if (!test) return;
    test->at = &node;
    by_subject_[print(*test->subject, checker_.scope.slots())].push_back(std::move(*test));
  }

  /// True: it has warned.
  bool warn() const {
    for (const auto& [subject, tests] : by_subject_) {
      if (warn_of(tests)) return true;
    }
    return false;
  }

 private:
  bool warn_of(const std::vector<Test>& tests) const {
    const Range range = range_of(*tests.front().subject, checker_.scope.slots());
    const auto none = [&](std::vector<const Test*> of) { return Values(of, range).are_none(); };
    for (const Test& test : tests) {
      if (!none({&test})) continue;
      if (!is_order(test.op))
        return true;  // an empty list, or an impossible value: another check warns
      const bool before_all = test.values.front().is(Type::text);
      say(test, test,
          checker_.source(*test.at) + " never holds: " +
              std::string(before_all ? "no text comes before the empty one" : range.why),
          {});
      return true;
    }
    std::vector<const Test*> before;
    for (const Test& test : tests) {
      before.push_back(&test);
      if (!none(before)) continue;
      for (const Test& other : tests) {
        if (&other == &test) break;
        if (!none({&other, &test})) continue;
        say(test, test,
            checker_.source(*other.at) + " and " + checker_.source(*test.at) +
                " never hold together",
            hint_of(other, test));
        return true;
      }
      std::string all;
      for (const Test* one : before) all += (all.empty() ? "" : ", ") + checker_.source(*one->at);
      say(tests.front(), test,
          "no value of " + checker_.source(*test.subject) + " passes all of these tests: " + all,
          "leave one of them out, or join them by or");
      return true;
    }
    return false;
  }

  std::string hint_of(const Test& a, const Test& b) const {
    const auto is_one = [](const Test& test) {
      return test.at->op == Op::equal && test.op == Op::equal &&
             (test.at->children[0]->op == Op::constant) !=
                 (test.at->children[1]->op == Op::constant);
    };
    if (!is_one(a) || !is_one(b)) return "join them by or, if either is enough";
    const auto literal = [this](const Test& test) {
      const auto& sides = test.at->children;
      return checker_.source(*sides[sides[0]->op == Op::constant ? 0 : 1]);
    };
    return "write " + checker_.source(*a.subject) + " in [" + literal(a) + ", " + literal(b) +
           "], if either is enough";
  }

  void say(const Test& from, const Test& to, std::string message, std::string hint) const {
    checker_.diagnostics.warning(from.at->begin, to.at->end, std::move(message), std::move(hint));
  }

  Checker& checker_;
  std::map<std::string, std::vector<Test>> by_subject_;
};

/// `inside`: it belongs to a chain that is looked at as a whole.
void look(Checker& checker, const Ast& node, bool inside) {
  const bool begins = !inside && node.type == Type::boolean && node.op != Op::constant;
  bool told = false;
  if (begins) {
    Chain chain(checker);
    chain.add(node);
    told = chain.warn();
  }
  if (told && node.op != Op::logical_and) return;
  for (const AstPtr& child : node.children)
    look(checker, *child, node.op == Op::logical_and && (begins || inside));
}

}  // namespace

void warn_never_together(Checker& checker, const Ast& root) { look(checker, root, false); }

}  // namespace weir::policies::expr
