#pragma once

#include "policies/lang/expr/ast.h"

namespace weir::policies::expr {

struct Checker;

/// Warns where `field` is compared with a literal that it can never be: `method == "post"`,
/// `path == "login"`, `name.lowerAscii() == "Anna"`, `status == 20`. What is no such field, or no
/// literal, is left alone. A list of literals is looked at item by item.
void warn_never_equal(Checker& checker, const Ast& field, const Ast& literal);

}  // namespace weir::policies::expr
