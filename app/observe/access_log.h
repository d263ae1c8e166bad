#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "app/observe/reopened_file.h"
#include "app/support/log.h"
#include "telemetry/request_sink.h"

namespace weir::app {

/// The access log: a sink for each worker, and a thread that writes the sinks' lines to a file,
/// stdout or stderr. A disk or a reader that stalls blocks that thread alone; meanwhile the sinks'
/// queues fill, and lines without room are counted. The functions are for the control thread.
class AccessLog {
 public:
  static constexpr milliseconds kEvery{100};
  /// How long stop() waits for a disk or a reader that has stalled.
  static constexpr milliseconds kLastWords{1'000};

  /// `cells`: of the thread.
  AccessLog(Log& log, telemetry::MetricCells& cells);
  ~AccessLog();
  AccessLog(const AccessLog&) = delete;
  AccessLog& operator=(const AccessLog&) = delete;

  /// `stdout`, `stderr`, or a file. After an error it is tried again every second; until then the
  /// lines are lost, and counted.
  [[nodiscard]] Result<void> open(const std::string& path);
  /// The sink of one more worker, for `facts_most` requests at once; it lives as long as the
  /// AccessLog, or longer.
  telemetry::RequestSink& add(telemetry::MetricCells& cells, std::size_t facts_most);
  void start();
  /// The file is opened again, before what is written next.
  void reopen() noexcept;
  /// After the workers have ended: writes the rest, for at most kLastWords. Also the second time.
  void stop();

 private:
  struct State;
  std::shared_ptr<State> state_;  // the thread's as well: a write that never ends is left behind
};

}  // namespace weir::app
