#include "replay/key_maxima.h"

namespace weir::replay {

void KeyMaxima::grow() {
  const bool full = used_ >= kKeys;
  if (full) ++level_;
  rebuild(full ? cells_.size() : 2 * cells_.size());
}

void KeyMaxima::rebuild(std::size_t size) {
  const std::vector<Cell> old = std::move(cells_);
  cells_.assign(size, Cell{});
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

void KeyMaxima::merge(const KeyMaxima& other) {
  if (other.level_ > level_) {
    level_ = other.level_;
    rebuild(cells_.size());
  }
  for (const Cell& cell : other.cells_) {
    if (cell.key != 0) add_tag(cell.key, cell.value);
  }
}

}  // namespace weir::replay
