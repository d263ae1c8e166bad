#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "net/wheel.h"
#include "store/shared_store.h"

namespace weir::store {

/// One operation on its way: its batch, and its index there. May outlive the batch.
struct OpRef {
  std::uint32_t pending_number = 0;
  std::uint32_t generation = 0;
  std::uint16_t op = 0;
  std::uint8_t sent = 0;   ///< how often it has gone out
  std::uint8_t moved = 0;  ///< how often it was sent elsewhere
  std::uint8_t width = 0;  ///< number of elements in its answer, for skipping it
  bool unsure = false;     ///< an attempt may have been executed: the next one is marked as a retry
};

/// The waiting batches. A batch may be gone (its deadline passed, it was cancelled) while its
/// operations are still in some pipeline: their answers are dropped then. Not thread-safe.
class PendingBatches {
 public:
  explicit PendingBatches(net::Wheel& wheel) noexcept : wheel_(wheel) {}
  ~PendingBatches();

  /// All replies of the batch are to come. Until submitted(), its submitter looks for itself
  /// whether it is finished, and no batch is notified: the submitter is busy with its own state.
  OpRef open(Batch& batch, TimePoint deadline);
  void submitted(const OpRef& ref) noexcept;
  /// Null: the batch is gone.
  Batch* batch(const OpRef& ref) noexcept;
  const limiter::SharedOp* op(const OpRef& ref) noexcept;
  /// When the batch's time is over; it must still wait.
  TimePoint deadline(const OpRef& ref) const noexcept {
    return all_[ref.pending_number - 1].deadline();
  }
  /// One reply is there (in the batch). The last one finishes the batch, which is notified: at
  /// once, or at the wheel's next tick where another batch is being submitted.
  void answered(const OpRef& ref, TimePoint now);
  void cancel(Batch& batch) noexcept;
  void cancel_all() noexcept;
  std::size_t waiting() const noexcept { return all_.size() - free_.size(); }
  std::uint64_t timed_out() const noexcept { return timed_out_; }

 private:
  struct Pending final : net::Timer {
    void on_timer(TimePoint now) override;
    PendingBatches* owner = nullptr;
    Batch* batch = nullptr;
    std::uint32_t generation = 1;
    std::uint32_t number = 0;
    std::uint32_t open = 0;
    bool submitting = false;
  };
  void close(Pending& pending) noexcept;

  net::Wheel& wheel_;
  std::deque<Pending> all_;
  std::vector<std::uint32_t> free_;
  std::uint32_t submitting_ = 0;  // how many
  std::uint64_t timed_out_ = 0;
};

}  // namespace weir::store
