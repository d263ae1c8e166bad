#include "app/tools/dev_ports.h"

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "net/fd.h"

namespace weir::app {
namespace {

struct Addresses {
  explicit Addresses(const config::Endpoint& endpoint, int flags) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_NUMERICSERV | flags;
    if (::getaddrinfo(endpoint.host.c_str(), std::to_string(endpoint.port).c_str(), &hints,
                      &list) != 0)
      list = nullptr;
  }
  ~Addresses() {
    if (list != nullptr) ::freeaddrinfo(list);
  }
  Addresses(const Addresses&) = delete;
  Addresses& operator=(const Addresses&) = delete;
  addrinfo* list = nullptr;
};

/// 0 if the address was bound and can be listened at; else why not.
int try_to_listen(const addrinfo& at) {
  const net::Fd fd(::socket(at.ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int reuse = 1;
  if (fd.get() < 0) return errno;
  ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &reuse, sizeof reuse);
  if (::bind(fd.get(), at.ai_addr, at.ai_addrlen) != 0) return errno;
  return ::listen(fd.get(), 1) == 0 ? 0 : errno;
}

std::uint16_t free_port_of(const addrinfo& at) {
  sockaddr_storage address{};
  std::memcpy(&address, at.ai_addr, at.ai_addrlen);
  // The port is at the same offset for both families.
  reinterpret_cast<sockaddr_in*>(&address)->sin_port = 0;
  const net::Fd fd(::socket(at.ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  socklen_t size = at.ai_addrlen;
  if (fd.get() < 0 || ::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), size) != 0) return 0;
  if (::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0) return 0;
  return ntohs(reinterpret_cast<sockaddr_in*>(&address)->sin_port);
}

bool connects(int family, const sockaddr* address, socklen_t size) {
  constexpr int kPatienceMs = 500;
  const net::Fd fd(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (fd.get() < 0) return false;
  if (::connect(fd.get(), address, size) == 0) return true;
  if (errno != EINPROGRESS) return false;
  pollfd wait{fd.get(), POLLOUT, 0};
  int error = 0;
  socklen_t length = sizeof error;
  return ::poll(&wait, 1, kPatienceMs) == 1 &&
         ::getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &length) == 0 && error == 0;
}

}  // namespace

config::Endpoint listenable(config::Endpoint wanted) {
  if (wanted.is_unix()) return wanted;
  const Addresses addresses(wanted, AI_PASSIVE);
  if (addresses.list == nullptr || try_to_listen(*addresses.list) != EADDRINUSE) return wanted;
  if (const std::uint16_t port = free_port_of(*addresses.list); port != 0) wanted.port = port;
  return wanted;
}

bool accepts_connections(const config::Endpoint& endpoint) {
  if (endpoint.is_unix()) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (endpoint.path.size() >= sizeof address.sun_path) return false;
    std::memcpy(address.sun_path, endpoint.path.c_str(), endpoint.path.size() + 1);
    return connects(AF_UNIX, reinterpret_cast<const sockaddr*>(&address), sizeof address);
  }
  const Addresses addresses(endpoint, 0);
  for (const addrinfo* at = addresses.list; at != nullptr; at = at->ai_next) {
    if (connects(at->ai_family, at->ai_addr, at->ai_addrlen)) return true;
  }
  return false;
}

}  // namespace weir::app
