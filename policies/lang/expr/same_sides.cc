#include "policies/lang/expr/same_sides.h"

#include <algorithm>
#include <string>

#include "policies/lang/expr/ast.h"
#include "policies/lang/expr/checker.h"

namespace weir::policies::expr {

void warn_same_sides(Checker& checker, const Ast& comparison) {
  const Ast &a = *comparison.children[0], &b = *comparison.children[1];
  if (a.op == Op::constant || b.op == Op::constant) return;
  const SlotTable& slots = checker.scope.slots();
  if (print(a, slots) != print(b, slots)) return;
  const bool holds = comparison.op == Op::equal || comparison.op == Op::less_equal ||
                     comparison.op == Op::greater_equal;
  checker.diagnostics.warning(comparison.begin, comparison.end,
                              checker.source(a) + " is compared with itself, which " +
                                  (holds ? "holds for every event that has it" : "never holds"),
                              "write the value that you mean on one side");
}

void warn_decided(Checker& checker, const Ast& logical) {
  const bool deciding = logical.op == Op::logical_or;  // true decides `or`, false decides `and`
  const auto decides = [deciding](const AstPtr& side) {
    return side->op == Op::constant && side->constant.is(Type::boolean) &&
           side->constant.is_true() == deciding;
  };
  const auto known = [](const AstPtr& side) { return side->op == Op::constant; };
  const auto& sides = logical.children;
  if (std::none_of(sides.begin(), sides.end(), decides)) return;
  if (std::all_of(sides.begin(), sides.end(), known))
    return;  // folded; the warning is about the whole
  checker.diagnostics.warning(logical.begin, logical.end,
                              deciding ? "this holds for every event: one side is always true"
                                       : "this never holds: one side is always false",
                              deciding ? "leave out the side that is always true"
                                       : "leave out the side that is always false");
}

}  // namespace weir::policies::expr
