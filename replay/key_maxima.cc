#include "replay/key_maxima.h"

#include <algorithm>

namespace weir::replay {

void KeyMaxima::add(const Hash128& key, double value) {
  const std::uint64_t tag = key.lo == 0 ? 1 : key.lo;
  if (level_ > 0 && tag >> (64 - level_) != 0) return;
  const std::size_t mask = cells_.size() - 1;
  std::size_t at = tag & mask;
  while (cells_[at].key != 0) {
    if (cells_[at].key == tag) {
      cells_[at].value = std::max(cells_[at].value, value);
      return;
    }
    at = (at + 1) & mask;
  }
  cells_[at] = {tag, value};
  if (++used_ > cells_.size() / 4 * 3 || used_ >= kKeys) grow();
}

void KeyMaxima::grow() {
  std::vector<Cell> old = std::move(cells_);
  if (used_ >= kKeys) ++level_;
  cells_.assign(used_ >= kKeys ? old.size() : 2 * old.size(), Cell{});
  used_ = 0;
  const std::size_t mask = cells_.size() - 1;
  for (const Cell& cell : old) {
    if (cell.key == 0 || (level_ > 0 && cell.key >> (64 - level_) != 0)) continue;
    std::size_t at = cell.key & mask;
    while (cells_[at].key != 0) at = (at + 1) & mask;
    cells_[at] = cell;
    ++used_;
  }
}

}  // namespace weir::replay
