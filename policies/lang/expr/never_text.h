#pragma once

#include <string>
#include <string_view>

#include "policies/lang/expr/foreign_pattern.h"

namespace weir::policies::expr {

/// Why a value never has a text, and what to write instead.
struct NeverText {
  std::string message;  ///< empty: it may have it
  std::string hint;
  std::string condition;  ///< where the text is a pattern elsewhere: the test that was meant
};

/// Whether values of this attribute never equal, begin with, end with or contain the text: a path
/// without its slash, a method in small letters, `/api/*`. `negated`: the hint is for the opposite.
NeverText never_text(const Subject& subject, std::string_view text, Compared how,
                     bool negated = false);

}  // namespace weir::policies::expr
