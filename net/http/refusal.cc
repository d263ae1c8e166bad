#include "net/http/refusal.h"

#include <array>
#include <cstddef>

#include "telemetry/metrics.h"

namespace weir::net {
namespace {

constexpr std::array kRows = {
#define WEIR_ROW(id, status, word, detail) HttpRefusalRow{status, word, detail},
    WEIR_HTTP_REFUSALS(WEIR_ROW)
#undef WEIR_ROW
};

}  // namespace

const HttpRefusalRow& http_refusal_row(HttpRefusal refusal) noexcept {
  return kRows[static_cast<std::size_t>(refusal)];
}

void count_malformed_request(telemetry::MetricCells& metrics, HttpRefusal refusal) noexcept {
  using telemetry::Metric;
  metrics.add(Metric::requests_malformed);
  switch (refusal) {
    case HttpRefusal::head_too_large:
      return metrics.add(Metric::limit_head);
    case HttpRefusal::target_too_long:
      return metrics.add(Metric::limit_target);
    case HttpRefusal::too_many_fields:
      return metrics.add(Metric::limit_fields);
    default:
      return;
  }
}

}  // namespace weir::net
