#include "net/listener.h"

#include <cerrno>

namespace weir::net {
namespace {

constexpr int kPerTurn = 64;  // level-triggered: the rest comes again, after the turn of the others
constexpr milliseconds kPause{100};
// EPOLLEXCLUSIVE: of the workers that share a Unix socket not all wake for one connection.
constexpr std::uint32_t kEvents = EPOLLIN | EPOLLEXCLUSIVE;

}  // namespace

Listener::Listener(Reactor& reactor, Fd fd, AcceptHandler& handler) noexcept
    : reactor_(reactor), fd_(std::move(fd)), handler_(handler) {}

Listener::~Listener() { close(); }

Result<void> Listener::start() noexcept { return reactor_.add(fd_.get(), kEvents, *this); }

void Listener::stop() {
  if (!fd_) return;
  // New ones may come as fast as they are accepted.
  for (int left = kBacklog; left > 0 && accept_some(kPerTurn); left -= kPerTurn) {
  }
  close();
}

void Listener::close() noexcept {
  if (!fd_) return;
  reactor_.remove(fd_.get());  // a shared socket stays registered when one descriptor is closed
  fd_.close();
  Wheel::disarm(*this);
}

void Listener::on_events(std::uint32_t /*events*/) {
  if (fd_) accept_some(kPerTurn);
}

void Listener::on_timer(TimePoint /*now*/) {
  if (!fd_) return;
  // A full epoll table is the same trouble as before: wait on.
  if (!start()) reactor_.wheel().arm(*this, reactor_.now() + kPause);
}

bool Listener::accept_some(int at_most) {
  for (int i = 0; i < at_most; ++i) {
    SocketAddress peer;
    Fd fd(::accept4(fd_.get(), peer.raw(), peer.size_for_output(), SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (fd) {
      if (peer.is_loopback()) set_local(fd.get());
      handler_.on_accept(std::move(fd), peer.address());
      if (!fd_) return false;
      continue;
    }
    switch (errno) {
      case EINTR:
      case ECONNABORTED:
      case EPROTO:
      case ENETDOWN:
      case ENETUNREACH:
      case EHOSTUNREACH:
      case EHOSTDOWN:
      case ENOPROTOOPT:
      case EOPNOTSUPP:
      case EPERM:
        continue;  // that connection's own trouble (accept(2), "Error handling")
      case EMFILE:
      case ENFILE:
      case ENOBUFS:
      case ENOMEM:
        reactor_.remove(fd_.get());
        reactor_.wheel().arm(*this, reactor_.now() + kPause);
        return false;
      default:
        return false;
    }
  }
  return true;
}

}  // namespace weir::net
