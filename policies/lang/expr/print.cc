#include <algorithm>

#include "policies/lang/expr/ast.h"
#include "policies/lang/expr/functions.h"
#include "policies/lang/expr/quote.h"

/// Canonical text: the same for expressions that differ only in blanks, quotes, synonyms or form.
namespace weir::policies::expr {
namespace {

constexpr std::uint8_t kOr = 1, kAnd = 2, kRelation = 3, kSum = 4, kProduct = 5, kUnary = 6,
                       kPrimary = 7;

std::string_view infix(Op op) noexcept {
  switch (op) {
    case Op::logical_and:
      return " && ";
    case Op::logical_or:
      return " || ";
    case Op::equal:
      return " == ";
    case Op::not_equal:
      return " != ";
    case Op::less:
      return " < ";
    case Op::less_equal:
      return " <= ";
    case Op::greater:
      return " > ";
    case Op::greater_equal:
      return " >= ";
    case Op::in:
      return " in ";
    case Op::add:
      return " + ";
    case Op::subtract:
      return " - ";
    case Op::multiply:
      return " * ";
    case Op::divide:
      return " / ";
    case Op::modulo:
      return " % ";
    default:
      return " ? ";
  }
}

std::string literal(const Value& value) {
  switch (value.type()) {
    case Type::text:
      return quoted(value.as_text());
    case Type::boolean:
      return value.as_boolean() ? "true" : "false";
    case Type::integer:
      return std::to_string(value.as_integer());
    case Type::real:
      return real_literal(value.as_real());
    case Type::address:
      return quoted(value.as_address().to_string());
    case Type::list: {
      std::string out = "[";
      for (const Value& item : value.as_list()) out += (out.size() > 1 ? ", " : "") + literal(item);
      return out + "]";
    }
    default:
      return "null";
  }
}

class Printer {
 public:
  explicit Printer(const SlotTable& slots) noexcept : slots_(slots) {}

  std::string at_least(const Ast& ast, std::uint8_t wanted) const {
    return precedence(ast, slots_) < wanted ? "(" + text(ast) + ")" : text(ast);
  }

  std::string text(const Ast& ast) const {
    const std::uint8_t own = precedence(ast, slots_);
    switch (ast.op) {
      case Op::constant:
        return literal(ast.constant);
      case Op::load:
        return slots_[ast.slot].text;
      case Op::logical_not:
        return "!" + at_least(*ast.children[0], kUnary);
      case Op::negate:
        return "-" + at_least(*ast.children[0], kUnary);
      case Op::conditional:
        return at_least(*ast.children[0], kOr) + " ? " + at_least(*ast.children[1], kOr) + " : " +
               text(*ast.children[2]);
      case Op::has:
        return "has(" + text(*ast.children[0]) + ")";
      case Op::index:
        return index(ast);
      case Op::list:
        return "[" + joined(ast.children.begin(), ast.children.end()) + "]";
      case Op::call:
        return call(ast);
      default:
        break;
    }
    std::string out;
    for (const AstPtr& child : ast.children) {
      if (!out.empty()) out += infix(ast.op);
      out += at_least(*child,
                      &child == &ast.children.front() ? own : static_cast<std::uint8_t>(own + 1));
    }
    return out;
  }

 private:
  std::string index(const Ast& ast) const {
    const Ast& key = *ast.children[1];
    const std::string from = at_least(*ast.children[0], kPrimary);
    if (key.op == Op::constant && key.constant.is(Type::text) &&
        is_identifier(key.constant.as_text())) {
      return from + "." + std::string(key.constant.as_text());
    }
    return from + "[" + text(key) + "]";
  }

  std::string call(const Ast& ast) const {
    const bool method = ast.function->method;
    const auto first = ast.children.begin();
    std::string out;
    if (method) out = at_least(**first, kPrimary) + ".";
    return out + std::string(ast.function->name) + "(" +
           joined(first + (method ? 1 : 0), ast.children.end()) + ")";
  }

  template <class Iterator>
  std::string joined(Iterator from, Iterator to) const {
    std::string out;
    for (Iterator it = from; it != to; ++it) out += (it == from ? "" : ", ") + text(**it);
    return out;
  }

  const SlotTable& slots_;
};

}  // namespace

std::uint8_t precedence(const Ast& ast, const SlotTable& slots) {
  switch (ast.op) {
    case Op::conditional:
      return 0;
    case Op::logical_or:
      return kOr;
    case Op::logical_and:
      return kAnd;
    case Op::equal:
    case Op::not_equal:
    case Op::less:
    case Op::less_equal:
    case Op::greater:
    case Op::greater_equal:
    case Op::in:
      return kRelation;
    case Op::add:
    case Op::subtract:
      return kSum;
    case Op::multiply:
    case Op::divide:
    case Op::modulo:
      return kProduct;
    case Op::logical_not:
    case Op::negate:
      return kUnary;
    case Op::constant: {
      const Value& value = ast.constant;
      const bool negative = (value.is(Type::integer) && value.as_integer() < 0) ||
                            (value.is(Type::real) && std::signbit(value.as_real()));
      return negative ? kUnary : kPrimary;
    }
    case Op::load:
      return slots[ast.slot].program ? slots[ast.slot].program->precedence : kPrimary;
    default:
      return kPrimary;
  }
}

std::string print(const Ast& ast, const SlotTable& slots) { return Printer(slots).text(ast); }

}  // namespace weir::policies::expr
