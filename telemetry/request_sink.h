#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/spares.h"
#include "telemetry/access_line.h"
#include "telemetry/metrics.h"
#include "telemetry/request_facts.h"
#include "telemetry/ring.h"

namespace weir::telemetry {

/// Wakes the thread that writes the log, before its queues are full.
struct SinkBell {
  std::mutex mutex;
  std::condition_variable rung;
};

/// One worker's way to the access log and to the traces. Records without room in the queues are
/// lost and counted: nothing here waits for a disk or a collector.
///
/// Everything but take() and spans() is for the worker's thread; no allocation after warm-up.
class RequestSink {
 public:
  static constexpr std::size_t kQueueBytes = std::size_t{1} << 20;
  static constexpr std::size_t kSpans = 512;
  /// Requests at once whose facts are kept, unless the constructor gets a smaller number; others
  /// are counted as lost.
  static constexpr std::size_t kFactsMax = 4'096;
  using Spans = Ring<RequestFacts, kSpans>;
  /// The most memory of one: of `facts` requests at once, its lines if it `logs`, its spans if it
  /// `traces`.
  static constexpr std::size_t most_bytes(std::size_t facts, bool logs, bool traces) noexcept {
    return facts * (sizeof(RequestFacts) + 4 * sizeof(void*)) + (logs ? kQueueBytes : 0) +
           (traces ? kSpans * sizeof(RequestFacts) : 0);
  }

  /// `seed`: of the samples.
  RequestSink(MetricCells& cells, SinkBell& bell, std::uint64_t seed,
              std::size_t facts_most = kFactsMax) noexcept;

  /// Null: no access log.
  void log(std::shared_ptr<const AccessSettings> settings);
  /// 0 to 1: which part of the requests is traced; without this call none, and no `traceparent` is
  /// written.
  void trace(double sample);

  bool is_logging() const noexcept { return settings_ != nullptr; }
  bool is_tracing() const noexcept { return spans_ != nullptr; }
  bool draw_line() noexcept { return is_logging() && draw(log_below_); }
  bool draw_trace() noexcept { return draw(trace_below_); }
  /// Whether an error that is still to come would be logged.
  bool wants_errors() const noexcept { return is_logging() && settings_->always_errors; }
  bool wants_refusals() const noexcept { return is_logging() && settings_->always_refused; }

  /// Whether a line or a span has the field: others need not be noted.
  bool wants(AccessField field) const noexcept {
    return (wanted_ >> static_cast<unsigned>(field) & 1) != 0;
  }

  /// Null: too many are lent.
  RequestFacts* lend() noexcept;
  /// Writes what is wanted of it, and takes it back.
  void finish(RequestFacts& facts);

  /// Moves the lines that wait into `into`, which is empty; its memory is used from then on. On the
  /// thread that writes.
  void take(std::string& into);
  /// Null: nothing is traced. To be read by one thread.
  Spans* spans() noexcept { return spans_.get(); }

 private:
  bool draw(std::uint64_t below) noexcept;
  bool is_wanted(const RequestFacts& facts) const noexcept;
  void write_line(const RequestFacts& facts);

  MetricCells& cells_;
  SinkBell& bell_;
  std::uint64_t random_;
  std::shared_ptr<const AccessSettings> settings_;
  std::unique_ptr<AccessLine> line_;
  std::uint32_t wanted_ = 0;  // a bit for each AccessField
  std::uint64_t log_below_ = 0, trace_below_ = 0;
  std::unique_ptr<Spans> spans_;
  Spares<RequestFacts> facts_;
  std::size_t lent_ = 0, facts_most_;
  std::mutex mutex_;
  std::string queue_;  // guarded by mutex_
};

}  // namespace weir::telemetry
