#include "net/socket.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/unix_path.h"

namespace weir::net {
namespace {

boost::system::error_code last_error() noexcept {
  return {errno, boost::system::system_category()};
}

template <class T>
void set_option(int fd, int level, int name, const T& value) noexcept {
  ::setsockopt(fd, level, name, &value, sizeof(value));
}

Result<Fd> bind_listener(const SocketAddress& address, bool share_port, unsigned unix_mode) {
  Fd fd(::socket(address.raw()->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd) return last_error();
  if (!address.is_unix()) {
    set_option(fd.get(), SOL_SOCKET, SO_REUSEADDR, 1);
    if (share_port) set_option(fd.get(), SOL_SOCKET, SO_REUSEPORT, 1);
    set_option(fd.get(), IPPROTO_TCP, TCP_NODELAY, 1);  // accepted sockets inherit it
    if (address.raw()->sa_family == AF_INET6) set_option(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, 0);
  } else {
    ::fchmod(fd.get(), unix_mode);  // Linux: the file has this mode (less the umask) from bind() on
  }
  if (::bind(fd.get(), address.raw(), address.size()) != 0) return last_error();
  if (::listen(fd.get(), kBacklog) != 0) return last_error();
  return fd;
}

// Removes a socket file without a listener, which a killed process left behind. A file with a
// listener, and anything that is not a socket, stays, and bind() then fails as it should.
void remove_stale(const SocketAddress& address, const char* path) noexcept {
  struct stat status {};
  if (::lstat(path, &status) != 0 || !S_ISSOCK(status.st_mode)) return;
  const Fd probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!probe) return;
  if (::connect(probe.get(), address.raw(), address.size()) != 0 && errno == ECONNREFUSED) {
    ::unlink(path);
  }
}

IoResult result_of(ssize_t n) noexcept {
  IoResult result;
  if (n > 0) {
    result.bytes = static_cast<std::size_t>(n);
  } else if (n == 0) {
    result.ended = true;
  } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
    result.would_block = true;
  } else {
    result.error = errno;
  }
  return result;
}

}  // namespace

SocketAddress SocketAddress::tcp(const Address& address, std::uint16_t port) noexcept {
  SocketAddress out;
  if (address.is_v4()) {
    sockaddr_in in{};
    in.sin_family = AF_INET;
    in.sin_port = htons(port);
    std::memcpy(&in.sin_addr, address.bytes().data() + 12, 4);
    std::memcpy(&out.storage_, &in, sizeof(in));
    out.size_ = sizeof(in);
  } else {
    sockaddr_in6 in{};
    in.sin6_family = AF_INET6;
    in.sin6_port = htons(port);
    std::memcpy(&in.sin6_addr, address.bytes().data(), 16);
    std::memcpy(&out.storage_, &in, sizeof(in));
    out.size_ = sizeof(in);
  }
  return out;
}

Result<SocketAddress> SocketAddress::unix_path(std::string_view path) noexcept {
  sockaddr_un un{};
  un.sun_family = AF_UNIX;
  if (path.empty() || path.size() > kUnixPathMax) return Error::too_large;
  std::memcpy(un.sun_path, path.data(), path.size());
  SocketAddress out;
  std::memcpy(&out.storage_, &un, sizeof(un));
  out.size_ = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size() + 1);
  return out;
}

Result<SocketAddress> SocketAddress::of_socket(int fd) noexcept {
  SocketAddress out;
  if (::getsockname(fd, out.raw(), out.size_for_output()) != 0) return last_error();
  return out;
}

std::uint16_t SocketAddress::port() const noexcept {
  if (storage_.ss_family == AF_INET) {
    return ntohs(reinterpret_cast<const sockaddr_in&>(storage_).sin_port);
  }
  if (storage_.ss_family == AF_INET6) {
    return ntohs(reinterpret_cast<const sockaddr_in6&>(storage_).sin6_port);
  }
  return 0;
}

Address SocketAddress::address() const noexcept {
  if (storage_.ss_family == AF_INET) {
    return Address::v4(ntohl(reinterpret_cast<const sockaddr_in&>(storage_).sin_addr.s_addr));
  }
  if (storage_.ss_family == AF_INET6) {
    std::array<std::uint8_t, 16> bytes{};
    std::memcpy(bytes.data(), &reinterpret_cast<const sockaddr_in6&>(storage_).sin6_addr, 16);
    return Address::v6(bytes);
  }
  return {};
}

std::string SocketAddress::to_string() const {
  if (is_unix()) {
    return "unix:" + std::string(reinterpret_cast<const sockaddr_un&>(storage_).sun_path);
  }
  const Address ip = address();
  const std::string text = ip.is_v4() ? ip.to_string() : "[" + ip.to_string() + "]";
  return text + ":" + std::to_string(port());
}

