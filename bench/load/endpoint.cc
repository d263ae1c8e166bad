#include "bench/load/endpoint.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>

namespace weir::load {
namespace {

std::uint16_t parse_port(std::string_view text, std::string_view whole) {
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error != std::errc{} || end != text.data() + text.size() || port == 0) {
    throw UsageError("not a port in \"" + std::string(whole) + "\"");
  }
  return port;
}

template <class Address>
void store(Endpoint& endpoint, const Address& address, std::size_t length) {
  std::memcpy(&endpoint.address, &address, length);
  endpoint.length = static_cast<socklen_t>(length);
}

int new_socket(const Endpoint& endpoint) noexcept {
  const int fd =
      ::socket(endpoint.address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd >= 0 && !endpoint.is_unix()) {
    const int one = 1;
    ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  }
  return fd;
}

}  // namespace

Endpoint parse_endpoint(std::string_view text) {
  Endpoint endpoint;
  endpoint.text = text;
  constexpr std::string_view kUnix = "unix:", kV4 = "127.0.0.1:", kV6 = "[::1]:";
  if (text.starts_with(kUnix)) {
    const std::string_view path = text.substr(kUnix.size());
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.empty() || path.size() >= sizeof address.sun_path) {
      throw UsageError("not a path of a Unix socket: \"" + std::string(text) + "\"");
    }
    std::memcpy(address.sun_path, path.data(), path.size());
    store(endpoint, address, offsetof(sockaddr_un, sun_path) + path.size() + 1);
  } else if (text.starts_with(kV4)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(parse_port(text.substr(kV4.size()), text));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    store(endpoint, address, sizeof address);
  } else if (text.starts_with(kV6)) {
    sockaddr_in6 address{};
    address.sin6_family = AF_INET6;
    address.sin6_port = htons(parse_port(text.substr(kV6.size()), text));
    address.sin6_addr = in6addr_loopback;
    store(endpoint, address, sizeof address);
  } else {
    throw UsageError("refused: \"" + std::string(text) +
                     "\"; load goes to 127.0.0.1:PORT, [::1]:PORT or unix:PATH only");
  }
  return endpoint;
}

int begin_connect(const Endpoint& endpoint) noexcept {
  const int fd = new_socket(endpoint);
  if (fd < 0) return -errno;
  const auto* address = reinterpret_cast<const sockaddr*>(&endpoint.address);
  if (::connect(fd, address, endpoint.length) == 0 || errno == EINPROGRESS) return fd;
  const int error = errno;
  ::close(fd);
  return -error;
}

int listen_at(const Endpoint& endpoint) {
  const int fd = new_socket(endpoint);
  if (fd < 0) throw UsageError(std::string("socket: ") + std::strerror(errno));
  if (endpoint.is_unix()) {
    const char* path = reinterpret_cast<const sockaddr_un*>(&endpoint.address)->sun_path;
    struct stat status {};
    if (::lstat(path, &status) == 0 && S_ISSOCK(status.st_mode)) ::unlink(path);
  } else {
    const int one = 1;
    ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  }
  const auto* address = reinterpret_cast<const sockaddr*>(&endpoint.address);
  if (::bind(fd, address, endpoint.length) != 0 || ::listen(fd, 4096) != 0) {
    const int error = errno;
    ::close(fd);
    throw UsageError("cannot listen at " + endpoint.text + ": " + std::strerror(error));
  }
  return fd;
}

}  // namespace weir::load
