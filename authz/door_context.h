#pragma once

#include <functional>
#include <string>
#include <vector>

#include "authz/asked.h"
#include "authz/callers.h"
#include "authz/client.h"
#include "gate/judge.h"
#include "gate/unsettled.h"
#include "net/bytes.h"
#include "net/connection_list.h"
#include "net/http/chunked.h"
#include "net/http/client_connection.h"
#include "net/http/date.h"
#include "net/http/head.h"
#include "net/worker_pool.h"
#include "telemetry/metrics.h"

namespace weir::authz {

class DoorSession;

/// Settings of the doors over HTTP. Filled once by app/serve; equal for every worker.
struct DoorSettings {
  std::vector<Door> doors;
  ClientRules client{{}, "x-forwarded-for", 0};
  PathRules path;  ///< until DoorServer::use()
  net::HeadLimits head;
  net::ChunkLimits chunks;
  std::size_t body_bytes_max = 64 << 10;  ///< that a policy may read
  /// That one worker's connections keep: a part of the limit of net::Worker::blocks().
  std::size_t buffer_bytes = 8 << 20;
  std::size_t connections_max = 1'024;  ///< of one worker
  milliseconds head_time{10'000};       ///< from its first byte (or accept) to its end
  milliseconds silence{1'000};          ///< a drain waits for a first check this long
  milliseconds drain_head{2'000};       ///< and this long for the rest of a head
  milliseconds body_time{10'000};       ///< of a whole body
  milliseconds idle{300'000};           ///< between two checks: proxies keep connections
  milliseconds write{10'000};           ///< for an answer to be taken
  milliseconds linger{1'000};           ///< for a caller to read an answer that closes
};

/// Objects that the sessions of one worker share. The scratch members are valid within one step of
/// one session.
struct DoorContext : net::ConnectionShare {
  DoorContext(net::Worker& w, const DoorSettings& s, gate::Judge& j, gate::Unsettled& u,
              telemetry::MetricCells& m)
      : ConnectionShare(w, own_blocks, s.head, s.chunks, s.body_bytes_max),
        settings(s),
        judge(j),
        unsettled(u),
        metrics(m),
        path(s.path) {
    own_blocks.set_limit(s.buffer_bytes);
    own_blocks.draw_on(w.blocks());
  }

  const DoorSettings& settings;
  gate::Judge& judge;
  gate::Unsettled& unsettled;
  telemetry::MetricCells& metrics;
  PathRules path;  ///< of the policies in force
  /// Takes a connection whose request is for no door, with what has come of it; null: 404.
  std::function<void(net::Fd, std::string)> others;
  net::BlockPool own_blocks;  ///< a share of the worker's: checks keep no more
  net::HttpDate date;

  /// The newest is the one whose last request is the newest.
  net::ConnectionList<DoorSession> sessions;

  AskedRoom room;
  std::string answer;                    ///< being written
  std::vector<std::string_view> forged;  ///< of its check, in the caller's bytes
};

}  // namespace weir::authz
