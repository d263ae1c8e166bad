#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/result.h"

namespace weir {

/// Where a server listens: a host (name or address) and port, or the path of a Unix socket.
struct RedisEndpoint {
  std::string host;
  std::uint16_t port = 6379;
  std::string path;  ///< not empty: a Unix socket
  bool is_unix() const noexcept { return !path.empty(); }
  std::string to_string() const;
  friend bool operator==(const RedisEndpoint&, const RedisEndpoint&) = default;
};

/// `redis://[user[:password]@]host[:port][/database]`, `rediss://` (TLS) and
/// `unix://[user[:password]@]/path[?db=N]`; user and password percent-encoded.
struct RedisUrl {
  RedisEndpoint endpoint;
  bool tls = false;
  std::string user, password;
  int database = 0;
};
/// Error::malformed; `why`, if given, gets a phrase for people.
Result<RedisUrl> parse_redis_url(std::string_view text, std::string* why = nullptr);
/// `host:port`, `[::1]:port`, `host`; of Sentinels and cluster seeds.
Result<RedisEndpoint> parse_redis_endpoint(std::string_view text, std::uint16_t default_port);

}  // namespace weir
