// The connection: reading, writing, deadlines. door_check.cc handles the check itself.
#include "authz/door_session.h"

#include <sys/socket.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "net/turn.h"

namespace weir::authz {
namespace {

using telemetry::Metric;

constexpr std::uint32_t kDoorEvents = EPOLLIN | EPOLLRDHUP | EPOLLET;

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
  fd_ = std::move(fd);
  state_ = State::reading_head;
  readable_ = peer_ended_ = watching_writable_ = starved_ = served_ = head_begun_ = false;
  progress_ = {};
  body_.start(net::Framing::none, 0, ctx_.settings.chunks);
  peer_ = peer == Address{} ? Address::v4(0x7f000001) : peer;  // a Unix socket: this machine
  link_newest();
  ++ctx_.open_count;
  ctx_.metrics.add(Metric::check_connections);
  if (!ctx_.worker.reactor().add(fd_.get(), kDoorEvents, *this)) return close();
  expect(ctx_.settings.head_time);
}

void DoorSession::link_newest() noexcept {
  previous_open_ = ctx_.newest;
  next_open_ = nullptr;
  (ctx_.newest != nullptr ? ctx_.newest->next_open_ : ctx_.oldest) = this;
  ctx_.newest = this;
}

void DoorSession::unlink() noexcept {
  (previous_open_ != nullptr ? previous_open_->next_open_ : ctx_.oldest) = next_open_;
  (next_open_ != nullptr ? next_open_->previous_open_ : ctx_.newest) = previous_open_;
}

void DoorSession::close() {
  if (state_ == State::closed) return;
  if (put_off_ != 0) {
    ctx_.worker.reactor().outbox().flush(*this);
    if (state_ == State::closed) return;
  }
  state_ = State::closed;
  fd_.close();
  net::Wheel::disarm(*this);
  for (net::Bytes* bytes : {&in_, &out_, &kept_}) bytes->clear();
  unlink();
  --ctx_.open_count;
  ctx_.metrics.add(Metric::check_connections, -1);
  next_open_ = ctx_.retired;  // events of this turn may still name it
  ctx_.retired = this;
}

/// Hands the connection over to the server of all other targets. False: there is none.
bool DoorSession::hand_over(std::string_view input) {
  if (!ctx_.others) return false;
  if (put_off_ != 0) ctx_.worker.reactor().outbox().flush(*this);
  if (state_ == State::closed) return true;
  if (!out_.empty()) {  // the peer does not read its earlier answer
    close();
    return true;
  }
  ctx_.worker.reactor().remove(fd_.get());
  ctx_.others(std::move(fd_), std::string(input));
  close();
  return true;
}

void DoorSession::expect(milliseconds within) noexcept {
  if (!out_.empty()) return;
  ctx_.worker.wheel().arm(*this, ctx_.worker.now() + within);
}

void DoorSession::expect_by(TimePoint deadline) noexcept {
  expect(std::max(deadline - ctx_.worker.now(), milliseconds{0}));
}

// Every state is named, so that none keeps the deadline of a stall that is over.
void DoorSession::expect_by_state() noexcept {
  switch (state_) {
    case State::reading_head:  // which waited for the stall, so its time begins now
      expect(head_begun_ ? ctx_.settings.head_time : ctx_.settings.idle);
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
    case State::discarding:
      expect(ctx_.settings.body_time);
      break;
    case State::closing:  // ends now
    case State::closed:
    case State::lingering:  // have no bytes for the caller
      break;
  }
}

void DoorSession::on_events(std::uint32_t events) {
  guarded([&] { take_events(events); });
}

void DoorSession::take_events(std::uint32_t events) {
  if (state_ == State::closed) return;
  if ((events & EPOLLERR) != 0) return caller_gone();
  if ((events & EPOLLIN) != 0) readable_ = true;
  if ((events & (EPOLLRDHUP | EPOLLHUP)) != 0) {
    readable_ = peer_ended_ = true;
    // A caller that waits no longer has given its request up.
    if (state_ == State::parked || state_ == State::held) return caller_gone();
  }
  if ((events & EPOLLOUT) != 0 && !out_.empty() && !flush()) return;
  advance();
}

int DoorSession::reads_ahead() const noexcept {
  const bool will =
      state_ == State::reading_head && !readable_ && in_.empty() && out_.empty() && !resumed_;
  return will ? fd_.get() : -1;
}

void DoorSession::advance() {
  for (ctx_.steps_left = net::kTurnSteps;; --ctx_.steps_left) {
    if (ctx_.steps_left <= 0 && state_ != State::closed) {
      readable_ = true;
      return ctx_.worker.reactor().go_on_later(*this);
    }
    switch (state_) {
      case State::reading_head:
        if (!out_.empty()) return;
        if (!read_head()) {
          const bool idle = state_ == State::reading_head && served_ && in_.empty();
          if (idle && ctx_.stopping) begin_close();
          return;
        }
        break;
      case State::reading_body:
      case State::discarding:
        if (!read_body()) return;
        break;
      case State::closing:
        if (!out_.empty()) return;
        finish_close();
        break;
      case State::lingering:
        return discard_input();
      case State::parked:
      case State::held:
      case State::closed:
        return;
    }
  }
}

std::size_t DoorSession::receive(std::span<char> into) {
  const net::IoResult result = ctx_.worker.reactor().receive(*this, fd_.get(), into);
  if (result.bytes != 0) {
    if (result.bytes < into.size() && !peer_ended_) readable_ = false;
    return result.bytes;
  }
  readable_ = false;
  if (result.ended) {
    peer_ended_ = true;
    begin_close();
  } else if (!result.would_block) {
    caller_gone();
  }
  return 0;
}

bool DoorSession::send(std::string_view bytes) {
  iovec part{const_cast<char*>(bytes.data()), bytes.size()};
  if (out_.empty() && ctx_.worker.reactor().outbox().put(*this, {&part, 1}, bytes.size())) {
    ++put_off_;
    return true;
  }
  if (put_off_ != 0) ctx_.worker.reactor().outbox().flush(*this);
  if (state_ == State::closed) return false;
  ++put_off_;
  send_now(bytes);
  return state_ != State::closed;
}

void DoorSession::send_now(std::string_view bytes) {
  --put_off_;
  if (out_.empty()) {
    const net::IoResult result = net::transmit(fd_.get(), bytes);
    if (result.error != 0) return caller_gone();
    if (result.bytes == bytes.size()) return;
    bytes.remove_prefix(result.bytes);
  }
  guarded([&] {
    out_.append(ctx_.blocks, bytes);
    watch_writable(true);
    ctx_.worker.wheel().arm(*this, ctx_.worker.now() + ctx_.settings.write);
  });
}

bool DoorSession::flush() {
  const net::IoResult result = net::transmit(fd_.get(), out_.view());
  if (result.error != 0) {
    caller_gone();
    return false;
  }
  out_.consume(result.bytes);
  if (!out_.empty()) return true;
  watch_writable(false);
  expect_by_state();
  return true;
}

void DoorSession::watch_writable(bool yes) noexcept {
  if (yes == watching_writable_) return;
  watching_writable_ = yes;
  ctx_.worker.reactor().modify(fd_.get(), kDoorEvents | (yes ? std::uint32_t{EPOLLOUT} : 0U),
                               *this);
}

void DoorSession::begin_close() {
  state_ = State::closing;
  kept_.clear();
  if (put_off_ != 0) ctx_.worker.reactor().outbox().flush(*this);
  if (state_ != State::closed && out_.empty()) finish_close();
}

void DoorSession::finish_close() {
  // Closing over unread bytes is a reset, which may take the answer out of the caller's hands.
  if (peer_ended_ || (!readable_ && in_.empty() && body_.done())) return close();
  ::shutdown(fd_.get(), SHUT_WR);
  state_ = State::lingering;
  in_.clear();
  expect(ctx_.settings.linger);
}

void DoorSession::discard_input() {
  for (std::size_t taken = 0; readable_;) {
    if (taken >= net::kTurnBytes) return ctx_.worker.reactor().go_on_later(*this);
    const std::size_t n = receive(ctx_.worker.scratch_in());
    if (n == 0) return;
    taken += n;
  }
}

void DoorSession::caller_gone() {
  if (put_off_ != 0) ctx_.worker.reactor().outbox().forget(*this);
  put_off_ = 0;
  const TimePoint now = ctx_.worker.now();
  if (state_ == State::parked) ctx_.judge.unpark(*this);
  if (state_ == State::held) {
    state_ = State::reading_body;
    ctx_.judge.unhold(now);
  }
  if (ticket_ != nullptr)
    ctx_.judge.finish(*std::exchange(ticket_, nullptr), gate::End::not_sent, now);
  close();
}

void DoorSession::abort() {
  if (state_ == State::closed) return;
  if (fd_.get() >= 0) net::set_abort_on_close(fd_.get());
  caller_gone();
}

bool DoorSession::recycle() {
  const bool waits = state_ == State::reading_head && (in_.empty() || starved_);
  if (!waits || put_off_ != 0 || !out_.empty()) return false;
  char next = 0;
  if (ctx_.worker.reactor().has_received(*this) ||
      ::recv(fd_.get(), &next, 1, MSG_PEEK | MSG_DONTWAIT) > 0) {
    return false;
  }
  close();
  return true;
}

void DoorSession::stop_if_idle() {
  if (state_ != State::reading_head || !served_) return;
  readable_ = true;  // a check that has arrived but has not been delivered yet is answered
  guarded([&] { advance(); });
}

void DoorSession::on_timer(TimePoint /*now*/) {
  guarded([&] { take_timer(); });
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
    case State::discarding:
    case State::closing:
    case State::lingering:
      return close();
  }
  advance();
}

void DoorSession::run_resumed() {
  resumed_ = false;
  guarded([&] { advance(); });
}

}  // namespace weir::authz
