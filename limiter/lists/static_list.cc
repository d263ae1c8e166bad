#include "limiter/lists/static_list.h"

#include <algorithm>

namespace weir::limiter {
void StaticList::add(const Hash128& key, Entry entry) {
  keys_.push_back({key, entries_.size()});
  entries_.push_back(std::move(entry));
}

void StaticList::add(const Cidr& block, Entry entry) {
  const bool v4 = block.base.is_v4();
  const auto it = std::find_if(lengths_.begin(), lengths_.end(),
                               [&](const Length& l) { return l.v4 == v4 && l.bits == block.bits; });
  Length& length = it != lengths_.end() ? *it : lengths_.emplace_back(Length{v4, block.bits, {}});
  length.blocks.push_back({block.base, entries_.size()});
  entries_.push_back(std::move(entry));
}

void StaticList::build() {
  std::stable_sort(keys_.begin(), keys_.end(),
                   [](const Keyed& a, const Keyed& b) { return a.key < b.key; });
  for (Length& length : lengths_) {
    std::stable_sort(length.blocks.begin(), length.blocks.end(),
                     [](const Block& a, const Block& b) { return a.base < b.base; });
  }
}

const StaticList::Entry* StaticList::find(const Hash128& key, const Address* address,
                                          TimePoint now) const noexcept {
  auto k = std::lower_bound(keys_.begin(), keys_.end(), key,
                            [](const Keyed& a, const Hash128& b) { return a.key < b; });
  for (; k != keys_.end() && k->key == key; ++k) {
    if (entries_[k->entry].until > now) return &entries_[k->entry];
  }
  if (address == nullptr) return nullptr;
  for (const Length& length : lengths_) {
    if (length.v4 != address->is_v4()) continue;  // 0.0.0.0/0 and ::/0 are two blocks
    const Address base = address->masked(length.bits, length.bits);
    auto b = std::lower_bound(length.blocks.begin(), length.blocks.end(), base,
                              [](const Block& x, const Address& y) { return x.base < y; });
    for (; b != length.blocks.end() && b->base == base; ++b) {
      if (entries_[b->entry].until > now) return &entries_[b->entry];
    }
  }
  return nullptr;
}

}  // namespace weir::limiter
