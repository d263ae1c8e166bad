#include "gate/store_outbox.h"

#include <utility>

#include "core/assert.h"

namespace weir::gate {

bool StoreOutbox::ask(policies::Judgement& judgement, policies::StoreOps& operations,
                      TimePoint now) {
  WEIR_ASSERT(judgement.carrier != nullptr);
  Ticket& ticket = static_cast<Ticket&>(*judgement.carrier);
  ticket.patient = judgement.settling;
  ticket.ops = operations.ops();
  ticket.replies = operations.replies();
  ticket.replied = &replied_;
  // First: where there is no room for a ticket, its replies would be lost.
  if (replied_.capacity() <= asking_) replied_.reserve(2 * asking_ + 1);
  if (store_.submit(ticket, now + (ticket.patient ? kSettlesWithin : budget_))) return true;
  ++asking_;
  return false;
}

void StoreOutbox::send(policies::StoreOps& operations, TimePoint now) {
  BestEffort& batch = best_effort_.lend(*this);
  std::swap(batch.operations, operations);
  operations.clear();
  try {
    batch.patient = true;
    batch.ops = batch.operations.ops();
    batch.replies = batch.operations.replies();
    if (store_.submit(batch, now + kSettlesWithin)) batch.on_replies();
  } catch (...) {
    batch.on_replies();
    throw;
  }
}

}  // namespace weir::gate
