#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "limiter/kinds/counter.h"
#include "limiter/kinds/kinds.h"

namespace weir::limiter {

/// The cells about a place that a counter with a radius looks at, as places of its table.
class Neighbourhood {
 public:
  /// Starts loading the memory that find will need.
  Neighbourhood(const Counter& counter, const CounterKey& key) noexcept;

  const Table::Place& own() const noexcept { return places_[0]; }
  Around around() const noexcept { return {at_, reach_, {places_.data() + 1, size_ - 1}}; }

  /// Holds the locks of all its regions. It takes them in the order of their addresses, and all
  /// other code holds at most one: so there is no deadlock.
  class Locks {
   public:
    explicit Locks(const Neighbourhood& near) noexcept;
    ~Locks();
    Locks(const Locks&) = delete;
    Locks& operator=(const Locks&) = delete;

   private:
    std::array<SpinLock*, PlaceGrid::kCells> locks_;
    std::size_t size_ = 0;
  };

 private:
  std::array<Table::Place, PlaceGrid::kCells> places_;
  std::size_t size_ = 0;
  UnitVector at_;
  double reach_;
};

}  // namespace weir::limiter
