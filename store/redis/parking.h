#pragma once

#include <vector>

#include "core/clock.h"
#include "store/redis/node.h"
#include "store/redis/pending_batches.h"

namespace weir::store {

/// Operations that wait for another attempt, in their order. Time is an argument.
class Parking {
 public:
  static constexpr std::size_t kMost = 16'384;
  /// A slot that is on its way may have arrived, or stayed: after this long its node is asked
  /// again.
  static constexpr milliseconds kAskAgain{100};

  struct Parked {
    OpRef ref;
    TimePoint not_before;
    Node* asking;         ///< the node that its slot moves to; null: the owner of the slot
    Endpoint at;          ///< of that node
    TimePoint ask_again;  ///< then the owner of the slot is asked, unless that node is up
  };

  bool empty() const noexcept { return all_.empty(); }
  /// False: there is no room.
  bool add(OpRef ref, TimePoint not_before, Node* asking, TimePoint now) {
    if (all_.size() >= kMost) return false;
    all_.push_back({ref, not_before, asking,
                    asking != nullptr ? asking->connection().endpoint() : Endpoint{},
                    now + kAskAgain});
    return true;
  }
  /// Looks at all parked operations: an operation whose time has come leaves if `leaves` says so.
  /// `leaves` may park others.
  template <class Leaves>
  void look(TimePoint now, Leaves leaves) {
    looking_.clear();
    looking_.swap(all_);
    for (const Parked& parked : looking_) {
      if (!leaves(parked, parked.not_before <= now)) all_.push_back(parked);
    }
  }
  void clear() noexcept { all_.clear(); }

 private:
  std::vector<Parked> all_, looking_;
};

}  // namespace weir::store
