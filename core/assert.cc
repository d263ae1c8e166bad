#include "core/assert.h"

#include <cstdio>
#include <cstdlib>

namespace weir {

void assertion_failed(const char* condition, const char* file, int line) noexcept {
  std::fprintf(stderr, "weir: a bug of ours: assertion \"%s\" failed at %s:%d\n", condition, file,
               line);
  std::abort();
}

}  // namespace weir
