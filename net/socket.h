#pragma once

#include <sys/socket.h>
#include <sys/uio.h>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/address.h"
#include "core/result.h"
#include "net/fd.h"

namespace weir::net {

/// Where to listen or to connect: an IP address with a port, or the path of a Unix socket.
class SocketAddress {
 public:
  SocketAddress() noexcept = default;
  static SocketAddress tcp(const Address& address, std::uint16_t port) noexcept;
  /// Error::too_large: the path is over kUnixPathMax.
  static Result<SocketAddress> unix_path(std::string_view path) noexcept;
  /// The address that a socket is bound to (with the port that 0 became).
  static Result<SocketAddress> of_socket(int fd) noexcept;

  bool is_known() const noexcept { return size_ != 0; }  ///< not default-constructed
  bool is_unix() const noexcept { return storage_.ss_family == AF_UNIX; }
  std::uint16_t port() const noexcept;
  Address address() const noexcept;   ///< unspecified (::) for a Unix socket
  bool is_loopback() const noexcept;  ///< 127.0.0.0/8 or ::1
  std::string to_string() const;      ///< 127.0.0.1:8480, [::1]:8480, unix:/run/app.sock

  const sockaddr* raw() const noexcept { return reinterpret_cast<const sockaddr*>(&storage_); }
  sockaddr* raw() noexcept { return reinterpret_cast<sockaddr*>(&storage_); }
  socklen_t size() const noexcept { return size_; }
  socklen_t* size_for_output() noexcept {
    size_ = sizeof(storage_);
    return &size_;
  }

 private:
  sockaddr_storage storage_{};
  socklen_t size_ = 0;
};

/// Connections that wait in the kernel to be accepted, per listening socket.
inline constexpr int kBacklog = 4'096;

/// One non-blocking listening socket. A TCP port is not shared (a second process gets "in use"); a
/// stale socket file is replaced, and the file has `unix_mode` from its first moment. The error is
/// the system's.
Result<Fd> open_listener(const SocketAddress& address, unsigned unix_mode);

/// One non-blocking listening socket per worker: SO_REUSEPORT sockets for TCP (port 0 is chosen
/// once for all), descriptors of one shared socket for a Unix path (a stale socket file is
/// replaced; the file gets `unix_mode`). The error is the system's.
Result<std::vector<Fd>> open_listeners(const SocketAddress& address, std::size_t workers,
                                       unsigned unix_mode = 0660);

/// A new non-blocking socket (TCP_NODELAY) of the address's family.
Result<Fd> make_socket(const SocketAddress& address) noexcept;
/// Starts connecting it. 0: its success shows as writability, its failure by socket_error(). Else
/// the errno; EAGAIN: a Unix socket's backlog is full, try again.
int begin_connect(int fd, const SocketAddress& address) noexcept;
/// Both at once; an error is one at once (refused, no descriptor left).
Result<Fd> start_connect(const SocketAddress& address) noexcept;

/// SO_ERROR, 0 if none.
int socket_error(int fd) noexcept;
void set_no_delay(int fd) noexcept;
/// For a connection that never leaves the machine: plain congestion control. A control that models
/// the bandwidth of a path (BBR, a default of many clusters) only costs time there, by pacing and
/// timers.
void set_local(int fd) noexcept;
/// From now on close() aborts: the peer sees a reset and can take nothing for a complete answer.
void set_abort_on_close(int fd) noexcept;

/// The result of a read or write: bytes > 0, or none with the reason.
struct IoResult {
  std::size_t bytes = 0;
  bool would_block = false;
  bool ended = false;  ///< read: orderly end of stream
  int error = 0;       ///< errno of a broken connection
};
IoResult receive(int fd, std::span<char> into) noexcept;
IoResult transmit(int fd, std::string_view bytes) noexcept;
IoResult transmit(int fd, std::span<const iovec> parts) noexcept;

}  // namespace weir::net
