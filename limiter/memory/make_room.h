#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace weir::limiter {

/// Makes room for `more` elements, by doubling as push_back() does. Adding these elements then
/// cannot fail. A change of several containers first makes all the room that it needs. If memory is
/// missing, the change has not begun.
template <class T, class Allocator>
void make_room(std::vector<T, Allocator>& out, std::size_t more = 1) {
  const std::size_t size = out.size();
  if (out.capacity() - size < more) out.reserve(size + std::max(size, more));
}

}  // namespace weir::limiter
