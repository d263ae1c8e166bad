#pragma once

#include <vector>

#include "policies/lang/expr/ast.h"
#include "policies/lang/expr/lexer.h"

namespace weir::policies::expr {

/// CEL's grammar without maps, messages and macros; `and`, `or`, `not` as further spellings. Null
/// after the first problem, which is reported. Texts of literals go to the pool.
AstPtr parse(const std::vector<Token>& tokens, Pool& pool, Diagnostics& diagnostics);

}  // namespace weir::policies::expr
