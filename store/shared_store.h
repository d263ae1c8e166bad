#pragma once

#include <span>

#include "core/clock.h"
#include "limiter/exchange/shared_op.h"

namespace weir::store {

/// The operations of one request (or of one settlement), and the receiver of their replies. The
/// owner keeps it, the operations and the replies alive until on_replies(), or until it has
/// cancelled.
class Batch {
 public:
  std::span<const limiter::SharedOp> ops;
  std::span<limiter::SharedReply> replies;  ///< as many
  /// Waits until the deadline for a connection that is away, instead of failing at once: for
  /// settlements, for which no request waits.
  bool patient = false;
  /// In on_replies(): when the last reply came, or the deadline was found to have passed.
  TimePoint replied_at{};

  /// Every reply is there, be it an error. From the worker's loop, never from within submit(). New
  /// batches may be submitted from here.
  virtual void on_replies() = 0;

 protected:
  ~Batch() = default;

 private:
  friend class PendingBatches;
  std::uint32_t pending_number_ = 0;  // 0: not submitted
};

/// Counters that all replicas share. One per worker; not thread-safe. Gives no order between keys;
/// operations on one key happen in the order in which they were submitted, unless one is sent
/// again.
class SharedStore {
 public:
  virtual ~SharedStore() = default;
  /// True: all replies are there already (the store is in memory, or away); on_replies() will not
  /// be called. Operations without an answer at the deadline get Error timed_out (coarse: up to 8
  /// ms late).
  virtual bool submit(Batch& batch, TimePoint deadline) = 0;
  /// on_replies() will not be called any more. Harmless for a batch that is not waiting.
  virtual void cancel(Batch& batch) noexcept = 0;
};

}  // namespace weir::store
