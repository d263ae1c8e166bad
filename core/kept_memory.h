#pragma once

#include <cstddef>

namespace weir {

/// Empties a vector or a string that a pool keeps for the next use. Memory for up to `most`
/// elements stays, so that uses of the usual size allocate nothing. A larger buffer is freed: the
/// caller that made it large may be the only one.
template <class Container>
void clear_keeping(Container& container, std::size_t most) noexcept {
  if (container.capacity() > most) [[unlikely]] {
    Container().swap(container);
  } else {
    container.clear();
  }
}

}  // namespace weir
