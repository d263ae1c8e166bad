#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "core/result.h"
#include "net/socket.h"

struct ssl_ctx_st;
struct ssl_st;

namespace weir::net {

struct TlsFiles {
  std::string ca;    ///< PEM; empty: the system's
  std::string cert;  ///< PEM, with its chain; empty: no client certificate
  std::string key;   ///< PEM; needed with cert
};

/// The shared part of TLS connections: trusted authorities and our certificate. TLS 1.2 or newer;
/// the peer's certificate and name are always verified. Immutable after open(): workers share it.
class TlsContext {
 public:
  /// Error::malformed: a file cannot be read or used; `why` says which.
  static Result<std::shared_ptr<const TlsContext>> open(const TlsFiles& files, std::string& why);
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
  /// `name`: of the certificate, a host name or an address; also sent as SNI if it is a name.
  TlsSession(const TlsContext& context, int fd, const std::string& name);
  enum class Step : std::uint8_t { done, wait, failed };
  Step handshake() noexcept;
  IoResult receive(std::span<char> into) noexcept;
  IoResult transmit(std::string_view bytes) noexcept;
  std::string why() const;  ///< of a failed handshake, for people

 private:
  struct Free {
    void operator()(ssl_st* session) const noexcept;
  };
  IoResult outcome(int result) noexcept;
  std::unique_ptr<ssl_st, Free> session_;
};

}  // namespace weir::net