Result<Fd> open_listener(const SocketAddress& address, unsigned unix_mode) {
  if (!address.is_unix()) return bind_listener(address, false, 0);
  const std::string path = address.to_string().substr(5);
  remove_stale(address, path.c_str());
  auto fd = bind_listener(address, false, unix_mode);
  if (fd && ::chmod(path.c_str(), unix_mode) != 0) return last_error();
  return fd;
}

Result<std::vector<Fd>> open_listeners(const SocketAddress& address, std::size_t workers,
                                       unsigned unix_mode) {
  std::vector<Fd> out;
  if (address.is_unix()) {
    const std::string path = address.to_string().substr(5);
    auto first = open_listener(address, unix_mode);
    if (!first) return first.error();
    out.push_back(std::move(*first));
    while (out.size() < workers) {
      out.emplace_back(::fcntl(out.front().get(), F_DUPFD_CLOEXEC, 0));
      if (!out.back()) return last_error();
    }
    return out;
  }
  SocketAddress bound = address;
  while (out.size() < workers) {
    auto next = bind_listener(bound, true, 0);
    if (!next) return next.error();
    if (out.empty()) {
      auto chosen = SocketAddress::of_socket(next->get());
      if (!chosen) return chosen.error();
      bound = *chosen;
    }
    out.push_back(std::move(*next));
  }
  return out;
}

Result<Fd> make_socket(const SocketAddress& address) noexcept {
  Fd fd(::socket(address.raw()->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd) return last_error();
  if (!address.is_unix()) {
    set_no_delay(fd.get());
    if (address.is_loopback()) set_local(fd.get());
  }
  return fd;
}

int begin_connect(int fd, const SocketAddress& address) noexcept {
  const int result = ::connect(fd, address.raw(), address.size());
  return result == 0 || errno == EINPROGRESS || errno == EINTR ? 0 : errno;
}

Result<Fd> start_connect(const SocketAddress& address) noexcept {
  Result<Fd> fd = make_socket(address);
  if (!fd) return fd;
  const int error = begin_connect(fd->get(), address);
  if (error != 0) return boost::system::error_code{error, boost::system::system_category()};
  return fd;
}

int socket_error(int fd) noexcept {
  int error = 0;
  socklen_t size = sizeof(error);
  if (::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0) return errno;
  return error;
}

bool SocketAddress::is_loopback() const noexcept { return !is_unix() && address().is_loopback(); }

void set_no_delay(int fd) noexcept { set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1); }

void set_local(int fd) noexcept {
  ::setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, "reno", 4);  // every kernel has it, for everyone
}

void set_abort_on_close(int fd) noexcept {
  linger now{};
  now.l_onoff = 1;
  now.l_linger = 0;
  set_option(fd, SOL_SOCKET, SO_LINGER, now);
}

namespace {

// In a program with threads, libc makes each recv() and send() a cancellation point, which costs as
// much as parsing a short head; weir never cancels its threads. (ThreadSanitizer knows only the
// functions of libc.)
#ifdef __SANITIZE_THREAD__
ssize_t plain_recv(int fd, char* into, std::size_t size) noexcept {
  return ::recv(fd, into, size, 0);
}
ssize_t plain_send(int fd, const char* bytes, std::size_t size) noexcept {
  return ::send(fd, bytes, size, MSG_NOSIGNAL);
}
#else
ssize_t plain_recv(int fd, char* into, std::size_t size) noexcept {
  return ::syscall(SYS_recvfrom, fd, into, size, 0, nullptr, nullptr);
}
ssize_t plain_send(int fd, const char* bytes, std::size_t size) noexcept {
  return ::syscall(SYS_sendto, fd, bytes, size, MSG_NOSIGNAL, nullptr, 0);
}
#endif

}  // namespace

IoResult receive(int fd, std::span<char> into) noexcept {
  ssize_t n;
  do {
    n = plain_recv(fd, into.data(), into.size());
  } while (n < 0 && errno == EINTR);
  return result_of(n);
}

IoResult transmit(int fd, std::string_view bytes) noexcept {
  ssize_t n;
  do {
    n = plain_send(fd, bytes.data(), bytes.size());
  } while (n < 0 && errno == EINTR);
  return result_of(n);
}

IoResult transmit(int fd, std::span<const iovec> parts) noexcept {
  msghdr message{};
  message.msg_iov = const_cast<iovec*>(parts.data());  // sendmsg reads it only
  message.msg_iovlen = parts.size();
  ssize_t n;
  do {
    n = ::sendmsg(fd, &message, MSG_NOSIGNAL);
  } while (n < 0 && errno == EINTR);
  return result_of(n);
}

}  // namespace weir::net
