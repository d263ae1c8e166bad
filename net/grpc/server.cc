#include "net/grpc/server.h"

#include <new>
#include <utility>

#include "core/assert.h"
#include "net/connection_budget.h"
#include "net/grpc/connection.h"
#include "net/grpc/context.h"
#include "net/grpc/stream.h"

namespace weir::net::grpc {

using telemetry::Metric;

namespace {

// A connection that is idle for this long, or on which no call has been answered for this long, may
// be closed to make room for a new one.
constexpr milliseconds kUnused{1'000};

}  // namespace

Server::Server(Worker& worker, const Settings& settings, telemetry::MetricCells& metrics)
    : context_(std::make_unique<Context>(worker, settings, metrics)),
      doorway_(worker, *this, [this] { abort_all(); }) {
  // So a call with a value that LongValues changes is refused.
  WEIR_ASSERT(settings.field_bytes <= LongValues::kTextMax);
  prepare_sessions(*context_);
  worker.reactor().add_hook(*this);
}

Server::~Server() {
  context_->worker.reactor().remove_hook(*this);
  abort_all();
  reclaim();
  context_->connections.clear();
  while (context_->free_streams != nullptr) {
    delete std::exchange(context_->free_streams, context_->free_streams->next_);
  }
}

void Server::add(Method& method) {
  WEIR_ASSERT(!doorway_.is_open());
  context_->methods.push_back(&method);
}

Result<void> Server::listen(Fd fd) { return doorway_.listen(std::move(fd)); }

void Server::begin_drain() {
  const ConnectionList<Connection>& all = context_->connections;
  for (Connection* c = all.newest(); c != nullptr; c = all.older_than(*c)) c->begin_drain();
}

void Server::stop_accepting() {
  context_->stopping = true;
  doorway_.stop_accepting();
  begin_drain();
}

void Server::finish_by(TimePoint deadline, std::function<void()> stopped) {
  doorway_.finish_by(deadline, std::move(stopped));
}

std::size_t Server::open_connections() const noexcept { return context_->connections.size(); }
std::size_t Server::kept_bytes() const noexcept { return context_->kept(); }

void Server::on_accept(Fd fd, const Address& peer) {
  Context& ctx = *context_;
  ConnectionBudget* const budget = ctx.settings.connections;
  // A connection keeps memory before it has asked anything: those that are served come first.
  const bool crowded = ctx.kept() > ctx.enough() && !make_place();
  if (crowded || (budget != nullptr && !budget->take() && !(make_place() && budget->take()))) {
    ctx.metrics.add(Metric::grpc_connections_refused);
    return;  // closes it
  }
  Connection* const connection = ctx.connections.take(ctx);
  if (connection == nullptr) {
    ctx.metrics.add(Metric::grpc_connections_failed);
    if (budget != nullptr) budget->give_back();
    return;
  }
  if (ctx.settings.tls != nullptr) bound_handshakes();
  ctx.metrics.add(Metric::grpc_connections);
  ctx.metrics.add(Metric::grpc_connections_open);
  connection->open(std::move(fd), peer);
}

// Peers that open connections, and ask nothing or never finish, must not keep others out. False:
// each connection is new, or is being served.
bool Server::make_place() {
  const TimePoint unused_since = context_->worker.now() - kUnused;
  Connection* oldest = nullptr;
  const ConnectionList<Connection>& all = context_->connections;
  for (Connection* c = all.newest(); c != nullptr; c = all.older_than(*c)) {
    if (c->is_idle() && (oldest == nullptr || c->last_read() < oldest->last_read())) oldest = c;
  }
  if (oldest != nullptr && oldest->last_read() <= unused_since) {
    oldest->abort();
    return true;
  }
  Connection* const stalled = least_useful(*context_, unused_since);
  if (stalled == nullptr) return false;
  stalled->evict();
  return true;
}

// Peers that stall their handshakes make room for those that progress.
void Server::bound_handshakes() {
  // Half of the memory for all connections, divided by that of a usual handshake.
  constexpr std::size_t kHandshakeBytes = 64 << 10, kLeast = 8;
  const std::size_t fit = std::max(kLeast, context_->enough() / 2 / kHandshakeBytes);
  if (context_->handshakes < std::min(context_->settings.handshakes, fit)) return;
  const ConnectionList<Connection>& all = context_->connections;
  Connection* oldest = all.oldest();
  while (oldest != nullptr && !oldest->is_shaking_hands()) oldest = all.newer_than(*oldest);
  if (oldest == nullptr) return;
  context_->metrics.add(Metric::grpc_tls_failed);
  oldest->abort();
}

void Server::abort_all() {
  while (context_->connections.size() != 0) context_->connections.newest()->abort();
}

void Server::end_of_turn(TimePoint /*now*/) {
  Context& ctx = *context_;
  while (ctx.dirty != nullptr) {
    Connection* const connection = std::exchange(ctx.dirty, ctx.dirty->next_dirty_);
    connection->flush();
  }
  reclaim();
  doorway_.end_of_turn(ctx.connections.size());
}

void Server::reclaim() {
  context_->connections.reclaim([&](Connection& connection) {
    if (!connection.is_dirty_) return;
    // Closed after the end of the turn: it leaves the list first.
    for (Connection** at = &context_->dirty; *at != nullptr; at = &(*at)->next_dirty_) {
      if (*at != &connection) continue;
      *at = connection.next_dirty_;
      break;
    }
  });
}

}  // namespace weir::net::grpc
