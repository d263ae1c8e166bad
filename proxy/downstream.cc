#include "proxy/downstream.h"

namespace weir::proxy {

void Downstream::expect(Phase phase, milliseconds within) noexcept {
  if (!out_.empty()) [[unlikely]]
    return;
  arm(phase, within);
}

void Downstream::arm(Phase phase, milliseconds within) noexcept {
  phase_ = phase;
  ctx_.worker.wheel().arm(*this, ctx_.worker.now() + within);
}

void Downstream::expect_nothing() noexcept {
  if (out_.empty()) net::Wheel::disarm(*this);
}

std::size_t Downstream::receive(std::span<char> into) {
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

void Downstream::look_again() noexcept { ctx_.worker.reactor().go_on_later(*this); }

bool Downstream::send(const Parts& parts) {
  if (parts.empty()) return true;
  if (notes_ != nullptr) notes_->gave(parts.size());
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

void Downstream::send_now(std::string_view bytes) {
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

bool Downstream::send_put_off() {
  if (put_off_ != 0) ctx_.worker.reactor().outbox().flush(*this);
  return state_ != State::closed;
}

void Downstream::forget_put_off() noexcept {
  if (put_off_ != 0) ctx_.worker.reactor().outbox().forget(*this);
  put_off_ = 0;
}

bool Downstream::write(const Parts& parts) {
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

bool Downstream::flush() {
  const net::IoResult result = net::transmit(fd_.get(), out_.view());
  if (result.error != 0) {
    client_gone();
    return false;
  }
  if (result.bytes != 0) {
    out_.consume(result.bytes);
    progress_ = true;
    expect_write();
  }
  if (!out_.empty()) return true;
  watch_writable(false);
  expect_by_state();
  return true;
}

void Downstream::await_writable() noexcept {
  watch_writable(true);
  expect_write();
}

void Downstream::watch_writable(bool yes) noexcept {
  if (yes == watching_writable_) return;
  watching_writable_ = yes;
  ctx_.worker.reactor().modify(fd_.get(), kReadEvents | (yes ? std::uint32_t{EPOLLOUT} : 0U),
                               *this);
}

}  // namespace weir::proxy
