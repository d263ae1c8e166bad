#include "net/doorway.h"

#include <utility>

namespace weir::net {

Result<void> Doorway::listen(Fd fd) {
  listeners_.emplace_back(worker_.reactor(), std::move(fd), handler_);
  auto started = listeners_.back().start();
  if (!started) listeners_.pop_back();
  return started;
}

void Doorway::stop_accepting() {
  for (Listener& listener : listeners_) listener.stop();
}

void Doorway::finish_by(TimePoint deadline, std::function<void()> stopped) {
  stopped_ = std::move(stopped);
  worker_.wheel().arm(*this, deadline);
}

void Doorway::end_of_turn(std::size_t open_connections) {
  if (!stopped_ || open_connections != 0) return;
  Wheel::disarm(*this);
  const auto stopped = std::exchange(stopped_, nullptr);
  stopped();
}

}  // namespace weir::net
