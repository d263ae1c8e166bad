#pragma once

#include <cstdint>
#include <vector>

#include "core/key.h"
#include "core/prefetch.h"

namespace weir::replay {

/// The highest reading of every key of a policy, in bounded memory: above kKeys keys it keeps those
/// whose hash begins with a zero bit, above that two, and so on. So it is exact for up to kKeys
/// keys and a fair sample of all keys beyond; which keys are kept depends on their hashes alone.
class KeyMaxima {
 public:
  static constexpr std::size_t kKeys = std::size_t{1} << 20;

  KeyMaxima() : cells_(kLeast) {}
  void prefetch(const Hash128& key) const noexcept {
    prefetch_line(cells_.data() + (key.lo & (cells_.size() - 1)));
  }
  void add(const Hash128& key, double value) { add_tag(key.lo == 0 ? 1 : key.lo, value); }
  /// As if all that was added to the other had been added here.
  void merge(const KeyMaxima& other);

  /// How many keys there were: exact up to kKeys, then estimated.
  std::uint64_t keys() const noexcept { return static_cast<std::uint64_t>(used_) << level_; }
  bool sampled() const noexcept { return level_ > 0; }
  template <class Use>
  void each(Use use) const {
    for (const Cell& cell : cells_) {
      if (cell.key != 0) use(cell.value);
    }
  }
  std::size_t held() const noexcept { return used_; }

 private:
  struct Cell {
    std::uint64_t key = 0;  // 0: empty
    double value = 0;
  };
  static constexpr std::size_t kLeast = 1024;
  void add_tag(std::uint64_t tag, double value) {
    if (level_ > 0 && tag >> (64 - level_) != 0) return;
    const std::size_t mask = cells_.size() - 1;
    Cell* const cells = cells_.data();
    std::size_t at = tag & mask;
    while (cells[at].key != 0) {
      if (cells[at].key == tag) {
        if (cells[at].value < value) cells[at].value = value;
        return;
      }
      at = (at + 1) & mask;
    }
    cells[at] = {tag, value};
    if (++used_ > cells_.size() / 4 * 3 || used_ >= kKeys) grow();
  }
  void grow();
  void rebuild(std::size_t size);

  std::vector<Cell> cells_;
  std::size_t used_ = 0;
  unsigned level_ = 0;
};

}  // namespace weir::replay
