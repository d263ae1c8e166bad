#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "core/result.h"
#include "net/socket.h"

struct ssl_ctx_st;
struct ssl_st;

namespace weir::net {

struct TlsFiles {
  std::string ca;    ///< PEM; empty: of a client the system's, of a server none
  std::string cert;  ///< PEM, with its chain; empty: no client certificate
  std::string key;   ///< PEM; needed with cert
};

/// The shared part of TLS connections: trusted authorities and our certificate. TLS 1.2 or newer.
/// Immutable after it is made: workers share it.
class TlsContext {
 public:
  /// The context of a client. The server's certificate and name are always verified.
  /// Error::malformed: a file cannot be read or used; `why` says which.
  static Result<std::shared_ptr<const TlsContext>> open(const TlsFiles& files, std::string& why);
  /// The context of an HTTP/2 server. With `ca`, a client must have a certificate of it. A client
  /// that uses ALPN must offer h2; a client without ALPN is taken to know it. Errors as open().
  static Result<std::shared_ptr<const TlsContext>> serve(const TlsFiles& files, std::string& why);
  ssl_ctx_st* raw() const noexcept { return context_.get(); }

 private:
  struct Free {
    void operator()(ssl_ctx_st* context) const noexcept;
  };
  std::unique_ptr<ssl_ctx_st, Free> context_;
};

/// The TLS of one connection over a non-blocking socket, whose owner closes it. Reads and writes go
/// through net/socket.h, so that a closed peer raises no signal.
class TlsSession {
 public:
  /// As the client of a server. `name`: of the certificate, a host name or an address; also sent
  /// as SNI if it is a name.
  TlsSession(const TlsContext& context, int fd, const std::string& name);
  /// As the server of a client.
  TlsSession(const TlsContext& context, int fd);
  TlsSession(const TlsSession&) = delete;
  TlsSession& operator=(const TlsSession&) = delete;
  enum class Step : std::uint8_t { done, wait, failed };
  Step handshake() noexcept;
  /// One record at most. EPROTO: the peer sends records without data, 64 KiB of them in a row:
  /// KeyUpdates, each of which costs a new key.
  IoResult receive(std::span<char> into) noexcept;
  /// After would_block the next call must begin with the same bytes, wherever they are by then.
  IoResult transmit(std::string_view bytes) noexcept;
  void end() noexcept;  ///< sends the peer the end of the stream, if the socket takes it at once
  /// Bytes that OpenSSL keeps for this connection now: its state, the messages of a handshake, a
  /// record on its way.
  std::size_t bytes() const noexcept;
  std::string why() const;  ///< of a failed handshake, for people

 private:
  struct Free {
    void operator()(ssl_st* session) const noexcept;
  };
  friend struct TlsSocket;
  class Counting;
  struct Link {
    int fd = -1;
    std::size_t room = 0;  ///< bytes that the call under way may still read
  };
  void attach(int fd);
  IoResult outcome(int result) noexcept;
  std::int64_t bytes_ = 0;
  Link link_;
  std::unique_ptr<ssl_st, Free> session_;
};

/// The certificates of a server, which a reload may replace: connections keep those that they began
/// with. Thread-safe.
class TlsIdentity {
 public:
  explicit TlsIdentity(std::shared_ptr<const TlsContext> first) : current_(std::move(first)) {}
  void use(std::shared_ptr<const TlsContext> next) {
    const std::lock_guard lock(mutex_);
    current_ = std::move(next);
  }
  std::shared_ptr<const TlsContext> current() const {
    const std::lock_guard lock(mutex_);
    return current_;
  }

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const TlsContext> current_;
};

}  // namespace weir::net
