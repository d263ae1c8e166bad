#pragma once

#include <cstddef>
#include <cstdint>

#include "core/clock.h"

namespace weir::net {
class ConnectionBudget;
class TlsIdentity;
}  // namespace weir::net

namespace weir::net::grpc {

/// Settings of the gRPC server; equal for every worker.
struct Settings {
  std::size_t message_bytes = std::size_t{4} << 20;  ///< of a request, decompressed
  std::size_t field_bytes = 64 << 10;  ///< of a call's metadata, as HTTP/2 counts (32 a field more)
  std::uint32_t streams = 1'000;       ///< calls under way on one connection
  /// Bound for the memory of one worker's connections, in bytes: a part of BlockPool::limit().
  std::size_t buffer_bytes = std::size_t{16} << 20;
  /// Shared by all workers, not owned. Null: unlimited.
  ConnectionBudget* connections = nullptr;
  /// Shared by all workers, not owned. Null: in the clear.
  const TlsIdentity* tls = nullptr;
  std::size_t handshakes = 256;  ///< of TLS under way at once; a newer one ends the oldest

  milliseconds handshake{10'000};  ///< of TLS, from the connection to its end
  milliseconds frame{10'000};    ///< from the first byte of a frame, or of the preface, to its end
  milliseconds message{30'000};  ///< from a call's metadata to the end of its message
  milliseconds write{30'000};    ///< between two writes that a peer takes; also of one answer
  milliseconds quiet{120'000};   ///< without a byte from the peer: it is asked by a PING
  milliseconds pong{20'000};     ///< for its answer
  milliseconds linger{1'000};    ///< for the peer to read why it is shut out
  milliseconds goaway{1'000};    ///< between the two GOAWAYs of a drain
  /// After this time, plus or minus a tenth, a connection drains, so that its peer reconnects and
  /// finds newer replicas. 0: never.
  milliseconds age{0};
};

}  // namespace weir::net::grpc
