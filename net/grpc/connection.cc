#include "net/grpc/connection.h"

#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "net/connection_budget.h"
#include "net/grpc/context.h"
#include "net/grpc/stream.h"
#include "net/listener.h"
#include "net/socket.h"

namespace weir::net::grpc {
namespace {

using telemetry::Metric;

constexpr std::uint32_t kConnectionEvents = EPOLLIN | EPOLLRDHUP | EPOLLET;
// Calls that may be reset before they are answered: at first as many as may be under way at once,
// since a caller whose deadline is short gives all of them up together; then kResetsPerSecond more
// a second, and one more for each call that was answered.
constexpr std::int32_t kResetsMax = 1'000;
constexpr std::int32_t kResetsPerSecond = 50;
constexpr int kDiscardsPerTurn = 4;
constexpr std::size_t kTlsRecord = 16 << 10;

}  // namespace

void Connection::open(Fd fd, const Address& peer) {
  fd_ = std::move(fd);
  peer_ = peer;
  state_ = State::open;
  drain_ = Drain::no;
  abuse_ = Abuse::none;
  readable_ = peer_ended_ = watching_writable_ = is_dirty_ = asked_ = in_session_ = broken_ = false;
  more_ = false;
  half_frame_ = std::numeric_limits<std::uint64_t>::max();
  opened_ = half_since_ = last_read_ = last_written_ = used_ = ctx_.worker.now();
  account_ = {&ctx_.memory, 0};
  meter_ = {};
  skipped_ = {};
  resets_ = Credit(std::max(kResetsMax, static_cast<std::int32_t>(ctx_.settings.streams)),
                   kResetsPerSecond);
  stream_bytes_ = 0;
  ends_at_ = TimePoint::max();
  if (ctx_.settings.age.count() != 0) {
    const std::int64_t age = ctx_.settings.age.count();
    std::uniform_int_distribution<std::int64_t> spread(age - age / 10, age + age / 10);
    ends_at_ = opened_ + milliseconds(spread(ctx_.random));
  }
  ctx_.connections.open(*this);
  guarded([&] {
    if (!ctx_.worker.reactor().add(fd_.get(), kConnectionEvents, *this)) return fail();
    if (ctx_.settings.tls != nullptr) return begin_tls();
    serve();
  });
}

void Connection::serve() {
  if (!begin_session()) return fail();
  touch();
  arm();
  if (ctx_.stopping) begin_drain();
}

void Connection::begin_tls() {
  state_ = State::shaking_hands;
  ++ctx_.handshakes;
  tls_.emplace(*ctx_.settings.tls->current(), fd_.get());
  if (!note_tls()) return fail();
  watch_writable(true);
  arm();
}

/// OpenSSL's memory counts as bytes of the worker's pool. False: there is no room for it.
bool Connection::note_tls() noexcept {
  const std::size_t bytes = tls_ ? tls_->bytes() : 0;
  if (bytes > tls_noted_) {
    if (!ctx_.worker.blocks().charge(bytes - tls_noted_)) return false;
  } else {
    ctx_.worker.blocks().discharge(tls_noted_ - bytes);
  }
  ctx_.tls_bytes = ctx_.tls_bytes - tls_noted_ + bytes;
  tls_noted_ = bytes;
  return true;
}

void Connection::shake_hands() {
  const TlsSession::Step step = tls_->handshake();
  if (!note_tls()) return fail();
  if (step == TlsSession::Step::wait) return;
  if (step == TlsSession::Step::failed) {
    ctx_.metrics.add(Metric::grpc_tls_failed);
    return close();
  }
  end_handshake();
  state_ = State::open;
  half_since_ = last_read_ = ctx_.worker.now();
  watch_writable(false);
  readable_ = true;  // the preface may have come along
  serve();
}

void Connection::end_handshake() noexcept {
  if (state_ == State::shaking_hands) --ctx_.handshakes;
}

bool Connection::begin_session() {
  nghttp2_mem memory = Memory::hooks(account_);
  nghttp2_session* session = nullptr;
  if (nghttp2_session_server_new3(&session, ctx_.callbacks.get(), this, ctx_.option.get(),
                                  &memory) != 0) {
    return false;
  }
  session_.reset(session);
  constexpr std::uint32_t kStreamWindow = 256 << 10;
  constexpr std::int32_t kConnectionWindow = 1 << 20;
  const nghttp2_settings_entry settings[] = {
      {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, ctx_.settings.streams},
      {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, kStreamWindow},
      {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE,
       static_cast<std::uint32_t>(ctx_.settings.field_bytes)},
      {NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1}};
  return nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, settings, std::size(settings)) == 0 &&
         nghttp2_session_set_local_window_size(session, NGHTTP2_FLAG_NONE, 0, kConnectionWindow) ==
             0;
}

