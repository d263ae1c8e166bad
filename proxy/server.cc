#include "proxy/server.h"

#include <algorithm>
#include <new>

#include "core/assert.h"
#include "core/no_memory.h"
#include "proxy/context.h"
#include "proxy/session.h"

namespace weir::proxy {

using telemetry::Metric;

Server::Server(net::Worker& worker, const Settings& settings, gate::Judge& judge,
               telemetry::MetricCells& metrics)
    : context_(std::make_unique<Context>(worker, settings, judge, metrics)),
      doorway_(worker, *this, [this] { cut_all(); }) {
  use(settings.used_names, settings.path);
  worker.blocks().set_limit(settings.buffer_bytes);
  worker.reactor().add_hook(*this);
}

Server::~Server() {
  context_->worker.reactor().remove_hook(*this);
  while (context_->sessions.size() != 0) context_->sessions.newest()->abort();
  reclaim();
  context_->sessions.clear();
}

Result<void> Server::listen(net::Fd fd) { return doorway_.listen(std::move(fd)); }

void Server::use(std::vector<std::string> names, const PathRules& path) {
  context_->path_rules = path;
  context_->used_names = std::move(names);
  context_->used_name_views.assign(context_->used_names.begin(), context_->used_names.end());
}

void Server::use_upstreams(std::vector<net::SocketAddress> addresses) {
  context_->upstreams.use(std::move(addresses));
}

void Server::observe(telemetry::RequestSink* sink, telemetry::LatencyCells* latency) noexcept {
  WEIR_ASSERT(context_->sessions.size() == 0);
  context_->notes.use(sink, latency);
}

void Server::begin_drain(bool draining) { context_->draining = draining || context_->stopping; }

void Server::stop_accepting() {
  begin_drain();
  context_->stopping = true;
  doorway_.stop_accepting();
  // A session that needs a buffer may close others for it. Without memory for the list of them, the
  // deadline of the drain closes them.
  static_cast<void>(survives_no_memory(
      [&] { context_->sessions.for_each_open([](Session& one) { one.stop_if_idle(); }); }));
}

void Server::finish_by(TimePoint deadline, std::function<void()> stopped) {
  doorway_.finish_by(deadline, [this, stopped = std::move(stopped)] {
    context_->upstreams.close_idle();
    stopped();
  });
}

std::size_t Server::open_connections() const noexcept { return context_->sessions.size(); }

// A return before the end closes the connection.
void Server::on_accept(net::Fd fd, const Address& peer) {
  Context& ctx = *context_;
  net::ConnectionBudget* const budget = ctx.settings.connections;
  const bool counted = budget != nullptr && counts_address(peer);
  bool of_address = false, of_all = false;  // places that no session has yet
  const auto give_up = [&](Metric why) {
    ctx.metrics.add(why);
    if (of_all) budget->give_back();
    if (of_address) budget->give_back_of(peer);
  };
  try {
    of_address = counted && budget->take_of(peer);
    if (counted && !of_address) {
      ctx.metrics.add(Metric::connections_refused);
      return ctx.metrics.add(Metric::limit_per_ip);
    }
    of_all = budget != nullptr && (budget->take() || (recycle_idlest() && budget->take()));
    if (budget != nullptr && !of_all) return give_up(Metric::connections_refused);
    Session* session = ctx.sessions.take(ctx);
    if (session == nullptr) return give_up(Metric::connections_failed);
    ctx.metrics.add(Metric::connections_total);
    ctx.metrics.add(Metric::connections_open);
    of_all = of_address = false;  // the session gives them back
    session->open(std::move(fd), peer, counted);
  } catch (const std::bad_alloc&) {
    give_up(Metric::connections_failed);
  }
}

/// A Unix socket has no address.
bool Server::counts_address(const Address& peer) const noexcept {
  const Settings& settings = context_->settings;
  return peer != Address{} && !(settings.spares_trusted && settings.client_rules.trusts(peer));
}

/// Closes the client of this worker that has sent no request for longest, one that has never sent
/// any included. A walk over all sessions finds the idlest for many calls; one that finds none is
/// not repeated until a session has become idle, or has been silent for long enough: else each
/// connection over the limit would cost a walk.
bool Server::recycle_idlest() {
  for (bool looked = false;; looked = true) {
    while (!idlest_.empty()) {
      const Idle idle = idlest_.back();
      idlest_.pop_back();
      // It may have been busy since, or be another connection now.
      if (idle.session->idle_since() == idle.since && idle.session->recycle()) return true;
    }
    const bool silent = context_->silent_from <= context_->worker.now();
    if (looked || (!context_->went_idle && !silent)) return false;
    find_idlest();
  }
}

void Server::find_idlest() {
  // Many that come one after the other would cost a walk each.
  constexpr milliseconds kBetweenWalks{10};
  const TimePoint now = context_->worker.now();
  const milliseconds silence = context_->settings.silence;
  context_->went_idle = false;
  context_->silent_from = TimePoint::max();
  const auto later = [](const Idle& a, const Idle& b) { return a.since < b.since; };
  const net::ConnectionList<Session>& all = context_->sessions;
  for (Session* session = all.newest(); session != nullptr; session = all.older_than(*session)) {
    if (!session->is_idle()) continue;
    const Idle idle{session, session->idle_since()};
    if (session->is_silent()) {
      const TimePoint from = std::max(idle.since + silence, now + kBetweenWalks);
      context_->silent_from = std::min(context_->silent_from, from);
      if (idle.since + silence > now) continue;  // its first request may be on its way
    } else {
      context_->went_idle = true;
    }
    if (idlest_.size() == kIdlest) {  // a heap whose front has been idle for the shortest time
      if (!later(idle, idlest_.front())) continue;
      std::pop_heap(idlest_.begin(), idlest_.end(), later);
      idlest_.pop_back();
    }
    idlest_.push_back(idle);
    std::push_heap(idlest_.begin(), idlest_.end(), later);
  }
  std::sort(idlest_.begin(), idlest_.end(),
            [&](const Idle& a, const Idle& b) { return later(b, a); });
}

void Server::cut_all() {
  while (context_->sessions.size() != 0) {
    if (context_->sessions.newest()->cut_at_drain()) context_->metrics.add(Metric::drain_cut);
  }
}

void Server::end_of_turn(TimePoint /*now*/) {
  Context& ctx = *context_;
  net::ClientConnection::run_resumed(ctx);
  reclaim();
  doorway_.end_of_turn(ctx.sessions.size());
}

void Server::reclaim() {
  context_->sessions.reclaim();
  context_->upstreams.reclaim();
}

}  // namespace weir::proxy
