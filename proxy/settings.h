#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/clock.h"
#include "net/connection_budget.h"
#include "net/http/chunked.h"
#include "net/http/client_address.h"
#include "net/http/fields.h"
#include "net/http/target.h"
#include "net/socket.h"

namespace weir::proxy {

/// Settings of the reverse proxy. Filled once by app/serve/proxy_settings; equal for every worker.
struct Settings {
  net::SocketAddress upstream;     ///< until Server::use_upstreams()
  std::string upstream_name;       ///< as the configuration names it, for logs and metrics
  std::string upstream_authority;  ///< Host for HTTP/1.0 requests without one
  net::ClientAddressRules client_rules{{}, "x-forwarded-for"};
  /// Lower-case name of the field that client_rules read.
  std::string client_header = "x-forwarded-for";
  /// Lower-case names of the fields that policies read (see UpstreamHeadOptions::used_names).
  std::vector<std::string> used_names;

  net::HeadLimits head;  ///< of requests and of answers
  net::ChunkLimits chunks;
  PathRules path;                         ///< until Server::use()
  std::size_t body_bytes_max = 64 << 10;  ///< that a policy may read, of a request or an answer
  /// That one worker's connections keep, in bytes: BlockPool::set_limit().
  std::size_t buffer_bytes = std::size_t{64} << 20;
  /// Shared by all workers, not owned. Null: unlimited.
  net::ConnectionBudget* connections = nullptr;
  bool spares_trusted = false;  ///< trusted hops have no limit of their own in it

  milliseconds connect{5'000};     ///< to the app
  milliseconds head_time{10'000};  ///< from the first byte of a head (or accept) to its end
  /// Between two reads of a request's body. A body that a policy reads has no longer than this in
  /// all, and a second more for each kLeastRate bytes that have come (exchange.h).
  milliseconds body_time{30'000};
  milliseconds answer{60'000};  ///< request sent to answer's head; also between reads of it
  milliseconds idle{75'000};    ///< between two requests of a client
  /// A connection that has not sent anything may be closed after this time, to make room; a drain
  /// waits for its first request this long.
  milliseconds silence{1'000};
  /// The time that a drain leaves for the rest of a head of which a part has come; no longer than
  /// `head_time`.
  milliseconds drain_head{2'000};
  milliseconds write{30'000};             ///< between two writes that a client takes
  milliseconds tunnel{3'600'000};         ///< a websocket without a byte either way
  milliseconds linger{2'000};             ///< for the client to read an answer that closes
  milliseconds upstream_idle{60'000};     ///< an unused connection to the app
  std::size_t upstream_idle_max = 1'024;  ///< unused connections to the app, per worker
};

}  // namespace weir::proxy
