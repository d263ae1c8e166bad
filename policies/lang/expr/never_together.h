#pragma once

/// Warnings of conditions that hold for no event, whatever its values are.
namespace weir::policies::expr {

struct Ast;
struct Checker;

/// `status > 599`, `user == "a" && user == "b"`, `n > 5 && n < 3`: the tests that `&&` joins leave
/// no possible value. Compares with literals, by equality, order and `in`; everything else
/// is taken for a test that may hold. Of a whole tree that has been checked.
void warn_never_together(Checker& checker, const Ast& root);

}  // namespace weir::policies::expr
