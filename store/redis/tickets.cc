#include "store/redis/tickets.h"

namespace weir::store {

Tickets::~Tickets() {
  for (Ticket& ticket : all_) net::Wheel::disarm(ticket);
}

OpRef Tickets::open(Batch& batch, TimePoint deadline) {
  if (free_.empty()) {
    Ticket& made = all_.emplace_back();
    made.owner = this;
    made.number = static_cast<std::uint32_t>(all_.size());
    free_.reserve(all_.size());
    free_.push_back(made.number);
  }
  Ticket& ticket = all_[free_.back() - 1];
  free_.pop_back();
  ticket.batch = &batch;
  ticket.open = static_cast<std::uint32_t>(batch.ops.size());
  batch.ticket_ = ticket.number;
  ticket.submitting = true;
  ++submitting_;
  wheel_.arm(ticket, deadline);
  OpRef out;
  out.ticket = ticket.number;
  out.generation = ticket.generation;
  return out;
}

void Tickets::submitted(const OpRef& ref) noexcept {
  --submitting_;
  Ticket& ticket = all_[ref.ticket - 1];
  if (ticket.generation == ref.generation) ticket.submitting = false;
}

void Tickets::close(Ticket& ticket) noexcept {
  net::Wheel::disarm(ticket);
  ticket.batch->ticket_ = 0;
  ticket.batch = nullptr;
  ticket.submitting = false;
  ++ticket.generation;
  free_.push_back(ticket.number);
}

Batch* Tickets::batch(const OpRef& ref) noexcept {
  Ticket& ticket = all_[ref.ticket - 1];
  return ticket.generation == ref.generation ? ticket.batch : nullptr;
}

const limiter::SharedOp* Tickets::op(const OpRef& ref) noexcept {
  Batch* const found = batch(ref);
  return found != nullptr ? &found->ops[ref.op] : nullptr;
}

void Tickets::answered(const OpRef& ref, TimePoint now) {
  Ticket& ticket = all_[ref.ticket - 1];
  if (--ticket.open != 0) return;
  // A connection that drops in the middle of a submission ends operations of other batches.
  if (submitting_ != 0 && !ticket.submitting) return wheel_.arm(ticket, TimePoint{});
  Batch* const batch = ticket.batch;
  const bool notify = !ticket.submitting;
  close(ticket);
  batch->replied_at = now;
  if (notify) batch->on_replies();
}

void Tickets::cancel(Batch& batch) noexcept {
  if (batch.ticket_ != 0) close(all_[batch.ticket_ - 1]);
}

void Tickets::cancel_all() noexcept {
  for (Ticket& ticket : all_) {
    if (ticket.batch != nullptr) close(ticket);
  }
}

void Tickets::Ticket::on_timer(TimePoint now) {
  // Operations without an answer still have the error that submit() set.
  Batch* const late = batch;
  owner->timed_out_ += open;
  owner->close(*this);
  late->replied_at = now;
  late->on_replies();
}

}  // namespace weir::store
