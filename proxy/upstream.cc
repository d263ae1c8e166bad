#include "proxy/upstream.h"

#include <sys/socket.h>

#include <cerrno>

namespace weir::proxy {
namespace {

using telemetry::Metric;

}  // namespace

int UpstreamConnection::finish_connect() noexcept {
  int error = waiting_for_backlog_ ? ECONNREFUSED : refused_;
  if (error == 0) error = net::socket_error(fd_.get());
  if (error == 0) {
    connecting_ = false;
    watch_writable(false);
  }
  return error;
}

void UpstreamConnection::note(std::uint32_t events) noexcept {
  if ((events & EPOLLIN) != 0 || broken_) readable_ = true;
  if ((events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0) {
    // Bytes received before the end (also before a reset) can still be read.
    readable_ = true;
    ended_ = true;
  }
}

void UpstreamConnection::send(const Parts& parts) {
  if (parts.empty()) return;
  if (put_off_ != 0 || writable()) {
    if (pool_.worker_.reactor().outbox().put(*this, parts.span(), parts.size())) {
      ++put_off_;
      return;
    }
    send_put_off();
  }
  write(parts);
}

void UpstreamConnection::send_now(std::string_view bytes) {
  --put_off_;
  if (broken_) return;
  if (out_.empty()) {
    const net::IoResult result = net::transmit(fd_.get(), bytes);
    sent_ = sent_ || result.bytes != 0;
    if (result.bytes == bytes.size()) return;
    if (result.error != 0) return give_up_writing();
    bytes.remove_prefix(result.bytes);
  }
  try {
    out_.append(pool_.worker_.blocks(), bytes);
  } catch (const std::bad_alloc&) {  // others still send in this batch
    return give_up_writing();
  }
  watch_writable(true);
}

void UpstreamConnection::send_put_off() {
  if (put_off_ != 0) pool_.worker_.reactor().outbox().flush(*this);
}

void UpstreamConnection::write(const Parts& parts) {
  std::size_t sent = 0;
  if (writable()) {
    const net::IoResult result = parts.transmit(fd_.get(), pool_.worker_.scratch_out());
    sent = result.bytes;
    sent_ = sent_ || sent != 0;
    if (result.error != 0) give_up_writing();
  }
  if (broken_ || sent == parts.size()) return;
  for (const iovec& part : parts.span()) {
    if (sent >= part.iov_len) {
      sent -= part.iov_len;
      continue;
    }
    out_.append(pool_.worker_.blocks(),
                {static_cast<const char*>(part.iov_base) + sent, part.iov_len - sent});
    sent = 0;
  }
  if (!connecting_) watch_writable(true);
}

void UpstreamConnection::flush() {
  if (connecting_ || broken_ || out_.empty()) return;
  const net::IoResult result = net::transmit(fd_.get(), out_.view());
  if (result.error != 0) {
    out_.clear();
    return give_up_writing();
  }
  sent_ = sent_ || result.bytes != 0;
  if (result.bytes != 0) out_.consume(result.bytes);
  watch_writable(!out_.empty());
  if (out_.empty() && ending_) ::shutdown(fd_.get(), SHUT_WR);
}

std::span<char> UpstreamConnection::scratch_in() noexcept {
  return pool_.worker_.scratch_in(*this);
}

net::IoResult UpstreamConnection::receive(std::span<char> into) noexcept {
  if (stale_) return {.error = ECONNRESET};
  net::IoResult result = pool_.worker_.reactor().receive(*this, fd_.get(), into);
  // A stream socket that gave less than asked is empty (epoll(7)); the next byte is a new edge.
  if (result.bytes < into.size() && !ended_ && !broken_) readable_ = false;
  if (result.would_block && (ended_ || broken_)) {
    result.would_block = false;  // EPOLLHUP without an end cannot be, but must not be a busy loop
    result.ended = true;
  }
  return result;
}

void UpstreamConnection::shutdown_write() noexcept {
  send_put_off();
  ending_ = !out_.empty();
  if (!ending_) ::shutdown(fd_.get(), SHUT_WR);
}

bool UpstreamConnection::is_quiet() const noexcept {
  char byte;
  const ssize_t n = ::recv(fd_.get(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
}

void UpstreamConnection::look_again() noexcept { pool_.worker_.reactor().go_on_later(*this); }

// The session does not learn it at once: bytes of the app may have been received ahead for an event
// of this batch, and only that event hands them over. Watching for writability brings the next
// event, since a socket that has failed counts as writable.
void UpstreamConnection::give_up_writing() noexcept {
  broken_ = true;
  watching_writable_ = false;
  watch_writable(true);
}

void UpstreamConnection::watch_writable(bool yes) noexcept {
  if (yes == watching_writable_) return;
  watching_writable_ = yes;
  pool_.worker_.reactor().modify(fd_.get(), kReadEvents | (yes ? std::uint32_t{EPOLLOUT} : 0U),
                                 *this);
}

// Not if bytes of an answer are kept: the next ones go into the same buffer. Not if the socket is
// already known to be readable: the session may read before this event.
int UpstreamConnection::reads_ahead() const noexcept {
  const bool will =
      user_ != nullptr && !connecting_ && !readable_ && in.empty() && user_->will_read_upstream();
  return will ? fd_.get() : -1;
}

void UpstreamConnection::on_events(std::uint32_t events) {
  if (events == 0) {  // of look_again(), whose asker may have gone
    if (fd_ && user_ != nullptr) user_->on_upstream(0);
    return;
  }
  if (!fd_) return;
  if (user_ != nullptr) {
    if (reused_ && idle_turn_ == pool_.worker_.reactor().turn()) {
      // Collected before the new request was sent: the app closed the idle connection, or sent
      // unexpected bytes, which must not become the answer to a request.
      stale_ = broken_ = true;
      events |= EPOLLHUP;
    }
    return user_->on_upstream(events);
  }
  pool_.unlink_idle(*this);  // closed by the app, or unexpected bytes
  pool_.discard(*this);
}

void UpstreamConnection::on_timer(TimePoint /*now*/) {
  if (!fd_) return;
  if (user_ != nullptr) {
    const bool moved = generation_ != pool_.generation_;
    if (waiting_for_backlog_ && (moved || !pool_.start(*this))) user_->on_upstream(EPOLLERR);
    return;
  }
  pool_.unlink_idle(*this);
  pool_.discard(*this);
}

UpstreamPool::~UpstreamPool() {
  close_idle();
  reclaim();
  while (free_ != nullptr) {
    UpstreamConnection* connection = free_;
    free_ = connection->next_;
    delete connection;
  }
}

bool UpstreamPool::still_alive(const UpstreamConnection& connection) const noexcept {
  return connection.idle_turn_ == worker_.reactor().turn() || connection.is_quiet();
}

UpstreamConnection* UpstreamPool::take(UpstreamUser& user, Want want) {
  while (want != Want::fresh && idle_ != nullptr) {
    UpstreamConnection& connection = *idle_;
    unlink_idle(connection);
    if (want == Want::alive && !still_alive(connection)) {
      discard(connection);
      continue;
    }
    net::Wheel::disarm(connection);
    connection.user_ = &user;
    connection.reused_ = true;
    connection.sent_ = false;
    connection.idle_turn_ = worker_.reactor().turn();
    metrics_.add(Metric::upstream_reused);
    return &connection;
  }
  return open(user);
}

UpstreamConnection* UpstreamPool::open(UpstreamUser& user) {
  metrics_.add(Metric::upstream_connects);
  if (addresses_.empty()) return nullptr;
  UpstreamConnection* connection = free_;
  if (connection != nullptr) {
    free_ = connection->next_;
    connection->next_ = nullptr;
  } else {
    connection = new (std::nothrow) UpstreamConnection(*this);
    if (connection == nullptr) return nullptr;
  }
  connection->user_ = &user;
  connection->generation_ = generation_;
  connection->address_ = first_;
  connection->tried_ = 0;
  if (reach(*connection)) return connection;
  discard(*connection);
  return nullptr;
}

/// Begins to connect to its address, or to a later one.
bool UpstreamPool::reach(UpstreamConnection& connection) noexcept {
  const auto count = static_cast<std::uint32_t>(addresses_.size());
  for (; connection.tried_ < count; ++connection.tried_) {
    connection.address_ = (connection.address_ + (connection.tried_ == 0 ? 0 : 1)) % count;
    Result<net::Fd> fd = net::make_socket(addresses_[connection.address_]);
    if (!fd) continue;
    connection.fd_ = std::move(*fd);
    connection.connecting_ = true;
    connection.refused_ = 0;
    connection.watching_writable_ = false;
    if (start(connection)) return true;
  }
  return false;
}

bool UpstreamPool::try_next(UpstreamConnection& connection) noexcept {
  if (connection.generation_ != generation_ || ++connection.tried_ >= addresses_.size()) {
    return false;
  }
  metrics_.add(Metric::upstream_connects);
  net::Wheel::disarm(connection);
  connection.waiting_for_backlog_ = false;
  if (!reach(connection)) return false;
  first_ = connection.address_;  // the others go there at once
  return true;
}

void UpstreamPool::use(std::vector<net::SocketAddress> addresses) {
  addresses_ = std::move(addresses);
  ++generation_;
  first_ = 0;
  close_idle();
}

// False: refused at once. A Unix socket whose backlog is full refuses instead of waiting as TCP
// does: try again with the next tick, until the session's connect time-out.
bool UpstreamPool::start(UpstreamConnection& connection) noexcept {
  const int error = net::begin_connect(connection.fd_.get(), addresses_[connection.address_]);
  connection.waiting_for_backlog_ = error == EAGAIN;
  if (connection.waiting_for_backlog_) {
    worker_.wheel().arm(connection, worker_.now() + net::Wheel::kTick);
    return true;
  }
  connection.refused_ = error;
  if (error != 0) return false;
  connection.watching_writable_ = true;
  const auto added =
      worker_.reactor().add(connection.fd_.get(), kReadEvents | EPOLLOUT, connection);
  if (!added) connection.refused_ = added.error().value();
  return added.has_value();
}

void UpstreamPool::give_back(UpstreamConnection& connection) noexcept {
  connection.send_put_off();
  const bool is_elsewhere = connection.generation_ != generation_;
  if (is_elsewhere || idle_count_ >= settings_.upstream_idle_max || connection.ended_ ||
      connection.broken_ || !connection.out_.empty() || !connection.in.empty()) {
    return discard(connection);
  }
  // The last read filled its buffer, so the socket may hold bytes after the answer. Their event is
  // over: only a look at the socket keeps them from becoming the answer to the next request.
  if (connection.readable_) {
    if (!connection.is_quiet()) return discard(connection);
    connection.readable_ = false;
  }
  connection.user_ = nullptr;
  connection.idle_turn_ = worker_.reactor().turn();
  connection.previous_ = nullptr;
  connection.next_ = idle_;
  if (idle_ != nullptr) idle_->previous_ = &connection;
  idle_ = &connection;
  ++idle_count_;
  worker_.wheel().arm(connection, worker_.now() + settings_.upstream_idle);
}

void UpstreamPool::unlink_idle(UpstreamConnection& connection) noexcept {
  (connection.previous_ != nullptr ? connection.previous_->next_ : idle_) = connection.next_;
  if (connection.next_ != nullptr) connection.next_->previous_ = connection.previous_;
  connection.previous_ = connection.next_ = nullptr;
  --idle_count_;
}

void UpstreamPool::discard(UpstreamConnection& connection) noexcept {
  connection.user_ = nullptr;
  if (connection.put_off_ != 0) worker_.reactor().outbox().forget(connection);
  connection.put_off_ = 0;
  connection.fd_.close();
  connection.in.clear();
  connection.out_.clear();
  connection.waiting_for_backlog_ = false;
  connection.refused_ = 0;
  connection.ending_ = false;
  connection.connecting_ = connection.reused_ = connection.sent_ = connection.broken_ = false;
  connection.stale_ = connection.readable_ = connection.ended_ = connection.watching_writable_ =
      false;
  net::Wheel::disarm(connection);
  // Events of this turn may still name it.
  connection.next_ = retired_;
  retired_ = &connection;
}

void UpstreamPool::reclaim() noexcept {
  while (retired_ != nullptr) {
    UpstreamConnection* connection = retired_;
    retired_ = connection->next_;
    connection->next_ = free_;
    free_ = connection;
  }
}

void UpstreamPool::close_idle() noexcept {
  while (idle_ != nullptr) {
    UpstreamConnection& connection = *idle_;
    unlink_idle(connection);
    discard(connection);
  }
}

}  // namespace weir::proxy
