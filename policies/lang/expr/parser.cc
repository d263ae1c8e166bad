#include "policies/lang/expr/parser.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <utility>

#include "core/chars/ascii.h"
#include "policies/lang/expr/expression.h"
#include "policies/lang/expr/quote.h"

namespace weir::policies::expr {
namespace {

/// Recursive descent; every method gives null after a problem, and callers pass that up.
class Parser {
 public:
  Parser(const std::vector<Token>& tokens, Pool& pool, Diagnostics& diagnostics) noexcept
      : tokens_(tokens), pool_(pool), diagnostics_(diagnostics) {}

  AstPtr run() {
    if (at().kind == Token::Kind::end) return fail("an expression is missing");
    AstPtr ast = expression();
    if (ast && at().kind != Token::Kind::end) return unexpected("an operator or the end");
    return ast;
  }

 private:
  const Token& at() const noexcept { return tokens_[index_]; }
  const Token& take() noexcept { return tokens_[index_ + 1 < tokens_.size() ? index_++ : index_]; }
  bool accept(std::string_view mark) noexcept {
    if (!at().is(mark)) return false;
    take();
    return true;
  }

  AstPtr fail(std::string message, std::string hint = {}) {
    const Token& token = at();
    diagnostics_.error(token.begin, std::max(token.end, token.begin + 1), std::move(message),
                       std::move(hint));
    return nullptr;
  }

  AstPtr unexpected(std::string_view wanted) {
    const Token& token = at();
    if (token.kind == Token::Kind::end) {
      return fail("the expression ends where " + std::string(wanted) + " is expected");
    }
    const std::string found = diagnostics_.text().substr(token.begin, token.end - token.begin);
    return fail("unexpected " + (found.front() == '"' ? found : "\"" + found + "\"") +
                    ": expected " + std::string(wanted),
                hint_of(token));
  }

  /// The words are in small letters: `a AND b` ends at AND, `NOT a` at a.
  std::string hint_of(const Token& token) const {
    if (std::string hint = infix_hint(token); !hint.empty()) return hint;
    const Token* before = index_ > 0 ? &tokens_[index_ - 1] : nullptr;
    for (const Token* each : {&token, before}) {
      if (each == nullptr || each->kind != Token::Kind::name) continue;
      const std::string low = ascii::lowered(each->text);
      if (low == each->text) continue;
      if (low == "and") return "write and, or &&";
      if (low == "or") return "write or, or ||";
      if (low == "not") return "write not, or !";
      if (low == "in") return "write in";
    }
    return {};
  }

  /// The token so far from here; past the end: the last one.
  const Token& ahead(std::size_t far) const {
    return tokens_[std::min(index_ + far, tokens_.size() - 1)];
  }
  std::string text_of(const Token& token) const {
    return token.kind == Token::Kind::text
               ? quoted(token.text)
               : diagnostics_.text().substr(token.begin, token.end - token.begin);
  }

  /// `path LIKE "/a%"`, `path contains "a"`, `x not in y`: words that are infix operators in
  /// other languages.
  std::string infix_hint(const Token& token) const {
    if (index_ == 0 || token.kind != Token::Kind::name) return {};
    const Token& first = tokens_[0];
    if (first.kind == Token::Kind::name && first.text == "if" && index_ == 1)
      return "write condition ? a : b";
    if (operand_end_ != tokens_[index_ - 1].end) return {};  // no operand precedes it
    const std::string left =
        diagnostics_.text().substr(operand_begin_, operand_end_ - operand_begin_);
    const std::string word = ascii::lowered(token.text);
    const std::string next = ascii::lowered(ahead(1).text);
    const std::string before = ascii::lowered(left);
    if (ahead(1).is("(") || before == "not" || before == "and" || before == "or") return {};
    if (word == "not") {
      return next == "in" ? "write not (" + left + " in [...])"
                          : "write not before the test: not " + left + ".contains(\"...\")";
    }
    if (word == "is" || word == "equals" || word == "eq") {
      const bool negated = next == "not";
      return "write " + left + (negated ? " != " : " == ") + text_of(ahead(negated ? 2 : 1));
    }
    constexpr std::pair<std::string_view, std::string_view> kCompared[] = {
        {"ne", "!="},  {"neq", "!="}, {"gt", ">"},  {"ge", ">="},
        {"gte", ">="}, {"lt", "<"},   {"le", "<="}, {"lte", "<="}};
    for (const auto& [theirs, ours] : kCompared) {
      if (word == theirs)
        return "write " + left + " " + std::string(ours) + " " + text_of(ahead(1));
    }
    if (word == "between" && next.empty()) {
      return "write " + left + " >= " + text_of(ahead(1)) + " and " + left +
             " <= " + text_of(ahead(3));
    }
    return function_hint(left, word, next);
  }

