#include "authz/door_server.h"

#include <new>
#include <utility>
#include <vector>

#include "authz/door_session.h"
#include "core/no_memory.h"

namespace weir::authz {

using telemetry::Metric;

DoorServer::DoorServer(net::Worker& worker, const DoorSettings& settings, gate::Judge& judge,
                       gate::Unsettled& unsettled, telemetry::MetricCells& metrics)
    : context_(std::make_unique<DoorContext>(worker, settings, judge, unsettled, metrics)) {
  worker.reactor().add_hook(*this);
}

DoorServer::~DoorServer() {
  context_->worker.reactor().remove_hook(*this);
  abort_all();
  reclaim();
  while (free_ != nullptr) {
    DoorSession* const session = free_;
    free_ = session->next_open_;
    delete session;
  }
}

void DoorServer::abort_all() {
  while (context_->oldest != nullptr) context_->oldest->abort();
}

void DoorServer::give_others_to(std::function<void(net::Fd, std::string)> taker) {
  context_->others = std::move(taker);
}

void DoorServer::use(const PathRules& path) { context_->path = path; }

Result<void> DoorServer::listen(net::Fd fd) {
  net::AcceptHandler& self = *this;  // a private base: std::list may not convert
  listeners_.emplace_back(context_->worker.reactor(), std::move(fd), self);
  auto started = listeners_.back().start();
  if (!started) listeners_.pop_back();
  return started;
}

void DoorServer::begin_drain(bool draining) { context_->draining = draining || context_->stopping; }

void DoorServer::stop_accepting() {
  begin_drain();
  context_->stopping = true;
  for (net::Listener& listener : listeners_) listener.stop();
  // A session that answers may close itself: what is closed stays until the turn ends.
  // Without memory for that, the deadline of the drain closes them.
  static_cast<void>(survives_no_memory([&] {
    std::vector<DoorSession*> all;
    for (DoorSession* s = context_->oldest; s != nullptr; s = s->next_open_) all.push_back(s);
    for (DoorSession* session : all) session->stop_if_idle();
  }));
}

void DoorServer::finish_by(TimePoint deadline, std::function<void()> stopped) {
  stopped_ = std::move(stopped);
  context_->worker.wheel().arm(*this, deadline);
}

std::size_t DoorServer::open_connections() const noexcept { return context_->open_count; }

bool DoorServer::make_room() {
  for (DoorSession* s = context_->oldest; s != nullptr; s = s->next_open_) {
    if (s->recycle()) return true;
  }
  for (DoorSession* s = context_->oldest; s != nullptr; s = s->next_open_) {
    if (!s->is_lingering()) continue;
    s->abort();
    return true;
  }
  return false;
}

void DoorServer::on_accept(net::Fd fd, const Address& peer) {
  DoorContext& ctx = *context_;
  if (ctx.open_count >= ctx.settings.connections_max && !make_room()) {
    ctx.metrics.add(Metric::connections_refused);
    return;  // closes it
  }
  DoorSession* const session = take_session();
  if (session == nullptr) {
    ctx.metrics.add(Metric::connections_failed);
    return;
  }
  session->open(std::move(fd), peer);
}

// Null: no memory.
DoorSession* DoorServer::take_session() {
  if (free_ == nullptr) return new (std::nothrow) DoorSession(*context_);
  DoorSession* const session = free_;
  free_ = session->next_open_;
  session->next_open_ = nullptr;
  return session;
}

void DoorServer::on_timer(TimePoint /*now*/) { abort_all(); }

void DoorServer::end_of_turn(TimePoint /*now*/) {
  DoorContext& ctx = *context_;
  net::ClientConnection::run_resumed(ctx);
  reclaim();
  if (ctx.stopping && stopped_ && ctx.open_count == 0) {
    net::Wheel::disarm(*this);
    const auto stopped = std::exchange(stopped_, nullptr);
    stopped();
  }
}

void DoorServer::reclaim() {
  DoorContext& ctx = *context_;
  while (ctx.retired != nullptr) {
    DoorSession* const session = ctx.retired;
    ctx.retired = session->next_open_;
    session->next_open_ = free_;
    free_ = session;
  }
}

}  // namespace weir::authz
