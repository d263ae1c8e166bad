#pragma once

#include "policies/lang/extractors.h"
#include "policies/lang/slots.h"

namespace weir::policies {
class Frame;
}

namespace weir::policies::expr {

struct Program;

/// Why an expression gives null or an error. Only the operands on which the result depends count:
/// not the branch that a condition does not take, and not the side of `&&` or `||` that the other
/// side outweighs.
///
/// An error that the expression makes itself (an overflow, a division by zero, a text that is no
/// address) is `failed`. It is `unreadable` in two cases, because an application may read a value
/// there:
///  - A function or an operator gets a list, an object, a number or a boolean of the request's body
///    and does not take that type.
///  - int(), double() or round() cannot convert a number that the client sends, or a text from
///    which some application reads a number.
/// For lack of memory it is `too_costly`: the client that sends long values decides that.
struct Missed {
  MissReason why = MissReason::none;  ///< the reason that weighs most; none: there is a value
  SlotId part = SlotTable::kMax;  ///< the first part of the request that cannot be read, or kMax
  MissReason part_why = MissReason::none;
};

/// Evaluates the program once more. `as_number`: the caller needs a number, so that arithmetic on a
/// text from which some application reads a number is unreadable, too.
Missed why_missed(const Program& program, Frame& frame, bool as_number = false);

}  // namespace weir::policies::expr
