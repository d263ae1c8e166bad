#include "telemetry/metrics.h"

#include <array>
#include <charconv>

#include "telemetry/prometheus_text.h"

namespace weir::telemetry {
namespace {

constexpr std::array<MetricRow, static_cast<std::size_t>(Metric::count_)> kRows{{
#define WEIR_ROW(id, kind, name, labels, help) {MetricKind::kind, name, labels, help},
    WEIR_METRICS(WEIR_ROW)
#undef WEIR_ROW
}};

constexpr std::string_view type_name(MetricKind kind) {
  switch (kind) {
    case MetricKind::counter:
      return "counter";
    case MetricKind::gauge:
      return "gauge";
    case MetricKind::histogram:
      break;
  }
  return "histogram";
}

void append_decimal(std::string& out, double value) {
  std::array<char, 32> text;
  const auto end = std::to_chars(text.begin(), text.end(), value).ptr;
  out.append(text.begin(), end);
}

}  // namespace

const MetricRow& metric_row(Metric metric) noexcept {
  return kRows[static_cast<std::size_t>(metric)];
}

Metrics::Metrics(std::size_t writers) {
  for (std::size_t i = 0; i < writers; ++i) cells_.push_back(std::make_unique<MetricCells>());
}

std::int64_t Metrics::sum(Metric metric) const noexcept {
  std::int64_t total = 0;
  for (const auto& cells : cells_) total += cells->get(metric);
  return total;
}

void Metrics::write(std::string& out) const {
  std::string_view previous;
  std::int64_t so_far = 0;  // of a histogram
  for (std::size_t i = 0; i < kRows.size(); ++i) {
    const MetricRow& row = kRows[i];
    if (row.name != previous) {
      append_family(out, row.name, type_name(row.kind), row.help);
      previous = row.name;
      so_far = 0;
    }
    const std::int64_t value = sum(static_cast<Metric>(i));
    out.append(row.name);
    if (row.kind == MetricKind::histogram) {
      if (row.labels.empty()) {
        out.append("_sum ");
        append_decimal(out, static_cast<double>(value) / 1e6);
        out.append("\n").append(row.name).append("_count ");
      } else {
        so_far += value;
        out.append("_bucket{").append(row.labels).append("} ");
      }
      out.append(std::to_string(so_far)).append("\n");
      continue;
    }
    if (!row.labels.empty()) out.append("{").append(row.labels).append("}");
    out.append(" ");
    if (row.name.ends_with("_seconds")) {  // the cells hold milliseconds
      append_decimal(out, static_cast<double>(value) / 1000);
    } else {
      out.append(std::to_string(value));
    }
    out.append("\n");
  }
}

std::string escape_label(std::string_view value) {
  std::string out;
  for (const char c : value) {
    if (c == '\n') {
      out += "\\n";
    } else {
      if (c == '\\' || c == '"') out += '\\';
      out += c;
    }
  }
  return out;
}

std::string label(std::string_view name, std::string_view value) {
  return std::string(name).append("=\"").append(escape_label(value)).append("\"");
}

}  // namespace weir::telemetry
