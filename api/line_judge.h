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

/// Judges events that come as JSON by the gate of one worker. One per worker, on its thread.
class LineJudge {
 public:
  LineJudge(gate::Gate& gate, telemetry::MetricCells& metrics) : gate_(gate), metrics_(metrics) {}

  /// Appends the answer, a JSON object; or says what is wrong with the event and appends nothing.
  std::optional<JsonWrong> judge(std::string_view object, Ask ask, TimePoint now, std::string& out);

 private:
  gate::Gate& gate_;
  telemetry::MetricCells& metrics_;
  EventReader reader_;
  QueryTrace trace_;
};

}  // namespace weir::api
