#pragma once

#include <optional>
#include <string>

#include "policies/lang/expr/ast.h"

namespace weir::policies::expr {

struct Checker;

/// Suggests a spelling for `header.x-user-id`, which reads as `header.x` minus `user` minus `id`.
/// Nothing if the author may mean the difference: if the subtracted name is a field.
struct DashedName {
  std::uint32_t begin = 0, end = 0;  ///< bytes of the expression
  std::string hint;
};
std::optional<DashedName> dashed_name(const Checker& checker, const Ast& difference);

}  // namespace weir::policies::expr