void Connection::touch() noexcept {
  if (is_dirty_) return;
  is_dirty_ = true;
  next_dirty_ = ctx_.dirty;
  ctx_.dirty = this;
}

void Connection::on_events(std::uint32_t events) {
  guarded([&] {
    if (state_ == State::closed) return;
    if (ctx_.is_short()) make_room(ctx_);  // before anything is under way here
    if (state_ == State::closed) return;
    if ((events & EPOLLERR) != 0) return close();
    if ((events & EPOLLIN) != 0) readable_ = true;
    if ((events & (EPOLLRDHUP | EPOLLHUP)) != 0) readable_ = peer_ended_ = true;
    if ((events & EPOLLOUT) != 0) touch();
    if (state_ == State::lingering) return discard_input();
    if (state_ == State::shaking_hands) shake_hands();
    read();
  });
}

// Reads once per turn: a peer that sends a lot does not take time from other peers.
void Connection::read() {
  if (!readable_ || state_ != State::open || !out_.empty()) return;
  const std::span<char> into = ctx_.worker.scratch_in();
  const IoResult result = receive(into);
  if (result.bytes == 0) {
    readable_ = false;
    if (result.ended) return peer_ended();
    if (!result.would_block) close();
    return;
  }
  last_read_ = ctx_.worker.now();
  asked_ = false;
  readable_ = peer_ended_ || more_;
  feed(into.first(result.bytes));
  if (state_ == State::open) arm();
  if (readable_ && state_ == State::open) read_later();
}

// Receives bytes. With TLS it takes whole records, as many as are there and have room, so that
// OpenSSL keeps no bytes that the socket no longer reports.
IoResult Connection::receive(std::span<char> into) noexcept {
  if (!tls_) {
    const IoResult result = net::receive(fd_.get(), into);
    more_ = result.bytes == into.size();
    return result;
  }
  IoResult all;
  more_ = true;
  while (into.size() - all.bytes >= kTlsRecord) {
    const IoResult one = tls_->receive(into.subspan(all.bytes));
    all.bytes += one.bytes;
    if (one.bytes != 0) continue;
    more_ = !one.would_block;
    if (all.bytes == 0) all = one;
    break;  // an end, or an error, is reported again
  }
  if (!note_tls()) return {.error = ENOMEM};
  return all;
}

IoResult Connection::transmit(std::string_view bytes) noexcept {
  if (!tls_) return net::transmit(fd_.get(), bytes);
  IoResult all;
  while (all.bytes < bytes.size()) {
    const IoResult one = tls_->transmit(bytes.substr(all.bytes));
    all.bytes += one.bytes;
    if (one.bytes != 0) continue;
    all.would_block = one.would_block;
    all.error = one.ended ? EPIPE : one.error;
    break;
  }
  if (!note_tls()) return {.error = ENOMEM};
  return all;
}

// The rest is delivered again, after the events of other connections.
void Connection::read_later() noexcept {
  ctx_.worker.reactor().modify(
      fd_.get(), kConnectionEvents | (watching_writable_ ? std::uint32_t{EPOLLOUT} : 0U), *this);
}

