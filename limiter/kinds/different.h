#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "limiter/memory/arena.h"

namespace weir::limiter {

/// Counts different values in a table that it borrows: a small one here, a larger one of the arena.
/// If the arena has no room, several passes go through the values, each for a part of their hashes.
class Different {
 public:
  Different(Arena& arena, std::size_t at_most) noexcept : arena_(arena), at_most_(at_most) {
    const std::size_t wanted = std::bit_ceil(at_most * 2 + 2);
    if (wanted <= kLocal) {
      slots_ = wanted;
      return;
    }
    order_ = Arena::order_for(wanted * sizeof(std::uint64_t));
    if (order_ <= arena.largest_order()) block_ = arena.allocate(order_);
    if (block_ == 0) return;
    table_ = reinterpret_cast<std::uint64_t*>(arena.at(block_));
    slots_ = wanted;
  }
  ~Different() {
    if (block_ != 0) arena_.free(block_, order_);
  }
  Different(const Different&) = delete;
  Different& operator=(const Different&) = delete;

  /// `each(f)` calls f with every value, as often as it is asked to.
  template <class Each>
  std::int64_t count(Each&& each) noexcept {
    std::size_t passes = std::bit_ceil(at_most_ * 2 / slots_ + 1);
    if (slots_ > at_most_ * 2) passes = 1;
    for (;; passes *= 2) {
      std::int64_t total = 0;
      zero_ = false;
      for (std::size_t pass = 0; pass < passes && total >= 0; ++pass) {
        const std::int64_t some = count_part(each, passes, pass);
        total = some < 0 ? some : total + some;
      }
      if (total >= 0) return total + zero_;
    }
  }

 private:
  static constexpr std::size_t kLocal = 1024;

  static std::uint64_t mixed(std::uint64_t v) noexcept {  // murmur3's end: a bijection, keeps zero
    v = (v ^ (v >> 33)) * 0xFF51'AFD7'ED55'8CCDU;
    v = (v ^ (v >> 33)) * 0xC4CE'B9FE'1A85'EC53U;
    return v ^ (v >> 33);
  }

  /// Negative: they do not fit.
  template <class Each>
  std::int64_t count_part(Each& each, std::size_t passes, std::size_t pass) noexcept {
    std::fill_n(table_, slots_, 0);
    std::size_t filled = 0;
    each([&](std::uint64_t value) {
      const std::uint64_t hash = mixed(value);
      if (hash == 0) {
        zero_ = true;
      } else if ((hash >> 40) % passes == pass && filled < slots_ - 1) {
        std::size_t i = hash & (slots_ - 1);
        while (table_[i] != 0 && table_[i] != hash) i = (i + 1) & (slots_ - 1);
        filled += table_[i] == 0;
        table_[i] = hash;
      }
    });
    return filled < slots_ - 1 ? static_cast<std::int64_t>(filled) : -1;
  }

  Arena& arena_;
  std::size_t at_most_;
  std::array<std::uint64_t, kLocal> local_;
  std::uint64_t* table_ = local_.data();
  std::size_t slots_ = kLocal;
  std::uint32_t block_ = 0;
  unsigned order_ = 0;
  bool zero_ = false;
};

}  // namespace weir::limiter
