#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "api/event_reader.h"
#include "api/verdict_json.h"
#include "gate/gate.h"
#include "telemetry/metrics.h"

namespace weir::api {

enum class Ask : std::uint8_t {
  events,  ///< count, remember, answer the verdict
  query,   ///< change nothing; answer the verdict and what every policy would have counted
};

/// Who gives an event, and waits if the shared store must be asked about it.
class Asker : public gate::Waiter {
 public:
  /// The last event has not been judged: give it once more after resume().
  bool waits() const noexcept { return waits_; }

 private:
  friend class LineJudge;
  bool waits_ = false;
  std::optional<QueryTrace> trace_;  // of the query under way
};

/// Judges events that come as JSON by the gate of one worker. One per worker, on its thread.
class LineJudge {
 public:
  LineJudge(gate::Gate& gate, telemetry::MetricCells& metrics) : gate_(gate), metrics_(metrics) {}

  /// Appends the answer, a JSON object; or says what is wrong with the event and appends nothing;
  /// or lets the asker wait, and appends nothing.
  std::optional<JsonWrong> judge(std::string_view object, Ask ask, TimePoint now, std::string& out,
                                 Asker& asker);
  /// The event that the asker waits with will not be given once more.
  void give_up(Asker& asker, TimePoint now) { gate_.give_up(asker, now); }

 private:
  gate::Gate& gate_;
  telemetry::MetricCells& metrics_;
  EventReader reader_;
};

}  // namespace weir::api
