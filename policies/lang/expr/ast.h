#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/value.h"
#include "policies/lang/expr/program.h"

namespace weir::policies::expr {

struct Ast;
using AstPtr = std::unique_ptr<Ast>;

/// A node of the syntax tree. The parser fills the first part, the check the second; it also
/// replaces names by slots and constant parts by their values. At most kExpressionDepthMax deep.
struct Ast {
  Op op = Op::constant;
  std::uint32_t begin = 0, end = 0;  ///< bytes of the expression
  std::uint32_t depth = 1;
  std::string text;  ///< name; member of a select; function of a call
  Value constant;
  bool word = false;     ///< spelled `not`
  bool grouped = false;  ///< was in parentheses
  bool method = false;   ///< call: x.f()
  std::vector<AstPtr> children;

  Type type = Type::dyn;
  Side side = Side::request;
  bool fixed = false;  ///< known at load
  bool varies = false;
  bool reads_json = false;  ///< may read a list or object of the request's body
  bool quotient = false;    ///< a quotient of integers
  SlotId slot = 0;
  const FunctionRow* function = nullptr;
  const Payload* payload = nullptr;
};

/// Canonical text (policies/lang/expr/print.cc), with parentheses only where precedence demands
/// them.
std::string print(const Ast& ast, const SlotTable& slots);
/// The precedence of the operator at the root: 0 (`? :`) to 7 (names, calls, literals).
std::uint8_t precedence(const Ast& ast, const SlotTable& slots);

/// Lays a checked tree out for evaluation (policies/lang/expr/emit.cc). The pool is that of its
/// constants.
std::shared_ptr<const Program> emit(const Ast& ast, const SlotTable& slots,
                                    std::shared_ptr<Pool> pool);

}  // namespace weir::policies::expr
