#include "policies/lang/expr/check.h"

#include <algorithm>
#include <cmath>

#include "policies/lang/expr/access.h"
#include "policies/lang/expr/call_check.h"
#include "policies/lang/expr/checker.h"
#include "policies/lang/expr/dashed_name.h"
#include "policies/lang/expr/functions.h"
#include "policies/lang/expr/never_equal.h"
#include "policies/lang/expr/never_together.h"
#include "policies/lang/expr/quote.h"
#include "policies/lang/expr/same_sides.h"
#include "policies/lang/expr/time_hint.h"
#include "policies/lang/frame.h"

namespace weir::policies::expr {
namespace {

bool is_known(const Ast& a) noexcept { return a.type != Type::dyn && a.type != Type::null; }
bool is_numeric(Type type) noexcept { return type == Type::integer || type == Type::real; }
bool is_logical(const Ast& a) noexcept { return a.type == Type::boolean || !is_known(a); }
bool is_text_literal(const Ast& a) noexcept {
  return a.op == Op::constant && a.constant.is(Type::text);
}

std::string_view mark(Op op) noexcept {
  switch (op) {
    case Op::equal:
      return "==";
    case Op::not_equal:
      return "!=";
    case Op::less:
      return "<";
    case Op::less_equal:
      return "<=";
    case Op::greater:
      return ">";
    case Op::greater_equal:
      return ">=";
    case Op::add:
      return "+";
    case Op::subtract:
      return "-";
    case Op::multiply:
      return "*";
    case Op::divide:
      return "/";
    case Op::modulo:
      return "%";
    case Op::logical_and:
      return "&&";
    case Op::logical_or:
      return "||";
    default:
      return "in";
  }
}

}  // namespace

bool Checker::fail(const Ast& at, std::string message, std::string hint) {
  diagnostics.error(at.begin, at.end, std::move(message), std::move(hint));
  return false;
}

std::string Checker::source(const Ast& at) const {
  return diagnostics.text().substr(at.begin, at.end - at.begin);
}

bool Checker::check_children(Ast& node) {
  bool ok = true;
  for (AstPtr& child : node.children) ok = check(child) && ok;
  return ok;
}

bool Checker::check(AstPtr& ptr) {
  Ast& node = *ptr;
  switch (node.op) {
    case Op::constant:
      node.type = node.constant.type();
      node.fixed = true;
      return true;
    case Op::name:
    case Op::select:
    case Op::index:
      return check_access(*this, ptr) && finish(*ptr);
    case Op::call:
      return check_call(*this, ptr) && finish(*ptr);
    case Op::subtract:
      if (const auto dashed = dashed_name(*this, node)) {
        diagnostics.error(dashed->begin, dashed->end,
                          "this is a subtraction: a name has no \"-\" in it", dashed->hint);
        return false;
      }
      break;
    default:
      break;
  }
  if (!check_children(node)) return false;
  switch (node.op) {
    case Op::logical_and:
    case Op::logical_or:
      return logical(node) && finish(node);
    case Op::logical_not:
      return negation(node) && finish(node);
    case Op::negate:
      return minus(node) && finish(node);
    case Op::conditional:
      return conditional(node) && finish(node);
    case Op::equal:
    case Op::not_equal:
      return equality(node) && finish(node);
    case Op::less:
    case Op::less_equal:
    case Op::greater:
    case Op::greater_equal:
      return ordering(node) && finish(node);
    case Op::in:
      return membership(node) && finish(node);
    case Op::list:
      node.type = Type::list;
      return finish(node);
    default:
      return arithmetic(node) && finish(node);
  }
}

bool Checker::logical(Ast& node) {
  node.type = Type::boolean;
  bool ok = true;
  for (const AstPtr& child : node.children) {
    if (is_logical(*child)) continue;
    ok = fail(*child, std::string(mark(node.op)) + " needs conditions, and this is " +
                          std::string(type_name(child->type)));
  }
  if (ok) warn_decided(*this, node);
  return ok;
}

bool Checker::negation(Ast& node) {
  const Ast& x = *node.children[0];
  node.type = Type::boolean;
  if (is_logical(x)) return true;
  return fail(
      x,
      std::string(node.word ? "not" : "!") + " needs a condition, and this is " +
          std::string(type_name(x.type)),
      node.word ? "not binds tightly: write not (a == b)" : "! binds tightly: write !(a == b)");
}

bool Checker::minus(Ast& node) {
  const Ast& x = *node.children[0];
  node.type = x.type;
  if (is_numeric(x.type) || !is_known(x)) return true;
  return fail(x, "- needs a number, and this is " + std::string(type_name(x.type)));
}

bool Checker::conditional(Ast& node) {
  const Ast &condition = *node.children[0], &yes = *node.children[1], &no = *node.children[2];
  if (!is_logical(condition)) {
    return fail(condition,
                "? needs a condition, and this is " + std::string(type_name(condition.type)));
  }
  node.type = yes.type == Type::null ? no.type : yes.type;
  if (!is_known(yes) || !is_known(no) || yes.type == no.type) {
    if (yes.type == Type::dyn || no.type == Type::dyn) node.type = Type::dyn;
    return true;
  }
  return fail(node,
              "both results of ? : must have one type, not " + std::string(type_name(yes.type)) +
                  " and " + std::string(type_name(no.type)),
              conversion_hint(yes, no));
}

std::string Checker::conversion_hint(const Ast& a, const Ast& b) const {
  const auto is_time = [this](const Ast& x) {
    if (x.op != Op::load) return false;
    const Slot& slot = scope.slots()[x.slot];
    return slot.extractor != nullptr && slot.extractor->name == "time";
  };
  const auto about = [this, &is_time](const Ast& x, const Ast& y) -> std::string {
    if (is_text_literal(y) && is_time(x)) return time_hint(y.constant.as_text());
    if (x.type == Type::address && y.type == Type::text) return "write address(" + source(y) + ")";
    if (x.type == Type::integer && y.type == Type::real) {
      return x.op == Op::constant ? "write " + source(x) + ".0" : "write double(" + source(x) + ")";
    }
    if (is_numeric(x.type) && y.type == Type::text) {
      if (is_text_literal(y) && !y.constant.as_text().empty() &&
          y.constant.as_text().find_first_not_of("0123456789") == std::string_view::npos) {
        return "write " + std::string(y.constant.as_text()) + " without quotes";
      }
      if (y.op != Op::constant) {
        return "write " + std::string(x.type == Type::real ? "double(" : "int(") + source(y) + ")";
      }
      return "write string(" + source(x) + ")";
    }
    if (x.type == Type::boolean && y.type == Type::text) return "write bool(" + source(y) + ")";
    return {};
  };
  const std::string hint = about(a, b);
  return hint.empty() ? about(b, a) : hint;
}

/// A literal beside an address is an address. False (and reported) if it is none.
bool Checker::to_address(const Ast& address, Ast& literal) {
  if (address.type != Type::address || !is_text_literal(literal)) return true;
  const std::string text(literal.constant.as_text());
  const auto parsed = Address::parse(text);
  if (!parsed) {
    const bool network = Cidr::parse(text).has_value();
    return fail(literal, quoted(text) + " is not an IP address",
                network ? "for a network write " + source(address) + ".cidr(" + quoted(text) + ")"
                        : std::string());
  }
  literal.constant = pool->keep(*parsed);
  literal.type = Type::address;
  return true;
}

bool Checker::comparable(const Ast& node, const Ast& a, const Ast& b) {
  if (!is_known(a) || !is_known(b) || a.type == b.type) return true;
  if (is_numeric(a.type) && is_numeric(b.type)) return true;
  if (a.type == Type::list && b.type == Type::json) return true;
  return fail(node,
              "cannot compare " + std::string(type_name(a.type)) + " with " +
                  std::string(type_name(b.type)),
              conversion_hint(a, b));
}

/// a / b > 0.5 with integers compares 0 or 1 with a half: surely a mistake.
bool Checker::fraction(const Ast& a, const Ast& b) {
  const auto is_fraction = [](const Ast& x) {
    return x.op == Op::constant && x.constant.is(Type::real) &&
           std::trunc(x.constant.as_real()) != x.constant.as_real();
  };
  const Ast* quotient = is_fraction(b) ? &a : is_fraction(a) ? &b : nullptr;
  if (quotient == nullptr) return true;
  const std::string hint = "write double(a) / double(b)";
  if (quotient->quotient) {
    return fail(*quotient, "a quotient of integers is an integer and has no fraction to compare",
                hint);
  }
  if (quotient->op == Op::divide && quotient->type == Type::dyn) {
    diagnostics.warning(quotient->begin, quotient->end,
                        "if these are integers, their quotient is one too and has no fraction",
                        hint);
  }
  return true;
}

bool Checker::equality(Ast& node) {
  Ast &a = *node.children[0], &b = *node.children[1];
  node.type = Type::boolean;
  if (!to_address(a, b) || !to_address(b, a) || !comparable(node, a, b) || !fraction(a, b))
    return false;
  const bool negated = node.op == Op::not_equal;
  warn_never_equal(*this, a, b, negated);
  warn_never_equal(*this, b, a, negated);
  warn_same_sides(*this, node);
  return true;
}

bool Checker::ordering(Ast& node) {
  const Ast &a = *node.children[0], &b = *node.children[1];
  node.type = Type::boolean;
  for (const Ast* x : {&a, &b}) {
    if (x->type == Type::address || x->type == Type::list) {
      return fail(*x, std::string(type_name(x->type)) + " has no order",
                  x->type == Type::address
                      ? "write " + source(*x) + ".cidr(\"10.0.0.0/8\") for a network"
                      : "");
    }
  }
  if (!comparable(node, a, b) || !fraction(a, b)) return false;
  warn_same_sides(*this, node);
  return true;
}

bool Checker::membership(Ast& node) {
  Ast &x = *node.children[0], &list = *node.children[1];
  node.type = Type::boolean;
  if (is_known(list) && list.type != Type::list && list.type != Type::json) {
    return fail(list, "in needs a list, and this is " + std::string(type_name(list.type)),
                list.type != Type::text   ? std::string()
                : x.type == Type::address ? "write " + source(x) + ".cidr(" + source(list) + ")"
                : is_text_literal(list) && x.op != Op::constant
                    ? "write " + source(x) + " == " + source(list) + ", " + source(x) + " in [" +
                          source(list) + ", ...] or " + source(x) + ".contains(" + source(list) +
                          ")"
                    : "write " + source(list) + ".contains(" + source(x) + ")");
  }
  if (x.op == Op::logical_not && x.word && !x.grouped) {
    return fail(x, "not binds tighter than in", "write not (x in [...])");
  }
  if (!(list.op == Op::constant ? constant_list(x, list) : element_types(x, list))) return false;
  warn_never_equal(*this, x, list);
  return true;
}

bool Checker::element_types(const Ast& x, Ast& list) {
  bool ok = true;
  if (list.op != Op::list) return ok;
  for (const AstPtr& item : list.children) {
    ok = to_address(x, *item) && comparable(*item, x, *item) && ok;
  }
  return ok;
}

/// The list was folded before the type of its left operand was known.
bool Checker::constant_list(const Ast& x, Ast& list) {
  if (!list.constant.is(Type::list)) return true;
  std::vector<Value> items(list.constant.as_list().begin(), list.constant.as_list().end());
  for (Value& item : items) {
    Ast literal;
    literal.begin = list.begin, literal.end = list.end;
    literal.constant = item;
    literal.type = item.type();
    if (!to_address(x, literal) || !comparable(list, x, literal)) return false;
    item = literal.constant;
  }
  if (x.type == Type::address) list.constant = pool->keep(std::move(items));
  return true;
}

bool Checker::arithmetic(Ast& node) {
  const Ast &a = *node.children[0], &b = *node.children[1];
  const std::string name(mark(node.op));
  for (const Ast* x : {&a, &b}) {
    const bool joinable = node.op == Op::add && (x->type == Type::text || x->type == Type::list);
    if (is_numeric(x->type) || joinable || !is_known(*x)) continue;
    return fail(*x, name + " does not take " + std::string(type_name(x->type)),
                x->type == Type::address ? "write string(" + source(*x) + ")" : "");
  }
  node.type = is_known(a) ? a.type : b.type;
  if (a.type == Type::dyn && b.type == Type::dyn) node.type = Type::dyn;
  if (is_known(a) && is_known(b) && a.type != b.type) {
    return fail(node,
                name + " does not mix " + std::string(type_name(a.type)) + " and " +
                    std::string(type_name(b.type)),
                conversion_hint(a, b));
  }
  if (node.op == Op::modulo && node.type == Type::real) return fail(node, "% takes integers only");
  const auto counted = [](const Ast& x) {
    return x.type == Type::integer || (x.op == Op::load && x.varies && x.type == Type::dyn);
  };
  node.quotient = node.op == Op::divide && (counted(a) || counted(b));
  return true;
}

/// Folds constant expressions, and passes up the properties of the children.
bool Checker::finish(Ast& node) {
  if (node.op == Op::load) return true;
  const bool pure = node.op != Op::call || node.function->pure;
  node.fixed = pure && node.op != Op::constant;
  for (const AstPtr& child : node.children) {
    node.fixed &= child->fixed;
    node.varies |= child->varies;
    node.reads_json |= child->reads_json;
    if (child->side == Side::answer) node.side = Side::answer;
  }
  if (node.op == Op::constant) node.fixed = true;
  if (node.fixed && node.op != Op::constant) fold(node);
  return true;
}

void Checker::fold(Ast& node) {
  if (!folding) {
    folding = std::make_unique<Frame>();
  }
  const auto program = emit(node, scope.slots(), pool);
  Frame& frame = *folding;
  frame.begin(scope.slots(), kNoRequest, nullptr);
  const Value value = evaluate(*program, frame);
  if (value.is_error()) {
    diagnostics.warning(node.begin, node.end, "this always fails",
                        "an overflow, a division by zero or a conversion that cannot work");
    node.fixed = false;  // reported once
    return;
  }
  if (value.is(Type::real) && !std::isfinite(value.as_real())) return;  // has no literal
  if (value.is(Type::text)) {
    node.constant = pool->keep(std::string(value.as_text()));
  } else if (value.is(Type::list)) {
    node.constant = pool->keep(std::vector<Value>(value.as_list().begin(), value.as_list().end()));
  } else if (value.is(Type::address)) {
    node.constant = pool->keep(value.as_address());
  } else {
    node.constant = value;
  }
  node.op = Op::constant;
  node.type = value.type();
  node.children.clear();
}

bool check(AstPtr& root, ExprScope& scope, const std::shared_ptr<Pool>& pool,
           Diagnostics& diagnostics) {
  Checker checker{scope, pool, diagnostics, nullptr};
  if (!checker.check(root)) return false;
  warn_never_together(checker, *root);
  return true;
}

}  // namespace weir::policies::expr
