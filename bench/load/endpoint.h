#pragma once

#include <sys/socket.h>

#include <stdexcept>
#include <string>
#include <string_view>

/// weir_load: a closed- or open-loop HTTP/1.1 generator and the backend behind the measured proxy,
/// in one thread and one epoll loop. Two separate programs sharing a core cannot saturate a proxy
/// on the other core of a two-core machine; one program can.
namespace weir::load {

/// The user's arguments are invalid. Thrown only before the loop starts.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A place that load may go to, or that the backend listens at: loopback TCP or a Unix socket.
struct Endpoint {
  sockaddr_storage address{};
  socklen_t length = 0;
  std::string text;  ///< as the user wrote it
  bool is_unix() const { return address.ss_family == AF_UNIX; }
};

/// Reads "127.0.0.1:8480", "[::1]:8480" or "unix:/path". Everything else, host names and other
/// addresses of the loopback net included, is refused with UsageError: this tool never loads a
/// foreign machine.
Endpoint parse_endpoint(std::string_view text);

/// A non-blocking socket whose connect has begun (or is done): the descriptor, or -errno.
int begin_connect(const Endpoint& endpoint) noexcept;

/// A non-blocking listening socket; a stale Unix socket file is replaced. Throws UsageError.
int listen_at(const Endpoint& endpoint);

}  // namespace weir::load
