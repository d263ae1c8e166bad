#pragma once

#include <nghttp2/nghttp2.h>

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "net/connection_list.h"
#include "net/grpc/deflater.h"
#include "net/grpc/memory.h"
#include "net/grpc/service.h"
#include "net/grpc/settings.h"
#include "net/http/content_coding.h"
#include "net/worker_pool.h"
#include "telemetry/metrics.h"

namespace weir::net::grpc {

class Connection;
class Stream;

struct DeleteOption {
  void operator()(nghttp2_option* option) const noexcept { nghttp2_option_del(option); }
};
struct DeleteCallbacks {
  void operator()(nghttp2_session_callbacks* callbacks) const noexcept {
    nghttp2_session_callbacks_del(callbacks);
  }
};

/// State that all connections of one worker share.
struct Context {
  Context(Worker& w, const Settings& s, telemetry::MetricCells& m)
      : worker(w), settings(s), metrics(m), memory(w.blocks()) {}

  /// Memory that the connections hold, in bytes.
  std::size_t kept() const noexcept { return memory.lent() + stream_bytes + tls_bytes; }
  /// Bytes that connections may keep before new ones are refused.
  std::size_t enough() const noexcept { return settings.buffer_bytes - settings.buffer_bytes / 4; }
  /// Whether messages and answers take much of the memory, or not much of it is left. Idle
  /// connections alone take no more than enough().
  bool is_filling() const noexcept {
    return stream_bytes > settings.buffer_bytes / 4 ||
           kept() > settings.buffer_bytes - settings.buffer_bytes / 8 || worker.blocks().is_short();
  }
  bool is_short() const noexcept {
    return kept() > settings.buffer_bytes || worker.blocks().is_short();
  }

  Worker& worker;
  const Settings& settings;
  telemetry::MetricCells& metrics;
  std::vector<Method*> methods;
  Memory memory;
  std::unique_ptr<nghttp2_session_callbacks, DeleteCallbacks> callbacks;
  std::unique_ptr<nghttp2_option, DeleteOption> option;
  ContentDecoder inflater;
  Deflater deflater;
  std::minstd_rand random{std::random_device{}()};  ///< spreads the ends of connections
  std::string text;                                 ///< a grpc-message being written

  std::size_t stream_bytes = 0;  ///< that streams keep
  std::size_t tls_bytes = 0;     ///< that OpenSSL keeps for connections
  bool stopping = false;         ///< new connections get a GOAWAY at once

  ConnectionList<Connection> connections;
  Connection* dirty = nullptr;  ///< connections with output for the end of the turn
  std::size_t handshakes = 0;   ///< of TLS under way
  Stream* free_streams = nullptr;
};

}  // namespace weir::net::grpc
