#include "proxy/session.h"

#include <sys/socket.h>

namespace weir::proxy {
namespace {

using telemetry::Metric;

// Requests, or reads of a body, that one connection may have served before others get their turn.
constexpr int kStepsPerTurn = 32;

}  // namespace

void Session::open(net::Fd fd, const Address& peer) {
  fd_ = std::move(fd);
  state_ = State::reading_head;
  readable_ = peer_ended_ = watching_writable_ = starved_ = served_ = head_begun_ = false;
  progress_in_ = {};
  body_.start(net::Framing::none, 0, ctx_.settings.chunks);
  peer_.address =
      peer == Address{} ? Address::v4(0x7f000001) : peer;  // a Unix socket: this machine
  peer_.trusted = ctx_.settings.client_rules.trusts(peer_.address);
  peer_text_size_ = static_cast<std::uint8_t>(peer_.address.to_chars(peer_text_));
  previous_open_ = nullptr;
  next_open_ = ctx_.open;
  if (ctx_.open != nullptr) ctx_.open->previous_open_ = this;
  ctx_.open = this;
  ++ctx_.open_count;
  if (!ctx_.worker.reactor().add(fd_.get(), kReadEvents, *this)) return close();
  expect(Phase::head, ctx_.settings.head_time);
}

void Session::close() {
  if (state_ == State::closed || !send_put_off()) return;
  state_ = State::closed;
  drop_upstream();
  fd_.close();
  net::Wheel::disarm(*this);
  for (net::Bytes* bytes : {&in_, &out_, &kept_, &lines_}) bytes->clear();
  tap_.clear();
  (previous_open_ != nullptr ? previous_open_->next_open_ : ctx_.open) = next_open_;
  if (next_open_ != nullptr) next_open_->previous_open_ = previous_open_;
  --ctx_.open_count;
  ctx_.metrics.add(Metric::connections_open, -1);
  if (ctx_.settings.connections != nullptr) ctx_.settings.connections->give_back();
  next_open_ = ctx_.retired;  // events of this turn may still name it
  ctx_.retired = this;
}

void Session::expect(Phase phase, milliseconds within) noexcept {
  phase_ = phase;
  ctx_.worker.wheel().arm(*this, ctx_.worker.now() + within);
}

void Session::on_events(std::uint32_t events) {
  guarded([&] { take_events(events); });
}

void Session::take_events(std::uint32_t events) {
  if (state_ == State::closed || state_ == State::reading_on) return;
  if ((events & EPOLLERR) != 0) return client_gone();
  if ((events & EPOLLIN) != 0) readable_ = true;
  if ((events & (EPOLLRDHUP | EPOLLHUP)) != 0) {
    readable_ = peer_ended_ = true;
    // A client that has sent its request and shut its side may still wait for the answer. But
    // places among the waiting are few, and one that hangs up gives its place back.
    if (state_ == State::parked || state_ == State::held) return client_gone();
  }
  if ((events & EPOLLOUT) != 0 && !out_.empty() && !flush()) return;
  advance();
}

// A client that is quiet between two requests: only its own event wakes it.
int Session::reads_ahead() const noexcept {
  const bool will =
      state_ == State::reading_head && !readable_ && in_.empty() && out_.empty() && !resumed_;
  return will ? fd_.get() : -1;
}

void Session::advance() {
  for (int step = 0;; ++step) {
    if (step == kStepsPerTurn &&
        state_ != State::reading_on) {  // re-arming looks again, after the others
      ctx_.worker.reactor().modify(
          fd_.get(), kReadEvents | (watching_writable_ ? std::uint32_t{EPOLLOUT} : 0U), *this);
      readable_ = true;
      return;
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
        if (!read_body()) return;
        break;
      case State::draining:
        if (!drain_body()) return;
        break;
      case State::exchanging:
        relay();
        if (state_ == State::exchanging) return;
        break;
      case State::reading_on:
        return read_on();
      case State::tunnelling:
        return tunnel();
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

std::size_t Session::receive(std::span<char> into) {
  const net::IoResult result = ctx_.worker.reactor().receive(*this, fd_.get(), into);
  if (result.bytes != 0) {
    // A stream socket that gave less than asked is empty (epoll(7)); the next byte is a new edge.
    if (result.bytes < into.size() && !peer_ended_) readable_ = false;
    return result.bytes;
  }
  readable_ = false;
  if (result.ended) {
    peer_ended_ = true;
    client_ended();
  } else if (!result.would_block) {
    client_gone();
  }
  return 0;
}

void Session::client_ended() {
  if (state_ == State::exchanging) return client_gone();  // in the middle of its body
  begin_close();
}

void Session::client_gone() {
  if (put_off_ != 0) ctx_.worker.reactor().outbox().forget(*this);
  put_off_ = 0;
  const State state = state_;
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
    default:
      break;
  }
  if (fd_.get() >= 0) net::set_abort_on_close(fd_.get());
  close();
}

bool Session::send(const Parts& parts) {
  if (parts.empty()) return true;
  if (put_off_ != 0 || out_.empty()) {
    if (ctx_.worker.reactor().outbox().put(*this, parts.span(), parts.size())) {
      ++put_off_;
      progress_ = true;
      return true;
    }
    if (!send_put_off()) return false;
  }
  return write(parts);
}

void Session::send_now(std::string_view bytes) {
  --put_off_;
  if (out_.empty()) {
    const net::IoResult result = net::transmit(fd_.get(), bytes);
    if (result.error != 0) return client_gone();
    if (result.bytes == bytes.size()) return;
    bytes.remove_prefix(result.bytes);
  }
  try {
    out_.append(ctx_.worker.blocks(), bytes);
  } catch (const std::bad_alloc&) {  // others still send in this batch
    return out_of_memory();
  }
  await_writable();
}

bool Session::send_put_off() {
  if (put_off_ != 0) ctx_.worker.reactor().outbox().flush(*this);
  return state_ != State::closed;
}

bool Session::write(const Parts& parts) {
  std::size_t sent = 0;
  if (out_.empty()) {
    const net::IoResult result = parts.transmit(fd_.get(), ctx_.worker.scratch_out());
    if (result.error != 0) {
      client_gone();
      return false;
    }
    sent = result.bytes;
  }
  progress_ = progress_ || sent != 0;
  if (sent == parts.size()) return true;
  for (const iovec& part : parts.span()) {
    if (sent >= part.iov_len) {
      sent -= part.iov_len;
      continue;
    }
    out_.append(ctx_.worker.blocks(),
                {static_cast<const char*>(part.iov_base) + sent, part.iov_len - sent});
    sent = 0;
  }
  await_writable();
  return true;
}

void Session::await_writable() noexcept {
  watch_writable(true);
  expect(Phase::write, ctx_.settings.write);
}

bool Session::flush() {
  const net::IoResult result = net::transmit(fd_.get(), out_.view());
  if (result.error != 0) {
    client_gone();
    return false;
  }
  if (result.bytes != 0) {
    out_.consume(result.bytes);
    progress_ = true;
    expect(Phase::write, ctx_.settings.write);
  }
  if (!out_.empty()) return true;
  watch_writable(false);
  switch (state_) {  // the stall is over: back to the deadline that the state has
    case State::reading_head:
      expect(Phase::idle, ctx_.settings.idle);
      break;
    case State::draining:
      expect(Phase::body, ctx_.settings.body_time);
      break;
    case State::exchanging:
      update_deadline();
      break;
    default:
      break;
  }
  return true;
}

void Session::watch_writable(bool yes) noexcept {
  if (yes == watching_writable_) return;
  watching_writable_ = yes;
  ctx_.worker.reactor().modify(fd_.get(), kReadEvents | (yes ? std::uint32_t{EPOLLOUT} : 0U),
                               *this);
}

void Session::next_request() {
  state_ = State::reading_head;
  served_ = true;
  head_begun_ = false;
  starved_ = false;
  lines_.clear();
  kept_.clear();
  if (out_.empty()) expect(Phase::idle, ctx_.settings.idle);
}

void Session::begin_close() {
  state_ = State::closing;
  lines_.clear();
  kept_.clear();
  if (send_put_off() && out_.empty()) finish_close();
}

void Session::finish_close() {
  // Closing over unread bytes is a reset, which may take the answer out of the client's hands.
  if (peer_ended_ || (!readable_ && in_.empty() && body_.done())) return close();
  ::shutdown(fd_.get(), SHUT_WR);
  state_ = State::lingering;
  in_.clear();
  expect(Phase::linger, ctx_.settings.linger);
}

void Session::discard_input() {
  for (int i = 0; i < kStepsPerTurn && readable_; ++i) {
    if (receive(ctx_.worker.scratch_in()) == 0) return;
  }
  if (readable_) ctx_.worker.reactor().modify(fd_.get(), kReadEvents, *this);
}

void Session::stop_if_idle() {
  if (state_ != State::reading_head || !served_) return;
  readable_ = true;  // a request that has arrived but has not been delivered yet is served
  guarded([&] { advance(); });
}

void Session::on_timer(TimePoint /*now*/) {
  guarded([&] { take_timer(); });
}

void Session::take_timer() {
  if (state_ == State::closed) return;
  switch (phase_) {
    case Phase::head:
      ctx_.metrics.add(Metric::timeout_head);
      if (in_.empty()) return close();
      body_.start(net::Framing::until_close, 0, ctx_.settings.chunks);  // more may come: linger
      keep_alive_ = is_head_ = false;
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

// Called from within another session's step: judging uses nothing that such a step still needs
// after its call of the judge (the request head, the path, the head being written), but reading
// would overwrite the scratch buffer, so going on is left to the end of the turn.
void Session::resume(TimePoint now) {
  if (state_ != State::parked) return;
  state_ = State::reading_body;
  try {
    judge_kept(now < ctx_.judge.waiting_until(*this));
  } catch (const std::exception&) {  // for want of memory
    ctx_.judge.unpark(*this);
    return out_of_memory();
  }
  if (state_ == State::parked) return;
  ctx_.judge.unpark(*this);  // the wait is over: the next one gets a deadline of its own
  if (state_ == State::closed || resumed_) return;
  resumed_ = true;
  next_resumed_ = ctx_.resumed;
  ctx_.resumed = this;
}

void Session::run_resumed() {
  resumed_ = false;
  guarded([&] { advance(); });
}

}  // namespace weir::proxy
