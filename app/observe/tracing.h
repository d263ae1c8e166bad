#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "app/observe/otlp.h"
#include "app/support/log.h"
#include "telemetry/request_sink.h"

namespace weir::app {

/// Sends the spans of sampled requests to a collector, by OTLP over HTTP in JSON, from a thread of
/// its own. A collector that is slow or away holds up that thread alone: the workers' queues fill
/// meanwhile, and spans without room are counted. The functions are for the control thread.
class Tracing {
 public:
  static constexpr milliseconds kEvery{500};
  static constexpr std::size_t kBatch = 256;     ///< requests in one export
  static constexpr milliseconds kExport{2'000};  ///< for one export, connecting included
  static constexpr int kTries = 3;

  /// `endpoint`: http://HOST:PORT[/path], checked. `cells`: of the thread.
  Tracing(const std::string& endpoint, SpanSource source, Log& log, telemetry::MetricCells& cells);
  ~Tracing() { stop(); }

  /// Before start(). The sinks outlive stop().
  void read(telemetry::RequestSink& sink) { sinks_.push_back(&sink); }
  void start();
  /// After the workers have ended: sends the rest, for one export's time at most. Also the second
  /// time.
  void stop();

 private:
  void run();
  void export_all();
  /// Sends one batch; how long to wait before it is tried again, if that may help.
  enum class Sent : std::uint8_t { taken, refused, later };
  Sent send(const std::string& body, std::string& why);

  std::string host_, path_, authority_;
  std::uint16_t port_ = 80;
  SpanSource source_;
  Log& log_;
  telemetry::MetricCells& cells_;
  std::vector<telemetry::RequestSink*> sinks_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace weir::app
