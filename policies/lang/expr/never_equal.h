#pragma once

#include <string_view>

#include "policies/lang/expr/ast.h"

namespace weir::policies::expr {

struct Checker;

/// Warns if `field` is compared with a literal that it can never equal: `method == "post"`, `path
/// == "/api/*"`, `name.lowerAscii() == "Anna"`, `status == 20`. Ignores other fields, and arguments
/// that are not literals. Checks a list of literals item by item. `negated`: by `!=`.
void warn_never_equal(Checker& checker, const Ast& field, const Ast& literal, bool negated = false);

/// The same of a call of startsWith(), endsWith() or contains(), whose arguments have been checked.
void warn_never_found(Checker& checker, const Ast& call);

/// The same of a pattern of matches() that compiles. `field`: the checked expression in which it is
/// looked for.
void warn_of_glob(Checker& checker, const Ast& field, const Ast& at, std::string_view pattern);
/// The hint for a pattern that does not compile: the expression to write instead, if it is a glob.
/// `field` is checked.
std::string hint_for_glob(const Checker& checker, const Ast& field, std::string_view pattern);

}  // namespace weir::policies::expr
