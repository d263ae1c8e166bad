#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "telemetry/metrics_list.h"
#include "telemetry/rule_stats.h"

namespace weir::telemetry {

enum class Metric : std::uint16_t {
#define WEIR_ROW(id, kind, name, labels, help) id,
  WEIR_METRICS(WEIR_ROW)
#undef WEIR_ROW
      count_
};

/// histogram: a row for each bucket, whose cells count what falls into it alone, with its upper
/// bound as the label `le`, rising to "+Inf"; then a row without labels for the sum, in
/// microseconds.
enum class MetricKind : std::uint8_t { counter, gauge, histogram };

struct MetricRow {
  MetricKind kind;
  std::string_view name, labels, help;  // help is in the first row of a name
};
const MetricRow& metric_row(Metric metric) noexcept;

/// One worker's cells. One thread writes, any thread may read: relaxed loads and stores, no locked
/// instruction, nothing shared on the hot path.
class MetricCells {
 public:
  void add(Metric metric, std::int64_t n = 1) noexcept {
    auto& cell = cells_[static_cast<std::size_t>(metric)];
    cell.store(cell.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
  }
  void set(Metric metric, std::int64_t n) noexcept {
    cells_[static_cast<std::size_t>(metric)].store(n, std::memory_order_relaxed);
  }
  std::int64_t get(Metric metric) const noexcept {
    return cells_[static_cast<std::size_t>(metric)].load(std::memory_order_relaxed);
  }

 private:
  alignas(
      64) std::array<std::atomic<std::int64_t>, static_cast<std::size_t>(Metric::count_)> cells_{};
};

/// All cells of the process, summed on scrape.
class Metrics {
 public:
  /// `writers`: threads, each with cells of its own; the last ones are the control thread's.
  explicit Metrics(std::size_t writers);
  MetricCells& cells(std::size_t writer) noexcept { return *cells_[writer]; }
  MetricCells& control() noexcept { return *cells_.back(); }
  std::size_t writers() const noexcept { return cells_.size(); }
  std::int64_t sum(Metric metric) const noexcept;
  RuleStats& rules() noexcept { return rules_; }
  const RuleStats& rules() const noexcept { return rules_; }
  /// Prometheus text format 0.0.4.
  void write(std::string& out) const;

 private:
  std::vector<std::unique_ptr<MetricCells>> cells_;
  RuleStats rules_;
};

/// Escapes a label value: backslash, quote, newline.
std::string escape_label(std::string_view value);
/// `name="value"`, with the value escaped.
std::string label(std::string_view name, std::string_view value);

}  // namespace weir::telemetry