  std::string function_hint(const std::string& left, const std::string& word,
                            const std::string& next) const {
    constexpr std::pair<std::string_view, std::string_view> kFunctions[] = {
        {"contains", "contains"}, {"includes", "contains"},      {"has", "contains"},
        {"like", "contains"},     {"ilike", "contains"},         {"startswith", "startsWith"},
        {"starts", "startsWith"}, {"endswith", "endsWith"},      {"ends", "endsWith"},
        {"matches", "matches"},   {"regex", "matches"},          {"regexp", "matches"},
        {"rlike", "matches"},     {"starts_with", "startsWith"}, {"ends_with", "endsWith"}};
    const auto* const found = std::find_if(std::begin(kFunctions), std::end(kFunctions),
                                           [&](const auto& row) { return row.first == word; });
    if (found == std::end(kFunctions)) return {};
    std::string function(found->second);
    const Token& operand = ahead(next == "with" ? 2 : 1);
    std::string text = operand.kind == Token::Kind::text ? operand.text : "...";
    if (word == "like" || word == "ilike") {  // `%` is any text
      const bool begins = text.starts_with('%'), ends = text.ends_with('%') && text.size() > 1;
      if (begins != ends) function = begins ? "endsWith" : "startsWith";
      text = text.substr(begins ? 1 : 0, text.size() - (begins ? 1 : 0) - (ends ? 1 : 0));
    }
    return "write " + left + "." + function + "(" + quoted(text) + ")";
  }

  AstPtr make(Op op, std::uint32_t begin, std::vector<AstPtr> children) {
    auto ast = std::make_unique<Ast>();
    ast->op = op;
    ast->begin = begin;
    ast->end = tokens_[index_ == 0 ? 0 : index_ - 1].end;
    for (const AstPtr& child : children) ast->depth = std::max(ast->depth, child->depth + 1);
    ast->children = std::move(children);
    if (ast->depth > kExpressionDepthMax) return too_deep(begin, ast->end);
    return ast;
  }

  AstPtr make(Op op, AstPtr a, AstPtr b) {
    const std::uint32_t begin = a->begin;
    std::vector<AstPtr> children;
    children.push_back(std::move(a));
    children.push_back(std::move(b));
    return make(op, begin, std::move(children));
  }

  AstPtr too_deep(std::uint32_t begin, std::uint32_t end) {
    diagnostics_.error(
        begin, end,
        "the expression is nested deeper than " + std::to_string(kExpressionDepthMax) + " levels",
        "make a part of it a field of the event");
    return nullptr;
  }

  AstPtr constant(Value value, std::uint32_t begin) {
    AstPtr ast = make(Op::constant, begin, {});
    ast->constant = value;
    return ast;
  }

