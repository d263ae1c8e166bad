#include "proxy/server.h"

#include <new>

#include "proxy/context.h"
#include "proxy/session.h"

namespace weir::proxy {

using telemetry::Metric;

Server::Server(net::Worker& worker, const Settings& settings, gate::Judge& judge,
               telemetry::MetricCells& metrics)
    : context_(std::make_unique<Context>(worker, settings, judge, metrics)) {
  use(settings.used_names, settings.path);
  worker.blocks().set_limit(settings.buffer_bytes);
  worker.reactor().add_hook(*this);
}

Server::~Server() {
  context_->worker.reactor().remove_hook(*this);
  for (Session* session = context_->open; session != nullptr;) {
    Session* next = session->next_open_;
    session->abort();
    session = next;
  }
  reclaim();
  while (free_ != nullptr) {
    Session* session = free_;
    free_ = session->next_open_;
    delete session;
  }
}

Result<void> Server::listen(net::Fd fd) {
  net::AcceptHandler& self = *this;  // a private base: std::list may not convert
  listeners_.emplace_back(context_->worker.reactor(), std::move(fd), self);
  auto started = listeners_.back().start();
  if (!started) listeners_.pop_back();
  return started;
}

void Server::use(std::vector<std::string> names, const PathRules& path) {
  context_->path_rules = path;
  context_->used_names = std::move(names);
  context_->used_name_views.assign(context_->used_names.begin(), context_->used_names.end());
}

void Server::begin_drain(bool draining) { context_->draining = draining || context_->stopping; }

void Server::stop_accepting() {
  begin_drain();
  context_->stopping = true;
  for (net::Listener& listener : listeners_) listener.stop();
  for (Session* session = context_->open; session != nullptr;) {
    Session* next = session->next_open_;
    session->stop_if_idle();
    session = next;
  }
}

void Server::finish_by(TimePoint deadline, std::function<void()> stopped) {
  stopped_ = std::move(stopped);
  context_->worker.wheel().arm(*this, deadline);
}

std::size_t Server::open_connections() const noexcept { return context_->open_count; }

void Server::on_accept(net::Fd fd, const Address& peer) {
  Context& ctx = *context_;
  if (ctx.settings.connections != nullptr && !ctx.settings.connections->take()) {
    ctx.metrics.add(Metric::connections_refused);
    return;  // closes it
  }
  Session* session = take_session();
  if (session == nullptr) {
    ctx.metrics.add(Metric::connections_failed);
    if (ctx.settings.connections != nullptr) ctx.settings.connections->give_back();
    return;
  }
  ctx.metrics.add(Metric::connections_total);
  ctx.metrics.add(Metric::connections_open);
  session->open(std::move(fd), peer);
}

// Null: no memory.
Session* Server::take_session() {
  if (free_ == nullptr) return new (std::nothrow) Session(*context_);
  Session* session = free_;
  free_ = session->next_open_;
  session->next_open_ = nullptr;
  return session;
}

void Server::on_timer(TimePoint /*now*/) {
  for (Session* session = context_->open; session != nullptr;) {
    Session* next = session->next_open_;
    session->abort();
    session = next;
  }
}

void Server::end_of_turn(TimePoint now) {
  Context& ctx = *context_;
  if (ctx.judge.has_waiters()) {
    ctx.judge.tick(now);
    // Twice a tick of the wheel is under the 20 ms that the judge asks for.
    if (ctx.judge.has_waiters()) ctx.worker.wheel().arm(waker_, now + net::Wheel::kTick);
  }
  while (ctx.resumed != nullptr) {
    Session* session = ctx.resumed;
    ctx.resumed = session->next_resumed_;
    session->next_resumed_ = nullptr;
    session->run_resumed();
  }
  reclaim();
  if (ctx.stopping && stopped_ && ctx.open_count == 0) {
    ctx.upstreams.close_idle();
    net::Wheel::disarm(*this);
    const auto stopped = std::exchange(stopped_, nullptr);
    stopped();
  }
}

void Server::reclaim() {
  Context& ctx = *context_;
  while (ctx.retired != nullptr) {
    Session* session = ctx.retired;
    ctx.retired = session->next_open_;
    session->next_open_ = free_;
    free_ = session;
  }
  ctx.upstreams.reclaim();
}

}  // namespace weir::proxy