void Connection::feed(std::span<char> bytes) {
  const TimePoint now = ctx_.worker.now();
  resets_.refill(now);
  const bool flood = meter_.take(bytes, now) == FrameMeter::Verdict::flood;
  if (meter_.inside() && half_frame_ != meter_.frames()) {
    half_frame_ = meter_.frames();
    half_since_ = now;
  }
  touch();
  if (flood) return shut_out(Abuse::flood);
  const LongValues::Ready ready = meter_.ready(bytes);
  if (!ready.kept.empty()) feed_session(ready.kept);
  if (state_ == State::open) feed_session(ready.read);
}

void Connection::feed_session(std::string_view bytes) {
  in_session_ = true;
  const auto used = nghttp2_session_mem_recv(
      session_.get(), reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  in_session_ = false;
  if (used == NGHTTP2_ERR_FLOODED) return shut_out(Abuse::flood);
  if (broken_ || used == NGHTTP2_ERR_NOMEM || used == NGHTTP2_ERR_CALLBACK_FAILURE) return fail();
  if (used < 0) {  // no HTTP/2 at all
    ctx_.metrics.add(Metric::grpc_malformed);
    return begin_close();
  }
  if (abuse_ != Abuse::none) begin_close();
}

void Connection::shut_out(Abuse abuse) {
  if (abuse_ != Abuse::none || (state_ != State::open && state_ != State::closing)) return;
  abuse_ = abuse;
  switch (abuse) {
    case Abuse::flood:
      ctx_.metrics.add(Metric::grpc_shut_out_flood);
      break;
    case Abuse::resets:
      ctx_.metrics.add(Metric::grpc_shut_out_resets);
      break;
    case Abuse::fields:
      ctx_.metrics.add(Metric::grpc_shut_out_fields);
      break;
    case Abuse::protocol:
      ctx_.metrics.add(Metric::grpc_malformed);
      break;
    case Abuse::buffers:
    case Abuse::none:
      ctx_.metrics.add(Metric::grpc_shut_out_buffers);
      break;
  }
  const bool malformed = abuse == Abuse::protocol;
  nghttp2_session_terminate_session(session_.get(),
                                    malformed ? NGHTTP2_PROTOCOL_ERROR : NGHTTP2_ENHANCE_YOUR_CALM);
  touch();
  if (!in_session_) begin_close();
}

void Connection::peer_ended() {
  peer_ended_ = true;
  // The peer may still read answers to earlier requests; suspended calls are given up.
  touch();
  begin_close();
}

// Sends the queue, cancels suspended calls, and stops reading.
void Connection::begin_close() {
  if (state_ != State::open) return;
  state_ = State::closing;
  for (Stream* stream = streams_; stream != nullptr; stream = stream->next_) {
    if (stream->state_ == Stream::State::waiting || stream->state_ == Stream::State::reading) {
      stream->close();
    }
  }
  touch();
  arm();
}

void Connection::flush() {
  is_dirty_ = false;
  guarded([&] {
    if (state_ != State::open && state_ != State::closing) return;
    if (broken_) return fail();
    const bool was_blocked = !out_.empty();
    if (was_blocked) {
      const IoResult result = transmit(out_.view());
      if (result.error != 0) return close();
      if (result.bytes != 0) {
        out_.consume(result.bytes);
        last_written_ = ctx_.worker.now();
      }
      if (!out_.empty()) return watch_writable(true);
      watch_writable(false);
    }
    if (!send_queued()) return;
    const bool over = state_ == State::closing || (nghttp2_session_want_read(session_.get()) == 0 &&
                                                   nghttp2_session_want_write(session_.get()) == 0);
    if (over && out_.empty()) return linger();
    arm();
    if (was_blocked && out_.empty() && readable_) read_later();
  });
}

// Everything that nghttp2 has, as far as the peer takes it. False: the connection is closed.
bool Connection::send_queued() {
  const std::span<char> room = ctx_.worker.scratch_out();
  while (out_.empty()) {
    std::size_t filled = 0;
    const std::uint8_t* data = nullptr;
    ssize_t size = 0;
    bool direct = false;
    for (;;) {
      in_session_ = true;
      size = nghttp2_session_mem_send(session_.get(), &data);
      in_session_ = false;
      if (broken_ || size < 0) {
        fail();
        return false;
      }
      if (size == 0) break;
      if (static_cast<std::size_t>(size) > room.size() - filled) {
        direct = true;  // valid until the next call
        break;
      }
      std::memcpy(room.data() + filled, data, static_cast<std::size_t>(size));
      filled += static_cast<std::size_t>(size);
    }
    if (filled == 0 && !direct) return true;
    if (!write({room.data(), filled})) return false;
    if (direct && !write({reinterpret_cast<const char*>(data), static_cast<std::size_t>(size)})) {
      return false;
    }
    if (size == 0) return true;
  }
  return true;
}

// False: the connection is closed. Bytes that the peer does not take stay in out_.
bool Connection::write(std::string_view bytes) {
  if (bytes.empty()) return true;
  if (out_.empty()) {
    const IoResult result = transmit(bytes);
    if (result.error != 0) {
      close();
      return false;
    }
    bytes.remove_prefix(result.bytes);
    last_written_ = ctx_.worker.now();
    if (bytes.empty()) return true;
  }
  out_.append(ctx_.worker.blocks(), bytes);
  watch_writable(true);
  return true;
}

void Connection::watch_writable(bool yes) noexcept {
  if (yes == watching_writable_) return;
  watching_writable_ = yes;
  ctx_.worker.reactor().modify(fd_.get(), kConnectionEvents | (yes ? std::uint32_t{EPOLLOUT} : 0U),
                               *this);
}

// To close over unread bytes is a reset, which may take the last words out of the peer's hands.
void Connection::linger() {
  if (peer_ended_ && !readable_) return close();
  if (tls_) tls_->end();
  ::shutdown(fd_.get(), SHUT_WR);
  state_ = State::lingering;
  drained_at_ = ctx_.worker.now();
  session_.reset();
  while (streams_ != nullptr) on_stream_closed(streams_->id_);
  arm();
  readable_ = true;
  discard_input();
}

void Connection::discard_input() {
  for (int i = 0; i < kDiscardsPerTurn && readable_; ++i) {
    const IoResult result = net::receive(fd_.get(), ctx_.worker.scratch_in());
    if (result.bytes != 0) continue;
    if (!result.would_block) return close();
    readable_ = false;
  }
  if (readable_) read_later();
}

void Connection::begin_drain() {
  if (state_ != State::open || drain_ != Drain::no) return;
  drain_ = Drain::announced;
  drained_at_ = ctx_.worker.now();
  nghttp2_submit_shutdown_notice(session_.get());
  touch();
  arm();
}

void Connection::abort() {
  if (state_ == State::closed) return;
  if (fd_) net::set_abort_on_close(fd_.get());
  close();
}

void Connection::fail() {
  if (in_session_) {
    broken_ = true;
    return;
  }
  if (state_ == State::closed) return;
  ctx_.metrics.add(Metric::grpc_connections_failed);
  abort();
}

void Connection::close() {
  if (state_ == State::closed) return;
  if (in_session_) {
    broken_ = true;
    return;
  }
  end_handshake();
  state_ = State::closed;
  while (streams_ != nullptr) on_stream_closed(streams_->id_);
  session_.reset();
  tls_.reset();
  note_tls();
  fd_.close();
  out_.clear();
  Wheel::disarm(*this);
  ctx_.metrics.add(Metric::grpc_connections_open, -1);
  if (ctx_.settings.connections != nullptr) ctx_.settings.connections->give_back();
  ctx_.connections.close(*this);
}

void Connection::give_up() noexcept {
  broken_ = true;
  touch();
}

Connection* least_useful(const Context& context, TimePoint used_by) noexcept {
  const TimePoint now = context.worker.now();
  Connection* worst = nullptr;
  double most = 0;
  const ConnectionList<Connection>& all = context.connections;
  for (Connection* c = all.newest(); c != nullptr; c = all.older_than(*c)) {
    if (c->last_use() > used_by) continue;
    // Bytes times milliseconds: a busy peer keeps a lot for a moment, a hostile one for as long as
    // it may. Among those that have just come the one with the most goes.
    const auto unused = static_cast<double>(1 + (now - c->last_use()).count());
    const double its = static_cast<double>(c->kept()) * unused;
    if (its <= most) continue;
    worst = c;
    most = its;
  }
  return worst;
}

void make_room(Context& context) {
  while (context.kept() > context.enough()) {
    Connection* const worst = least_useful(context, TimePoint::max());
    if (worst == nullptr) return;
    worst->evict();
  }
}

// Sends the reason only if the socket takes it at once: a peer that does not read keeps its buffer
// full.
void Connection::evict() {
  shut_out(Abuse::buffers);
  flush();
  if (state_ != State::closed) abort();
}

// One timer for everything that a connection waits for, set to the earliest deadline.
void Connection::arm() noexcept {
  TimePoint at = TimePoint::max();
  const Settings& settings = ctx_.settings;
  switch (state_) {
    case State::closed:
      return;
    case State::shaking_hands:
      at = opened_ + settings.handshake;
      break;
    case State::lingering:
      at = drained_at_ + settings.linger;
      break;
    case State::open:
      if (is_half()) at = half_since_ + settings.frame;
      at = std::min(at, last_read_ + settings.quiet + (asked_ ? settings.pong : milliseconds{0}));
      if (drain_ == Drain::announced) at = std::min(at, drained_at_ + settings.goaway);
      if (drain_ == Drain::no) at = std::min(at, ends_at_);
      [[fallthrough]];
    case State::closing:
      if (!out_.empty()) at = std::min(at, last_written_ + settings.write);
      if (state_ == State::closing) at = std::min(at, ctx_.worker.now() + settings.write);
      break;
  }
  ctx_.worker.wheel().arm(*this, at);
}

void Connection::on_timer(TimePoint now) {
  guarded([&] {
    const Settings& settings = ctx_.settings;
    if (state_ == State::closed) return;
    if (state_ == State::lingering) return close();
    if (state_ == State::shaking_hands) {
      ctx_.metrics.add(Metric::timeout_grpc_tls);
      return abort();
    }
    if (!out_.empty() && now >= last_written_ + settings.write) {
      ctx_.metrics.add(Metric::timeout_grpc_write);
      return abort();
    }
    if (state_ == State::closing) return abort();
    if (is_half() && now >= half_since_ + settings.frame) {
      ctx_.metrics.add(Metric::timeout_grpc_frame);
      return abort();
    }
    if (asked_ && now >= last_read_ + settings.quiet + settings.pong) {
      ctx_.metrics.add(Metric::timeout_grpc_pong);
      return abort();
    }
    if (!asked_ && now >= last_read_ + settings.quiet) {
      asked_ = true;
      nghttp2_submit_ping(session_.get(), NGHTTP2_FLAG_NONE, nullptr);
      touch();
    }
    if (drain_ == Drain::no && now >= ends_at_) begin_drain();
    if (drain_ == Drain::announced && now >= drained_at_ + settings.goaway) {
      drain_ = Drain::final;
      nghttp2_submit_goaway(session_.get(), NGHTTP2_FLAG_NONE,
                            nghttp2_session_get_last_proc_stream_id(session_.get()),
                            NGHTTP2_NO_ERROR, nullptr, 0);
      for (Stream* stream = streams_; stream != nullptr; stream = stream->next_)
        stream->end_streaming(now);
      touch();
    }
    arm();
  });
}

}  // namespace weir::net::grpc
