#include "store/redis/pending_batches.h"

namespace weir::store {

PendingBatches::~PendingBatches() {
  for (Pending& pending : all_) net::Wheel::disarm(pending);
}

OpRef PendingBatches::open(Batch& batch, TimePoint deadline) {
  if (free_.empty()) {
    Pending& made = all_.emplace_back();
    made.owner = this;
    made.number = static_cast<std::uint32_t>(all_.size());
    free_.reserve(all_.size());
    free_.push_back(made.number);
  }
  Pending& pending = all_[free_.back() - 1];
  free_.pop_back();
  pending.batch = &batch;
  pending.open = static_cast<std::uint32_t>(batch.ops.size());
  batch.pending_number_ = pending.number;
  pending.submitting = true;
  ++submitting_;
  wheel_.arm(pending, deadline);
  OpRef out;
  out.pending_number = pending.number;
  out.generation = pending.generation;
  return out;
}

void PendingBatches::submitted(const OpRef& ref) noexcept {
  --submitting_;
  Pending& pending = all_[ref.pending_number - 1];
  if (pending.generation == ref.generation) pending.submitting = false;
}

void PendingBatches::close(Pending& pending) noexcept {
  net::Wheel::disarm(pending);
  pending.batch->pending_number_ = 0;
  pending.batch = nullptr;
  pending.submitting = false;
  ++pending.generation;
  free_.push_back(pending.number);
}

Batch* PendingBatches::batch(const OpRef& ref) noexcept {
  Pending& pending = all_[ref.pending_number - 1];
  return pending.generation == ref.generation ? pending.batch : nullptr;
}

const limiter::SharedOp* PendingBatches::op(const OpRef& ref) noexcept {
  Batch* const found = batch(ref);
  return found != nullptr ? &found->ops[ref.op] : nullptr;
}

void PendingBatches::answered(const OpRef& ref, TimePoint now) {
  Pending& pending = all_[ref.pending_number - 1];
  if (--pending.open != 0) return;
  // A connection that drops in the middle of a submission ends operations of other batches.
  if (submitting_ != 0 && !pending.submitting) return wheel_.arm(pending, TimePoint{});
  Batch* const batch = pending.batch;
  const bool notify = !pending.submitting;
  close(pending);
  batch->replied_at = now;
  if (notify) batch->on_replies();
}

void PendingBatches::cancel(Batch& batch) noexcept {
  if (batch.pending_number_ != 0) close(all_[batch.pending_number_ - 1]);
}

void PendingBatches::cancel_all() noexcept {
  for (Pending& pending : all_) {
    if (pending.batch != nullptr) close(pending);
  }
}

void PendingBatches::Pending::on_timer(TimePoint now) {
  // Operations without an answer still have the error that submit() set.
  Batch* const late = batch;
  owner->timed_out_ += open;
  owner->close(*this);
  late->replied_at = now;
  late->on_replies();
}

}  // namespace weir::store
