#include "limiter/counters/neighbourhood.h"

#include <algorithm>
#include <functional>

namespace weir::limiter {
namespace {

std::uint64_t mixed(std::uint64_t v) noexcept {  // splitmix64's end: a bijection
  v = (v ^ (v >> 30)) * 0xBF58'476D'1CE4'E5B9U;
  v = (v ^ (v >> 27)) * 0x94D0'49BB'1331'11EBU;
  return v ^ (v >> 31);
}

}  // namespace

Neighbourhood::Neighbourhood(const Counter& counter, const CounterKey& key) noexcept
    : at_(UnitVector::of(key.place)), reach_(counter.grid->reach()) {
  const PlaceGrid::Cells cells = counter.grid->around(key.place);
  // Derived from the key's hash, which is secret, so that a client cannot choose cells that
  // collide.
  const std::uint64_t whole = Table::tag_of(key);
  for (unsigned i = 0; i < cells.size; ++i) {
    const std::uint64_t tag = mixed(whole ^ mixed(cells.cells[i]));
    places_[size_++] = counter.table->place(tag != 0 ? tag : 1, counter.salt);
    counter.table->prefetch(places_[i]);
  }
}

Neighbourhood::Locks::Locks(const Neighbourhood& near) noexcept {
  for (std::size_t i = 0; i < near.size_; ++i) locks_[size_++] = &near.places_[i].region->lock;
  std::sort(locks_.begin(), locks_.begin() + size_, std::less<>());
  size_ = static_cast<std::size_t>(std::unique(locks_.begin(), locks_.begin() + size_) -
                                   locks_.begin());
  for (std::size_t i = 0; i < size_; ++i) locks_[i]->lock();
}

Neighbourhood::Locks::~Locks() {
  while (size_ > 0) locks_[--size_]->unlock();
}

}  // namespace weir::limiter
