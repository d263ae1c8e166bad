#include "limiter/exchange/shared_pattern.h"

#include <algorithm>

#include "limiter/exchange/shared_op.h"

namespace weir::limiter {

SharedPattern::SharedPattern(const Hash128& id, const PatternSpec& what)
    : identity(id), spec(what), name(name_in_store(id)) {}

milliseconds SharedPattern::longest() const noexcept {
  return std::max({spec.within, spec.before, spec.after}) + spec.late;
}

}  // namespace weir::limiter
