// The connection: reading, writing, deadlines. door_check.cc handles the check itself.
#include "authz/door_session.h"

#include <algorithm>
#include <exception>
#include <utility>

namespace weir::authz {
namespace {

using telemetry::Metric;

}  // namespace

void DoorSession::out_of_memory() noexcept {
  if (state_ == State::closed) return;
  ctx_.metrics.add(Metric::limit_buffers);
  try {
    abort();
  } catch (const std::exception&) {  // settling may want memory, too
    ticket_ = nullptr;
    close();
  }
}

void DoorSession::open(net::Fd fd, const Address& peer) {
  start(std::move(fd));
  peer_ = peer == Address{} ? Address::loopback() : peer;  // a Unix socket: this machine
  ctx_.sessions.open(*this);
  ctx_.metrics.add(Metric::check_connections);
  if (!watch()) return close();
  expect(ctx_.settings.head_time);
}

void DoorSession::close() {
  if (state_ == State::closed) return;
  send_put_off();
  if (state_ == State::closed) return;
  state_ = State::closed;
  fd_.close();
  net::Wheel::disarm(*this);
  for (net::Bytes* bytes : {&in_, &out_, &kept_}) bytes->clear();
  ctx_.metrics.add(Metric::check_connections, -1);
  ctx_.sessions.close(*this);
}

/// Hands the connection over to the server of all other targets. False: there is none.
bool DoorSession::hand_over(std::string_view input) {
  if (!ctx_.others) return false;
  if (!send_put_off()) return true;
  if (!out_.empty()) {  // the peer does not read its earlier answer
    close();
    return true;
  }
  ctx_.worker.reactor().remove(fd_.get());
  ctx_.others(std::move(fd_), std::string(input));
  close();
  return true;
}

void DoorSession::expect_by(TimePoint deadline) noexcept {
  expect(std::max(deadline - ctx_.worker.now(), milliseconds{0}));
}

// Every state is named, so that none keeps the deadline of a stall that is over.
void DoorSession::expect_by_state() noexcept {
  switch (state_) {
    case State::reading_head:  // which waited for the stall, so its time begins now
      expect(head_begun_ ? head_time() : ctx_.settings.idle);
      break;
    case State::reading_body:
      expect_by(time_ + ctx_.settings.body_time);
      break;
    case State::parked:
      wait_for_others();
      break;
    case State::held:
      expect_by(held_until_);
      break;
    case State::draining:
      expect(ctx_.settings.body_time);
      break;
    case State::lingering:
      expect(ctx_.settings.linger);
      break;
    case State::closing:  // ends now
    case State::closed:
    case State::exchanging:  // of a proxy
    case State::reading_on:
    case State::tunnelling:
      break;
  }
}

void DoorSession::expect_write() noexcept { arm(ctx_.settings.write); }

bool DoorSession::send(std::string_view bytes) {
  net::Parts parts;
  parts.add(bytes);
  return ClientConnection::send(parts);
}

void DoorSession::client_gone() {
  forget_put_off();
  const TimePoint now = ctx_.worker.now();
  if (state_ == State::parked) ctx_.judge.unpark(*this);
  if (state_ == State::held) {
    state_ = State::reading_body;
    ctx_.judge.end_hold();
  }
  if (ticket_ != nullptr)
    ctx_.judge.finish(*std::exchange(ticket_, nullptr), gate::End::not_sent, now);
  close();
}

void DoorSession::abort() {
  if (state_ == State::closed) return;
  if (fd_.get() >= 0) net::set_abort_on_close(fd_.get());
  client_gone();
}

bool DoorSession::recycle() {
  const bool waits = state_ == State::reading_head && (in_.empty() || starved_);
  if (!waits || put_off_ != 0 || !out_.empty()) return false;
  if (has_unread_bytes()) return false;
  close();
  return true;
}

milliseconds DoorSession::head_time() const noexcept {
  const DoorSettings& settings = ctx_.settings;
  return ctx_.stopping ? std::min(settings.head_time, settings.drain_head) : settings.head_time;
}

void DoorSession::stop_if_idle() {
  if (state_ != State::reading_head) return;
  readable_ = true;  // a check that has arrived but has not been delivered yet is answered
  guarded([&] { advance(); });
  if (state_ != State::reading_head || put_off_ != 0 || !out_.empty()) return;
  // Who sends a first check, or the rest of a head, a moment later is answered.
  const milliseconds left = deadline() - ctx_.worker.now();
  const milliseconds most =
      head_begun_ ? head_time() : std::min(ctx_.settings.silence, ctx_.settings.head_time);
  if (head_begun_ || !served_) expect(std::clamp(left, milliseconds{0}, most));
}

void DoorSession::take_timer() {
  if (state_ != State::closed && !out_.empty()) {
    ctx_.metrics.add(Metric::timeout_write);
    return abort();
  }
  switch (state_) {
    case State::closed:
      return;
    case State::reading_head:
      if (!head_begun_) {
        if (ctx_.stopping && has_unread_bytes()) {
          readable_ = true;
          expect(head_time());
          break;
        }
        if (served_) ctx_.metrics.add(Metric::timeout_idle);
        return close();
      }
      ctx_.metrics.add(Metric::timeout_head);
      lose_track();
      problem(408, {});
      break;
    case State::reading_body:
      ctx_.metrics.add(Metric::timeout_body);
      keep_alive_ = false;
      problem(408, {});
      break;
    case State::parked:
      ctx_.judge.unpark(*this);
      state_ = State::reading_body;
      judge_kept(false);
      if (state_ == State::parked) return;
      break;
    case State::held:
      release_held();
      break;
    case State::draining:
    case State::closing:
    case State::lingering:
    case State::exchanging:
    case State::reading_on:
    case State::tunnelling:
      return close();
  }
  advance();
}

}  // namespace weir::authz
