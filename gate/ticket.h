#pragma once

#include <vector>

#include "gate/judge.h"
#include "gate/recorder.h"
#include "policies/judgement/judgement.h"
#include "store/shared_store.h"

namespace weir::gate {

/// A judgement of this worker's gate: what it asks of the shared store is one batch, and an event
/// that is recorded has its row with it. Pooled.
class Ticket final : public store::Batch, public policies::Judgement {
 public:
  void on_replies() override { replied->push_back(this); }

  std::vector<Ticket*>* replied = nullptr;  ///< whom the gate sees to next
  Waiter* waiter = nullptr;  ///< suspended: who waits for the verdict; null: nobody (any more)
  bool is_told = false;      ///< suspended: the waiter has been resumed
  bool answered = false;
  Recorder::Row row;  ///< open: the event is recorded
};

}  // namespace weir::gate
