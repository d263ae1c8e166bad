#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "api/event_reader.h"
#include "api/verdict_json.h"
#include "gate/gate.h"
#include "gate/unsettled.h"
#include "telemetry/metrics.h"

namespace weir::api {

enum class Ask : std::uint8_t {
  events,  ///< count, remember, answer the verdict
  query,   ///< change nothing; answer the verdict and the count of every policy
};

/// The sender of an event, which waits if the shared store must be asked about it.
class Asker : public gate::Waiter {
 public:
  /// The last event has not been judged: give it once more after resume().
  bool waits() const noexcept { return waits_; }
  /// The last event has not been judged: give it to this worker, which knows the request.
  std::optional<std::size_t> goes_to() const noexcept { return goes_to_; }

 private:
  friend class LineJudge;
  bool waits_ = false;
  std::optional<std::size_t> goes_to_;
  std::optional<QueryTrace> trace_;  // of the query under way
};

/// Judges events that come as JSON by the gate of one worker. One per worker, on its thread.
class LineJudge {
 public:
  LineJudge(gate::Gate& gate, telemetry::MetricCells& metrics) : gate_(gate), metrics_(metrics) {}
  /// This worker's requests whose answers no door sees; without them no answer can be reported.
  /// `worker` is one of `workers`.
  void settle_by(gate::Unsettled& unsettled, std::size_t worker, std::size_t workers) noexcept {
    unsettled_ = &unsettled;
    worker_ = worker;
    workers_ = workers;
  }

  /// Appends the answer, a JSON object; or returns the event's error and appends nothing;
  /// or lets the asker wait, and appends nothing.
  std::optional<JsonWrong> judge(std::string_view object, Ask ask, TimePoint now, std::string& out,
                                 Asker& asker);
  /// The event that the asker waits with will not be given once more.
  void give_up(Asker& asker, TimePoint now) { gate_.give_up(asker, now); }

 private:
  std::optional<JsonWrong> settle(Ask ask, TimePoint now, std::string& out, Asker& asker);

  gate::Gate& gate_;
  telemetry::MetricCells& metrics_;
  EventReader reader_;
  gate::Unsettled* unsettled_ = nullptr;
  std::size_t worker_ = 0, workers_ = 1;
};

}  // namespace weir::api
