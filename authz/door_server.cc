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
    : context_(std::make_unique<DoorContext>(worker, settings, judge, unsettled, metrics)),
      doorway_(worker, *this, [this] { abort_all(); }) {
  worker.reactor().add_hook(*this);
}

DoorServer::~DoorServer() {
  context_->worker.reactor().remove_hook(*this);
  abort_all();
  context_->sessions.reclaim();
  context_->sessions.clear();
}

void DoorServer::abort_all() {
  while (context_->sessions.size() != 0) context_->sessions.oldest()->abort();
}

void DoorServer::give_others_to(std::function<void(net::Fd, std::string)> taker) {
  context_->others = std::move(taker);
}

void DoorServer::use(const PathRules& path) { context_->path = path; }

Result<void> DoorServer::listen(net::Fd fd) { return doorway_.listen(std::move(fd)); }

void DoorServer::begin_drain(bool draining) { context_->draining = draining || context_->stopping; }

void DoorServer::stop_accepting() {
  begin_drain();
  context_->stopping = true;
  doorway_.stop_accepting();
  // A session that answers may close itself. Without memory for the list of them, the deadline of
  // the drain closes them.
  static_cast<void>(survives_no_memory(
      [&] { context_->sessions.for_each_open([](DoorSession& one) { one.stop_if_idle(); }); }));
}

void DoorServer::finish_by(TimePoint deadline, std::function<void()> stopped) {
  doorway_.finish_by(deadline, std::move(stopped));
}

std::size_t DoorServer::open_connections() const noexcept { return context_->sessions.size(); }

bool DoorServer::make_room() {
  const net::ConnectionList<DoorSession>& all = context_->sessions;
  for (DoorSession* s = all.oldest(); s != nullptr; s = all.newer_than(*s)) {
    if (s->recycle()) return true;
  }
  for (DoorSession* s = all.oldest(); s != nullptr; s = all.newer_than(*s)) {
    if (!s->is_lingering()) continue;
    s->abort();
    return true;
  }
  return false;
}

void DoorServer::on_accept(net::Fd fd, const Address& peer) {
  DoorContext& ctx = *context_;
  if (ctx.sessions.size() >= ctx.settings.connections_max && !make_room()) {
    ctx.metrics.add(Metric::connections_refused);
    return;  // closes it
  }
  DoorSession* const session = ctx.sessions.take(ctx);
  if (session == nullptr) {
    ctx.metrics.add(Metric::connections_failed);
    return;
  }
  session->open(std::move(fd), peer);
}

void DoorServer::end_of_turn(TimePoint /*now*/) {
  DoorContext& ctx = *context_;
  net::ClientConnection::run_resumed(ctx);
  ctx.sessions.reclaim();
  doorway_.end_of_turn(ctx.sessions.size());
}

}  // namespace weir::authz
