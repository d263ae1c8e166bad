#include "net/http/client_connection.h"

#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/assert.h"

namespace weir::net {

void ClientConnection::start(Fd fd) noexcept {
  ClientEnd::start(std::move(fd));
  state_ = State::reading_head;
  starved_ = served_ = head_begun_ = false;
  progress_in_ = {};
  body_.start(Framing::none, 0, shared().chunk_limits);
}

void ClientConnection::on_events(std::uint32_t events) {
  guarded([&] { take_events(events); });
}

void ClientConnection::take_events(std::uint32_t events) {
  if (!is_open()) return;
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
int ClientConnection::reads_ahead() const noexcept {
  const bool will =
      state_ == State::reading_head && !readable_ && in_.empty() && out_.empty() && !resumed_;
  return will ? fd_.get() : -1;
}

void ClientConnection::on_timer(TimePoint /*now*/) {
  guarded([&] { take_timer(); });
}

void ClientConnection::advance() {
  ConnectionShare& all = shared();
  for (all.steps_left = kTurnSteps;; --all.steps_left) {
    if (all.steps_left <= 0 && is_open()) {
      readable_ = true;
      return look_again();
    }
    switch (state_) {
      case State::reading_head:
        if (!out_.empty()) return;
        if (!read_head()) {
          const bool idle = state_ == State::reading_head && served_ && in_.empty();
          if (idle && all.stopping) begin_close();
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
      case State::reading_on:
      case State::tunnelling:
        if (!relay()) return;
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

void ClientConnection::go_on_after_turn() noexcept {
  if (state_ == State::closed || resumed_) return;
  resumed_ = true;
  next_resumed_ = std::exchange(shared().resumed, this);
}

void ClientConnection::run_resumed(ConnectionShare& share) noexcept {
  while (share.resumed != nullptr) {
    ClientConnection& next = *share.resumed;
    share.resumed = std::exchange(next.next_resumed_, nullptr);
    next.resumed_ = false;
    next.guarded([&] { next.advance(); });
  }
}

// A step. False: more bytes are needed, or it is closed.
bool ClientConnection::read_head() {
  if (!in_.empty()) {
    if (starved_) {
      if (!readable_) return false;
      const std::size_t n = receive(in_.room(share_.blocks, kReadMore));
      if (n == 0) return false;
      in_.added(n);
    }
    const std::size_t used = take_requests({in_.data(), in_.size()});
    if (state_ == State::closed) return false;
    in_.consume(std::min(used, in_.size()));
    return true;
  }
  if (!readable_) return false;
  const std::span<char> scratch = share_.worker.scratch_in(*this);
  const std::size_t n = receive(scratch);
  if (n == 0) return false;
  const std::size_t used = take_requests(scratch.first(n));
  switch (state_) {
    case State::closed:
      return false;
    case State::closing:
    case State::lingering:
      return true;
    default:
      in_.append(share_.blocks, {scratch.data() + used, n - used});
      return true;
  }
}

std::size_t ClientConnection::take_requests(std::span<char> input) {
  ConnectionShare& all = shared();
  std::size_t used = 0;
  while (used < input.size() && state_ == State::reading_head && out_.empty() &&
         all.steps_left > 0) {
    const std::span<char> rest = input.subspan(used);
    switch (parse_request_head({rest.data(), rest.size()}, all.head_limits, progress_in_,
                               all.request)) {
      case HeadStatus::incomplete:
        starved_ = true;
        if (!head_begun_) {
          head_begun_ = true;  // from its first byte: sending slowly does not move the deadline
          time_ = share_.worker.now();
          expect_by_state();
        }
        return used;
      case HeadStatus::refused:
        progress_in_ = {};
        refuse(all.request.refusal);
        return input.size();
      case HeadStatus::complete:
        --all.steps_left;
        progress_in_ = {};
        starved_ = false;
        used += on_head(rest);
        break;
    }
  }
  return used;
}

void ClientConnection::next_head() noexcept {
  state_ = State::reading_head;
  served_ = true;
  head_begun_ = false;
  starved_ = false;
}

void ClientConnection::lose_track() noexcept {
  keep_alive_ = is_head_ = false;
  body_.start(Framing::until_close, 0, shared().chunk_limits);
}

void ClientConnection::parse_kept_head() {
  HeadProgress progress;
  const auto status =
      parse_request_head(in_.view(), shared().head_limits, progress, shared().request);
  WEIR_ASSERT(status == HeadStatus::complete);
}

bool ClientConnection::read_body() {
  for (std::size_t taken = 0;;) {
    const HttpRefusal refusal = decode_body();
    if (refusal != HttpRefusal::none) {
      refuse(refusal);
      return true;
    }
    const bool over = decoded_ > shared().body_max;
    if (over || body_.done()) {
      body_state_ = over ? BodyState::too_large : BodyState::complete;
      return judge_body();
    }
    if (!readable_) return false;
    if (taken >= kTurnBytes) {
      look_again();
      return false;
    }
    const std::size_t n = receive(in_.room(share_.blocks, kReadMore));
    if (n == 0) return false;
    taken += n;
    in_.added(n);
    on_body_bytes();
  }
}

// in_ holds the head, then the body as far as it is decoded, then raw bytes.
HttpRefusal ClientConnection::decode_body() {
  const std::size_t before = head_bytes_ + decoded_;
  if (in_.size() <= before) return HttpRefusal::none;
  const std::span<char> raw{in_.data() + before, in_.size() - before};
  const auto piece = body_.take(raw);
  if (piece.malformed()) return piece.refusal;
  decoded_ += static_cast<std::uint32_t>(piece.data.size());
  const std::size_t gap = piece.used - piece.data.size();
  if (gap != 0) {
    std::memmove(raw.data() + piece.data.size(), raw.data() + piece.used, raw.size() - piece.used);
    in_.truncate(in_.size() - gap);
  }
  return HttpRefusal::none;
}

void ClientConnection::begin_close() {
  drop_request();
  state_ = State::closing;
  if (send_put_off() && out_.empty()) finish_close();
}

void ClientConnection::finish_close() {
  // Closing over unread bytes is a reset, which may take the answer out of the client's hands.
  if (peer_ended_ || (!readable_ && in_.empty() && body_.done())) return close();
  ::shutdown(fd_.get(), SHUT_WR);
  state_ = State::lingering;
  in_.clear();
  expect_by_state();
}

void ClientConnection::discard_input() {
  for (std::size_t taken = 0; readable_;) {
    if (taken >= kTurnBytes) return look_again();
    const std::size_t n = receive(share_.worker.scratch_in());
    if (n == 0) return;
    taken += n;
  }
}

}  // namespace weir::net
