#include "policies/lang/extractors/arena.h"

#include <algorithm>
#include <new>

namespace weir::policies {

char* Arena::allocate(std::size_t bytes) {
  if (bytes > kMax) return refuse();
  bytes = (bytes + 7) & ~std::size_t{7};
  if (bytes > kMax - given_) return refuse();
  while (block_ < blocks_.size()) {
    Block& block = blocks_[block_];
    if (block.size - used_ >= bytes) {
      char* at = block.bytes.get() + used_;
      used_ += bytes;
      given_ += bytes;
      return at;
    }
    ++block_;
    used_ = 0;
  }
  // Each block doubles the memory, so that the number of blocks stays small. If bytes do not fit
  // into the rest of a block, the rest stays unused: so blocks may have more bytes than are given
  // out.
  const std::size_t size = std::max({bytes, std::min(capacity_, kMax / 2), std::size_t{4096}});
  try {
    blocks_.push_back({std::make_unique_for_overwrite<char[]>(size), size});
  } catch (const std::bad_alloc&) {
    return refuse();  // as if it were full: callers may not throw
  }
  capacity_ += size;
  used_ = bytes;
  given_ += bytes;
  return blocks_.back().bytes.get();
}

void Arena::shrink(std::size_t bytes, std::size_t kept) noexcept {
  const std::size_t back = ((bytes + 7) & ~std::size_t{7}) - ((kept + 7) & ~std::size_t{7});
  used_ -= back;
  given_ -= back;
}

}  // namespace weir::policies
