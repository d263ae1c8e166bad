#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.h"
#include "core/result.h"

namespace weir::store {

class TlsContext;

/// Where a server listens: a host (name or address) and port, or the path of a Unix socket.
struct Endpoint {
  std::string host;
  std::uint16_t port = 6379;
  std::string path;  ///< not empty: a Unix socket
  bool is_unix() const noexcept { return !path.empty(); }
  std::string to_string() const;
  friend bool operator==(const Endpoint&, const Endpoint&) = default;
};

/// `redis://[user[:password]@]host[:port][/database]`, `rediss://` (TLS) and
/// `unix://[user[:password]@]/path[?db=N]`; user and password percent-encoded.
struct Url {
  Endpoint endpoint;
  bool tls = false;
  std::string user, password;
  int database = 0;
};
/// Error::malformed; `why`, if given, gets a phrase for people.
Result<Url> parse_url(std::string_view text, std::string* why = nullptr);
/// `host:port`, `[::1]:port`, `host`; of Sentinels and cluster seeds.
Result<Endpoint> parse_endpoint(std::string_view text, std::uint16_t default_port);

struct Credentials {
  std::string user, password;  ///< no password: none is sent
  friend bool operator==(const Credentials&, const Credentials&) = default;
};

/// How to reach the shared store. Plain data; the same for every worker.
struct Settings {
  enum class Mode : std::uint8_t { single, sentinel, cluster };
  Mode mode = Mode::single;
  std::vector<Endpoint> endpoints;  ///< the server; or the Sentinels; or some nodes of the cluster
  std::string master;               ///< sentinel: the name that they know it by
  Credentials credentials;
  Credentials sentinel_credentials;
  int database = 0;                       ///< not in a cluster
  std::shared_ptr<const TlsContext> tls;  ///< null: plain
  std::string server_name;                ///< of the certificate; empty: the host
  milliseconds timeout{50};  ///< without any answer for so long, a connection is given up
  milliseconds budget{5};    ///< what a request waits at most; slower probes keep the breaker open
};

}  // namespace weir::store
