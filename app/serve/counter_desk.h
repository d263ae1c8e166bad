#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "admin/operations.h"
#include "policies/set/sharing.h"
#include "store/shared_store.h"

namespace weir::app {

/// What operators ask the shared store, on the thread of the worker whose connection it uses. The
/// store must have stopped when the desk ends.
class CounterDesk {
 public:
  /// Nobody's request waits for it: longer than a budget, shorter than patience.
  static constexpr milliseconds kWithin{1'000};

  CounterDesk(store::SharedStore& store, const policies::Sharing& sharing,
              const HashSecret& secret);
  ~CounterDesk();

  /// `tell` is called once, perhaps from within; not at all if the store stops.
  void ask(const admin::StoreQuestion& question, TimePoint now,
           std::function<void(admin::StoreAnswer)> tell);

 private:
  class Visit;

  store::SharedStore& store_;
  policies::Sharing sharing_;
  const HashSecret& secret_;
  std::uint64_t sequence_ = 0;
  std::vector<std::unique_ptr<Visit>> visits_;
};

}  // namespace weir::app
