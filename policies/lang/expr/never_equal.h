#pragma once

#include "policies/lang/expr/ast.h"

namespace weir::policies::expr {

struct Checker;

/// Warns if `field` is compared with a literal that it can never equal: `method == "post"`, `path
/// == "login"`, `name.lowerAscii() == "Anna"`, `status == 20`. Ignores other fields, and arguments
/// that are not literals. Checks a list of literals item by item.
void warn_never_equal(Checker& checker, const Ast& field, const Ast& literal);

}  // namespace weir::policies::expr
