#pragma once

#include <optional>
#include <string>

#include "policies/lang/expr/ast.h"

namespace weir::policies::expr {

struct Checker;

/// What to write instead of `header.x-user-id`, which reads as `header.x` minus `user` minus `id`.
/// Nothing if the difference may be meant: if what is taken away is a field.
struct DashedName {
  std::uint32_t begin = 0, end = 0;  ///< bytes of the expression
  std::string hint;
};
std::optional<DashedName> dashed_name(const Checker& checker, const Ast& difference);

}  // namespace weir::policies::expr
