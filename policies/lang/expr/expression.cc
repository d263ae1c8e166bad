#include "policies/lang/expr/expression.h"

#include "policies/lang/expr/access.h"
#include "policies/lang/expr/ast.h"
#include "policies/lang/expr/check.h"
#include "policies/lang/expr/lexer.h"
#include "policies/lang/expr/parser.h"
#include "policies/lang/expr/program.h"
#include "policies/lang/frame.h"

namespace weir::policies {

namespace expr {

Value Pool::keep(std::string text) {
  texts.push_back(std::move(text));
  return Value::text(texts.back());
}

Value Pool::keep(const Address& address) {
  addresses.push_back(address);
  return Value::address(&addresses.back());
}

Value Pool::keep(std::vector<Value> items) {
  for (Value& item : items) {
    if (item.is(Type::text)) item = keep(std::string(item.as_text()));
    if (item.is(Type::list))
      item = keep(std::vector<Value>(item.as_list().begin(), item.as_list().end()));
  }
  lists.push_back(std::move(items));
  return Value::list(lists.back());
}

namespace {

constexpr std::size_t kCanonicalMax = 16384;

/// When the answer comes, the request's body is gone, and of its fields only scalars were kept. So
/// the parts of an answer-side expression that read lists and objects are computed while the
/// request is there: they become computed slots of their own.
void split(AstPtr& node, Checker& checker) {
  const bool scalar = node->type != Type::list && node->type != Type::json;
  const bool alone = node->side == Side::request && !node->varies && node->op != Op::load;
  if (node->reads_json && alone && scalar && node->op != Op::constant) {
    auto program =
        std::const_pointer_cast<Program>(emit(*node, checker.scope.slots(), checker.pool));
    program->canonical = print(*node, checker.scope.slots());
    make_load(checker, *node, checker.scope.slots().computed(Expression(std::move(program))));
    return;
  }
  for (AstPtr& child : node->children) split(child, checker);
}

std::shared_ptr<const Program> compile(const config::Text& text, ExprScope& scope,
                                       config::Problems& problems, Type wanted) {
  Diagnostics diagnostics(text, problems);
  const std::size_t size = text.value.size();
  if (size > kExpressionBytesMax) {
    diagnostics.error(
        0, size, "an expression is at most " + std::to_string(kExpressionBytesMax) + " bytes long");
    return nullptr;
  }
  const auto pool = std::make_shared<Pool>();
  const auto tokens = lex(text.value, diagnostics);
  if (!tokens) return nullptr;
  AstPtr root = parse(*tokens, *pool, diagnostics);
  if (!root || !check(root, scope, pool, diagnostics)) return nullptr;
  if (wanted == Type::boolean && root->type != Type::boolean && root->type != Type::dyn &&
      root->type != Type::null) {
    diagnostics.error(
        0, size, "a condition is true or false, and this is " + std::string(type_name(root->type)));
    return nullptr;
  }
  std::string canonical = print(*root, scope.slots());
  if (canonical.size() > kCanonicalMax) {
    diagnostics.error(0, size, "the expression is too long, with the fields that it reads");
    return nullptr;
  }
  if (root->side == Side::answer) {
    Checker checker{scope, pool, diagnostics, nullptr};
    split(root, checker);
  }
  auto program = std::const_pointer_cast<Program>(emit(*root, scope.slots(), pool));
  program->canonical = std::move(canonical);
  if (program->depth > kExpressionDepthMax) {
    diagnostics.error(0, size, "the expression is nested too deep, with the fields that it reads");
    return nullptr;
  }
  return program;
}

}  // namespace
}  // namespace expr

Expression::Expression(std::shared_ptr<const expr::Program> program) noexcept
    : program_(std::move(program)) {}
Type Expression::type() const noexcept { return program_->type; }
Side Expression::side() const noexcept { return program_->side; }
std::span<const SlotId> Expression::slots() const noexcept { return program_->slots; }
std::span<const SlotId> Expression::captures() const noexcept { return program_->captures; }
bool Expression::needs_body() const noexcept { return program_->needs_body; }
bool Expression::needs_answer_body() const noexcept { return program_->needs_answer_body; }
bool Expression::client_asserted() const noexcept { return program_->client_asserted; }
bool Expression::varies() const noexcept { return program_->varies; }
const std::string& Expression::canonical() const noexcept { return program_->canonical; }
Value Expression::eval(Frame& frame) const { return expr::evaluate(*program_, frame); }

std::optional<SlotId> Expression::slot() const noexcept {
  const expr::Node& root = program_->nodes[program_->root];
  if (root.op != expr::Op::load) return std::nullopt;
  return root.slot;
}

std::optional<Value> Expression::constant() const noexcept {
  const expr::Node& root = program_->nodes[program_->root];
  if (root.op != expr::Op::constant) return std::nullopt;
  return root.constant;
}

std::optional<Expression> compile_expression(const config::Text& text, ExprScope& scope,
                                             config::Problems& problems) {
  auto program = expr::compile(text, scope, problems, Type::dyn);
  if (!program) return std::nullopt;
  return Expression(std::move(program));
}

bool is_expression(const config::Text& text) {
  config::Problems ignored;
  expr::Diagnostics diagnostics(text, ignored);
  expr::Pool pool;
  const auto tokens = expr::lex(text.value, diagnostics);
  return tokens && expr::parse(*tokens, pool, diagnostics) != nullptr;
}

std::optional<Expression> compile_condition(const config::Text& text, ExprScope& scope,
                                            config::Problems& problems) {
  auto program = expr::compile(text, scope, problems, Type::boolean);
  if (!program) return std::nullopt;
  return Expression(std::move(program));
}

}  // namespace weir::policies
