#pragma once

#include <memory>
#include <string>

#include "policies/lang/expr/ast.h"
#include "policies/lang/expr/diagnostics.h"
#include "policies/lang/expr/expression.h"

namespace weir::policies::expr {

/// Gives every node its type and meaning, replaces parts known at load by values, and reports
/// every problem it finds. Whether there were none.
bool check(AstPtr& root, ExprScope& scope, const std::shared_ptr<Pool>& pool,
           Diagnostics& diagnostics);

}  // namespace weir::policies::expr