  AstPtr expression() {
    if (++nesting_ > kExpressionDepthMax) return too_deep(at().begin, at().end);
    AstPtr ast = disjunction();
    if (ast && accept("?")) {
      AstPtr yes = disjunction();
      if (!yes) return nullptr;
      if (!accept(":")) return unexpected("\":\"");
      AstPtr no = expression();
      if (!no) return nullptr;
      const std::uint32_t begin = ast->begin;
      std::vector<AstPtr> children;
      children.push_back(std::move(ast));
      children.push_back(std::move(yes));
      children.push_back(std::move(no));
      ast = make(Op::conditional, begin, std::move(children));
    }
    --nesting_;
    return ast;
  }

  /// a && b && c is one node: long chains are common and must not count as depth.
  template <class Next>
  AstPtr chain(Op op, std::string_view mark, std::string_view word, Next next) {
    AstPtr first = next();
    if (!first || !(at().is(mark) || at().is_word(word))) return first;
    const std::uint32_t begin = first->begin;
    std::vector<AstPtr> parts;
    const auto add = [&parts, op](AstPtr part) {
      if (part->op != op) return parts.push_back(std::move(part));
      for (AstPtr& child : part->children) parts.push_back(std::move(child));
    };
    add(std::move(first));
    while (at().is(mark) || at().is_word(word)) {
      take();
      AstPtr part = next();
      if (!part) return nullptr;
      add(std::move(part));
    }
    return make(op, begin, std::move(parts));
  }

  AstPtr disjunction() {
    return chain(Op::logical_or, "||", "or", [this] { return conjunction(); });
  }
  AstPtr conjunction() {
    return chain(Op::logical_and, "&&", "and", [this] { return relation(); });
  }

  struct Operator {
    std::string_view mark;
    Op op;
  };
  template <std::size_t kCount, class Next>
  AstPtr left_associative(const std::array<Operator, kCount>& operators, Next next) {
    AstPtr left = next();
    while (left) {
      const auto found =
          std::find_if(operators.begin(), operators.end(), [this](const Operator& o) {
            return at().is(o.mark) || (o.op == Op::in && at().is_word("in"));
          });
      if (found == operators.end()) break;
      take();
      AstPtr right = next();
      if (!right) return nullptr;
      left = make(found->op, std::move(left), std::move(right));
    }
    return left;
  }

  AstPtr relation() {
    static constexpr std::array<Operator, 7> kOperators = {{{"==", Op::equal},
                                                            {"!=", Op::not_equal},
                                                            {"<", Op::less},
                                                            {"<=", Op::less_equal},
                                                            {">", Op::greater},
                                                            {">=", Op::greater_equal},
                                                            {"in", Op::in}}};
    return left_associative(kOperators, [this] { return sum(); });
  }
  AstPtr sum() {
    static constexpr std::array<Operator, 2> kOperators = {{{"+", Op::add}, {"-", Op::subtract}}};
    return left_associative(kOperators, [this] { return product(); });
  }
  AstPtr product() {
    static constexpr std::array<Operator, 3> kOperators = {
        {{"*", Op::multiply}, {"/", Op::divide}, {"%", Op::modulo}}};
    return left_associative(kOperators, [this] { return unary(); });
  }

  AstPtr unary() {
    const Token& token = at();
    const bool word = token.is_word("not");
    if (!word && !token.is("!") && !token.is("-")) return postfix();
    if (++nesting_ > kExpressionDepthMax) return too_deep(token.begin, token.end);
    take();
    if (token.is("-") && (at().kind == Token::Kind::integer || at().kind == Token::Kind::real)) {
      --nesting_;
      return postfix(true);
    }
    AstPtr operand = unary();
    --nesting_;
    if (!operand) return nullptr;
    std::vector<AstPtr> children;
    children.push_back(std::move(operand));
    AstPtr ast =
        make(token.is("-") ? Op::negate : Op::logical_not, token.begin, std::move(children));
    if (ast) ast->word = word;
    return ast;
  }

