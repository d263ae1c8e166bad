#include "store/redis/tickets.h"

namespace weir::store {

Tickets::~Tickets() {
  for (Ticket& ticket : all_) net::Wheel::disarm(ticket);
}

std::uint32_t Tickets::open(Batch& batch, TimePoint deadline) {
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
  wheel_.arm(ticket, deadline);
  return ticket.number;
}

void Tickets::close(Ticket& ticket) noexcept {
  net::Wheel::disarm(ticket);
  ticket.batch->ticket_ = 0;
  ticket.batch = nullptr;
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

bool Tickets::answered(const OpRef& ref, bool notify) {
  Ticket& ticket = all_[ref.ticket - 1];
  if (--ticket.open != 0) return false;
  Batch* const batch = ticket.batch;
  close(ticket);
  if (notify) batch->on_replies();
  return true;
}

void Tickets::cancel(Batch& batch) noexcept {
  if (batch.ticket_ != 0) close(all_[batch.ticket_ - 1]);
}

void Tickets::Ticket::on_timer(TimePoint) {
  // Operations without an answer still have the error that submit() set.
  Batch* const late = batch;
  owner->timed_out_ += open;
  owner->close(*this);
  late->on_replies();
}

}  // namespace weir::store
