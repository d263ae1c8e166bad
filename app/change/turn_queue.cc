#include "app/change/turn_queue.h"

#include <boost/asio/steady_timer.hpp>

#include "core/assert.h"
#include "net/deadline.h"

namespace weir::app {

namespace asio = boost::asio;

struct TurnQueue::State {
  bool busy = false;
  asio::steady_timer waiting;  // cancelled when a turn ends: all that wait look again
};

TurnQueue::Turn::~Turn() {
  if (!state_) return;  // moved from
  WEIR_ASSERT(state_->busy);
  state_->busy = false;
  state_->waiting.cancel();
}

TurnQueue::TurnQueue(asio::io_context& control)
    : state_(std::make_shared<State>(
          State{false, asio::steady_timer(control, asio::steady_timer::time_point::max())})) {}

asio::awaitable<TurnQueue::Turn> TurnQueue::take_of(std::shared_ptr<State> state) {
  while (state->busy) co_await state->waiting.async_wait(net::kToken);
  state->busy = true;
  co_return Turn(std::move(state));
}

}  // namespace weir::app
