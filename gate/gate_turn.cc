#include "gate/gate_turn.h"

namespace weir::gate {

GateTurn::GateTurn(net::Worker& worker, Judge& judge) : worker_(worker), judge_(judge) {
  worker.reactor().add_hook(*this);
}

GateTurn::~GateTurn() { worker_.reactor().remove_hook(*this); }

void GateTurn::end_of_turn(TimePoint now) {
  if (!judge_.has_waiters()) return;
  judge_.tick(now);
  // Twice a tick of the wheel is under the 20 ms that the judge asks for.
  if (judge_.has_waiters()) worker_.wheel().arm(waker_, now + net::Wheel::kTick);
}

}  // namespace weir::gate
