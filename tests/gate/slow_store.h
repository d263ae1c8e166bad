#pragma once

#include <utility>
#include <vector>

#include "store/memory_store.h"

namespace weir::gate {

/// Keeps what it is asked until deliver().
class SlowStore final : public store::SharedStore {
 public:
  explicit SlowStore(const TimePoint& now)
      : memory_({std::uint64_t{1} << 20, 1'000}, [&now] { return now; }) {}
  bool submit(store::Batch& batch, TimePoint) override {
    asked.push_back(&batch);
    return false;
  }
  void cancel(store::Batch&) noexcept override {}
  void deliver() {
    for (store::Batch* batch : std::exchange(asked, {})) {
      memory_.submit(*batch, {});
      batch->on_replies();
    }
  }
  void fail(limiter::SharedError error) {
    for (store::Batch* batch : std::exchange(asked, {})) {
      for (limiter::SharedReply& reply : batch->replies) reply.error = error;
      batch->on_replies();
    }
  }
  std::vector<store::Batch*> asked;

 private:
  store::MemoryStore memory_;
};

}  // namespace weir::gate
