#pragma once

#include <vector>

#include "gate/judge.h"
#include "gate/recorder.h"
#include "policies/judgement/judgement.h"
#include "store/shared_store.h"

namespace weir::gate {

/// A judgement of this worker's gate: its questions to the shared store are one batch, and a
/// recorded event has its row with it. Pooled.
class Ticket final : public store::Batch,
                     public policies::Judgement,
                     public policies::JudgementCarrier {
 public:
  Ticket() noexcept { carrier = this; }
  Ticket(const Ticket&) = delete;
  Ticket& operator=(const Ticket&) = delete;

  void on_replies() override { replied->push_back(this); }

  std::vector<Ticket*>* replied = nullptr;  ///< queue of tickets whose replies have come
  Waiter* waiter = nullptr;  ///< the suspended request; null: none, or its client has left
  bool is_resumed = false;   ///< suspended: the waiter has been resumed
  bool answered = false;
  Recorder::Row row;  ///< open: the event is recorded
};

}  // namespace weir::gate
