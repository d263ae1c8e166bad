#pragma once

/// Warnings of the checker about conditions that are the same for every event although they read a
/// field: usually a slip.
namespace weir::policies::expr {

struct Ast;
struct Checker;

/// `path == path`. Of a comparison whose sides have been checked.
void warn_same_sides(Checker& checker, const Ast& comparison);
/// `path == "/a" or true`, `false and ...`. Of an and/or whose sides have been checked.
void warn_decided(Checker& checker, const Ast& logical);

}  // namespace weir::policies::expr
