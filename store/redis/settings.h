#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.h"
#include "core/redis_url.h"
#include "core/result.h"

namespace weir::net {
class TlsContext;
}

namespace weir::store {

using Endpoint = RedisEndpoint;

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
  int database = 0;                            ///< not in a cluster
  std::shared_ptr<const net::TlsContext> tls;  ///< null: plain
  bool functions = false;                      ///< FCALL where the server knows it, else EVALSHA
  std::string server_name;                     ///< of the certificate; empty: the host
  milliseconds timeout{50};  ///< a connection without any answer for this long is given up
  milliseconds budget{5};    ///< the most that a request waits; slower probes keep the breaker open
};

}  // namespace weir::store