  AstPtr postfix(bool negative = false) {
    AstPtr ast = primary(negative);
    while (ast) {
      if (accept(".")) {
        ast = member(std::move(ast));
      } else if (accept("[")) {
        AstPtr index = expression();
        if (!index) return nullptr;
        if (!accept("]")) return unexpected("\"]\"");
        ast = make(Op::index, std::move(ast), std::move(index));
      } else {
        break;
      }
    }
    if (ast) operand_begin_ = ast->begin, operand_end_ = ast->end;
    return ast;
  }

  AstPtr member(AstPtr from) {
    if (at().kind != Token::Kind::name) return unexpected("a name");
    const Token& name = take();
    const std::uint32_t begin = from->begin;
    std::vector<AstPtr> children;
    children.push_back(std::move(from));
    const bool method = at().is("(");
    if (method && !arguments(children)) return nullptr;
    AstPtr ast = make(method ? Op::call : Op::select, begin, std::move(children));
    if (ast) ast->text = name.text, ast->method = method;
    return ast;
  }

  bool arguments(std::vector<AstPtr>& out) {
    take();
    return list(out, ")");
  }

  bool list(std::vector<AstPtr>& out, std::string_view closing) {
    if (accept(closing)) return true;
    for (;;) {
      AstPtr item = expression();
      if (!item) return false;
      out.push_back(std::move(item));
      if (accept(closing)) return true;
      if (!accept(",")) {
        unexpected("\",\" or \"" + std::string(closing) + "\"");
        return false;
      }
      if (closing == "]" && accept(closing)) return true;  // CEL: a list may end with a comma
    }
  }

  AstPtr primary(bool negative) {
    const Token& token = at();
    const std::uint32_t begin = negative ? tokens_[index_ - 1].begin : token.begin;
    switch (token.kind) {
      case Token::Kind::integer:
        return integer(negative, begin);
      case Token::Kind::real:
        take();
        return constant(Value::real(negative ? -token.real : token.real), begin);
      case Token::Kind::text:
        take();
        return constant(pool_.keep(token.text), begin);
      case Token::Kind::name:
        return name();
      default:
        break;
    }
    if (accept("(")) {
      AstPtr inner = expression();
      if (!inner) return nullptr;
      if (!accept(")")) return unexpected("\")\"");
      inner->grouped = true;
      return inner;
    }
    if (accept("[")) {
      std::vector<AstPtr> items;
      if (!list(items, "]")) return nullptr;
      return make(Op::list, begin, std::move(items));
    }
    return unexpected("a value");
  }

  AstPtr integer(bool negative, std::uint32_t begin) {
    const Token& token = at();
    constexpr std::uint64_t kBeyond = std::uint64_t{1} << 63;
    if (token.magnitude == kBeyond && !negative)
      return fail("number out of range of a 64-bit integer");
    take();
    const std::uint64_t bits = negative ? std::uint64_t{0} - token.magnitude : token.magnitude;
    return constant(Value::integer(static_cast<std::int64_t>(bits)), begin);
  }

  AstPtr name() {
    const Token& token = at();
    if (token.is_word("in") || token.is_word("and") || token.is_word("or"))
      return unexpected("a value");
    take();
    if (token.text == "true" || token.text == "false") {
      return constant(Value::boolean(token.text == "true"), token.begin);
    }
    if (token.text == "null") return constant(Value::null(), token.begin);
    std::vector<AstPtr> children;
    const bool call = at().is("(");
    if (call && !arguments(children)) return nullptr;
    AstPtr ast = make(call ? Op::call : Op::name, token.begin, std::move(children));
    if (ast) ast->text = token.text;
    return ast;
  }

  const std::vector<Token>& tokens_;
  Pool& pool_;
  Diagnostics& diagnostics_;
  std::size_t index_ = 0;
  std::size_t nesting_ = 0;
  std::uint32_t operand_begin_ = 0, operand_end_ = 0;  ///< of the last operand, for hints
};

}  // namespace

AstPtr parse(const std::vector<Token>& tokens, Pool& pool, Diagnostics& diagnostics) {
  return Parser(tokens, pool, diagnostics).run();
}

}  // namespace weir::policies::expr
