#include "proxy/session.h"

#include <sys/socket.h>

#include <algorithm>

#include "core/no_memory.h"
#include "gate/judging.h"

namespace weir::proxy {
namespace {

using telemetry::Metric;

}  // namespace

void Session::open(net::Fd fd, const Address& peer, bool counted) {
  start(std::move(fd));
  counted_ = counted;
  peer_.address = peer == Address{} ? Address::loopback() : peer;  // a Unix socket: this machine
  peer_.trusted = ctx_.settings.client_rules.trusts(peer_.address);
  peer_text_size_ = static_cast<std::uint8_t>(peer_.address.to_chars(peer_text_));
  ctx_.sessions.open(*this);
  if (!watch()) return close();
  expect(Phase::head, ctx_.settings.head_time);
  ctx_.silent_from = std::min(ctx_.silent_from, idle_since() + ctx_.settings.silence);
}

void Session::close() {
  if (state_ == State::closed) return;
  send_put_off();
  if (state_ == State::closed) return;
  note_unjudged();
  state_ = State::closed;
  ctx_.notes.end(notes_);
  drop_upstream();
  fd_.close();
  net::Wheel::disarm(*this);
  for (net::Bytes* bytes : {&in_, &out_, &kept_, &lines_}) bytes->clear();
  tap_.clear();
  ctx_.metrics.add(Metric::connections_open, -1);
  if (ctx_.settings.connections != nullptr) {
    ctx_.settings.connections->give_back();
    if (counted_) ctx_.settings.connections->give_back_of(peer_.address);
  }
  ctx_.sessions.close(*this);
}

bool Session::relay() {
  switch (state_) {
    case State::exchanging:
      exchange();
      return state_ != State::exchanging;
    case State::reading_on:
      read_on();
      return false;
    default:
      tunnel();
      return false;
  }
}

void Session::client_ended() {
  if (state_ == State::exchanging) return client_gone();  // in the middle of its body
  begin_close();
}

void Session::client_gone() {
  forget_put_off();
  const State state = state_;
  if (notes_ != nullptr && state != State::tunnelling) notes_->ends(RequestEnd::aborted);
  switch (state) {
    case State::closed:
    case State::reading_on:
      return;
    case State::parked:
      ctx_.judge.unpark(*this);
      ctx_.metrics.add(Metric::client_aborts);
      break;
    case State::held:
      release_held(true);
      ctx_.metrics.add(Metric::client_aborts);
      break;
    case State::exchanging:
      ctx_.metrics.add(Metric::client_aborts);
      if (answer_started_) {
        // Hanging up before a policy has read the answer's body is not free either.
        if (begin_reading_on()) return;
        finish(gate::End::complete);
      } else {
        const bool sent = sent_ || (upstream_ != nullptr && upstream_->sent());
        finish(sent ? gate::End::aborted : gate::End::not_sent);
      }
      break;
    case State::tunnelling:
      finish(gate::End::complete);
      break;
    default:
      break;
  }
  close();
}

bool Session::cut_at_drain() {
  const bool busy = state_ == State::reading_body || state_ == State::parked ||
                    state_ == State::held || state_ == State::exchanging ||
                    state_ == State::tunnelling;
  if (busy && notes_ != nullptr) notes_->ends(RequestEnd::drained);
  abort();
  return busy;
}

void Session::abort() {
  if (state_ == State::closed) return;
  switch (state_) {
    case State::parked:
      ctx_.judge.unpark(*this);
      break;
    case State::held:
      release_held(true);
      break;
    case State::exchanging:  // not the client's doing
    case State::reading_on:
      settle_tap(false);
      finish(answer_started_ ? gate::End::complete : gate::End::upstream_failed);
      break;
    case State::tunnelling:
      finish(gate::End::complete);
      break;
    default:  // there was no memory to begin the exchange
      finish(gate::End::not_sent);
      break;
  }
  if (fd_.get() >= 0) net::set_abort_on_close(fd_.get());
  close();
}

// Every state is named, so that none keeps the deadline of a stall that is over.
void Session::expect_by_state() noexcept {
  switch (state_) {
    case State::reading_head:  // which waited for the stall, so its time begins now
      head_begun_ ? expect(Phase::head, head_time()) : expect(Phase::idle, ctx_.settings.idle);
      break;
    case State::reading_body:
      expect_body(in_.size());
      break;
    case State::held:
      expect_release();
      break;
    case State::exchanging:
      update_deadline();
      break;
    case State::tunnelling:
      expect(Phase::tunnel, ctx_.settings.tunnel);
      break;
    case State::draining:
      expect(Phase::body, ctx_.settings.body_time);
      break;
    case State::parked:  // the judge watches its deadline
      expect_nothing();
      break;
    case State::lingering:
      expect(Phase::linger, ctx_.settings.linger);
      break;
    case State::closing:  // ends now
    case State::closed:
    case State::reading_on:  // has no bytes for the client
      break;
  }
}

void Session::next_request() {
  ctx_.notes.end(notes_);
  next_head();
  lines_.clear();
  kept_.clear();
  ctx_.went_idle = true;
  expect(Phase::idle, ctx_.settings.idle);
}

void Session::drop_request() {
  note_unjudged();
  ctx_.notes.end(notes_);
  lines_.clear();
  kept_.clear();
}

bool Session::is_idle() const noexcept {
  if (state_ != State::reading_head || !in_.empty() || !out_.empty() || put_off_ != 0 || resumed_)
    return false;
  return served_ ? phase_ == Phase::idle : phase_ == Phase::head && !head_begun_;
}

TimePoint Session::idle_since() const noexcept {
  return deadline() - (served_ ? ctx_.settings.idle : ctx_.settings.head_time);
}

bool Session::recycle() {
  if (!is_idle() || has_unread_bytes()) return false;
  ctx_.metrics.add(Metric::connections_recycled);
  close();
  return true;
}

milliseconds Session::head_time() const noexcept {
  const Settings& settings = ctx_.settings;
  return ctx_.stopping ? std::min(settings.head_time, settings.drain_head) : settings.head_time;
}

void Session::stop_if_idle() {
  if (state_ != State::reading_head) return;
  readable_ = true;  // a request that has arrived but has not been delivered yet is served
  guarded([&] { advance(); });
  // A client that sends the rest of a head soon is served; one that does not must not hold the
  // drain.
  if (state_ == State::reading_head && phase_ == Phase::head && head_begun_) {
    const milliseconds left = deadline() - ctx_.worker.now();
    expect(Phase::head, std::clamp(left, milliseconds{0}, head_time()));
  }
  // The first request of a new connection may arrive a moment later.
  if (is_idle() && is_silent()) {
    const TimePoint until = idle_since() + ctx_.settings.silence;
    expect(Phase::head, std::max(until - ctx_.worker.now(), milliseconds{0}));
  }
}

void Session::take_timer() {
  if (state_ == State::closed) return;
  switch (phase_) {
    case Phase::head:
      if (ctx_.stopping && is_idle()) {  // stop_if_idle() waited for its first request
        if (!has_unread_bytes()) return close();
        readable_ = true;
        expect(Phase::head, head_time());
        break;
      }
      ctx_.metrics.add(Metric::timeout_head);
      if (in_.empty()) return close();
      lose_track();
      reply_problem(408);
      break;
    case Phase::idle:
      ctx_.metrics.add(Metric::timeout_idle);
      return close();
    case Phase::body:
      ctx_.metrics.add(Metric::timeout_body);
      if (state_ == State::draining) return close();
      keep_alive_ = false;
      if (state_ == State::exchanging) {
        fail(408, gate::End::aborted);
      } else {
        reply_problem(408);
      }
      break;
    case Phase::connect:
      ctx_.metrics.add(Metric::timeout_connect);
      if (ctx_.upstreams.try_next(*upstream_)) return update_deadline();
      ctx_.metrics.add(Metric::upstream_failures);
      fail(504, gate::End::not_sent);
      break;
    case Phase::answer:
      ctx_.metrics.add(Metric::timeout_answer);
      ctx_.metrics.add(Metric::upstream_silent);
      fail(504, gate::End::upstream_failed);
      break;
    case Phase::read_on:
      return end_reading_on(false);
    case Phase::write:
      if (out_.empty()) return expect_by_state();
      ctx_.metrics.add(Metric::timeout_write);
      net::set_abort_on_close(fd_.get());
      return client_gone();
    case Phase::tunnel:
      ctx_.metrics.add(Metric::timeout_idle);
      return client_gone();
    case Phase::linger:
      return close();
    case Phase::hold:
      release_held(false);
      break;
  }
  advance();
}

// Called by the judge for one waiter after the other: the work resumes at the server's own end of
// the turn, because it may park or end other sessions.
void Session::resume(TimePoint now) {
  if (state_ != State::parked) return;
  state_ = State::reading_body;
  bool survived = false;
  const bool waits = gate::judge_resumed(ctx_.judge, *this, now, [&](bool may_wait) {
    // Not guarded(): making room may end other sessions, which this very tick() may be resuming.
    survived = survives_no_memory([&] { judge_kept(may_wait); });
    return survived && state_ == State::parked;
  });
  if (!survived) return out_of_memory();
  if (!waits) go_on_after_turn();
}

std::size_t Session::held_bytes() const noexcept {
  std::size_t held = in_.held() + out_.held() + kept_.held() + lines_.held() + tap_.held();
  if (upstream_ != nullptr) held += upstream_->held();
  return held;
}

int Session::eviction_rank() const noexcept {
  if (state_ == State::reading_on) return 1;
  if (!out_.empty()) return 2;
  return state_ == State::reading_head || state_ == State::reading_body ? 0 : 3;
}

void Session::evict() {
  if (state_ == State::closed) return;
  ctx_.metrics.add(Metric::limit_buffers);
  switch (eviction_rank()) {
    case 0:
      if (state_ == State::reading_head) lose_track();
      keep_alive_ = false;
      reply_problem(503, kRetryAfter);
      if (state_ != State::closed) in_.clear();
      return;
    case 1:
      return end_reading_on(false);
    default:
      net::set_abort_on_close(fd_.get());
      return client_gone();
  }
}

// Ends this connection, and nothing else.
void Session::out_of_memory() noexcept {
  if (state_ == State::closed) return;
  ctx_.metrics.add(Metric::connections_failed);
  try {
    return abort();
  } catch (const std::exception&) {  // settling may want memory, too
  }
  try {
    finish(gate::End::complete);
  } catch (const std::exception&) {
  }
  close();
}

}  // namespace weir::proxy
