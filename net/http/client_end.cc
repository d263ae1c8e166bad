#include "net/http/client_end.h"

#include <sys/socket.h>

#include <utility>

#include "net/read_events.h"

namespace weir::net {

void ClientEnd::start(Fd fd) noexcept {
  fd_ = std::move(fd);
  readable_ = peer_ended_ = watching_writable_ = false;
}

bool ClientEnd::watch() noexcept {
  return static_cast<bool>(share_.worker.reactor().add(fd_.get(), kReadEvents, *this));
}

void ClientEnd::expect_nothing() noexcept {
  if (out_.empty()) Wheel::disarm(*this);
}

std::size_t ClientEnd::receive(std::span<char> into) {
  const IoResult result = share_.worker.reactor().receive(*this, fd_.get(), into);
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

bool ClientEnd::has_unread_bytes() const {
  char next = 0;
  return share_.worker.reactor().has_received(*this) ||
         ::recv(fd_.get(), &next, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

bool ClientEnd::send(const Parts& parts) {
  if (put_off_ != 0 || out_.empty()) {
    if (share_.worker.reactor().outbox().put(*this, parts.span(), parts.size())) {
      ++put_off_;
      return true;
    }
    if (!send_put_off()) return false;
  }
  return write(parts);
}

void ClientEnd::send_now(std::string_view bytes) {
  --put_off_;
  if (out_.empty()) {
    const IoResult result = net::transmit(fd_.get(), bytes);
    if (result.error != 0) return client_gone();
    if (result.bytes == bytes.size()) return;
    bytes.remove_prefix(result.bytes);
  }
  // Others still send in this batch, so nothing is thrown, and no room is made.
  if (!survives_no_memory([&] { out_.append(share_.blocks, bytes); })) return out_of_memory();
  await_writable();
}

bool ClientEnd::send_put_off() {
  if (put_off_ != 0) share_.worker.reactor().outbox().flush(*this);
  return is_open();
}

void ClientEnd::forget_put_off() noexcept {
  if (put_off_ != 0) share_.worker.reactor().outbox().forget(*this);
  put_off_ = 0;
}

bool ClientEnd::write(const Parts& parts) {
  std::size_t sent = 0;
  if (out_.empty()) {
    const IoResult result = parts.transmit(fd_.get(), share_.worker.scratch_out());
    if (result.error != 0) {
      client_gone();
      return false;
    }
    sent = result.bytes;
  }
  if (sent == parts.size()) return true;
  for (const iovec& part : parts.span()) {
    if (sent >= part.iov_len) {
      sent -= part.iov_len;
      continue;
    }
    out_.append(share_.blocks,
                {static_cast<const char*>(part.iov_base) + sent, part.iov_len - sent});
    sent = 0;
  }
  await_writable();
  return true;
}

bool ClientEnd::flush() {
  const IoResult result = net::transmit(fd_.get(), out_.view());
  if (result.error != 0) {
    client_gone();
    return false;
  }
  if (result.bytes != 0) {
    out_.consume(result.bytes);
    took_some();
  }
  if (!out_.empty()) return true;
  watch_writable(false);
  expect_by_state();
  return true;
}

void ClientEnd::await_writable() noexcept {
  watch_writable(true);
  expect_write();
}

void ClientEnd::watch_writable(bool yes) noexcept {
  if (yes == watching_writable_) return;
  watching_writable_ = yes;
  share_.worker.reactor().modify(fd_.get(), kReadEvents | (yes ? std::uint32_t{EPOLLOUT} : 0U),
                                 *this);
}

}  // namespace weir::net
