#include "telemetry/latency.h"

#include <algorithm>
#include <charconv>

#include "telemetry/metrics.h"
#include "telemetry/prometheus_text.h"

namespace weir::telemetry {
namespace {

void append_seconds(std::string& out, std::int64_t microseconds) {
  std::array<char, 32> text;
  const auto end =
      std::to_chars(text.begin(), text.end(), static_cast<double>(microseconds) / 1e6).ptr;
  out.append(text.begin(), end);
}

/// One writer: a plain addition, no locked instruction.
void add_to(std::atomic<std::uint64_t>& cell, std::uint64_t n) noexcept {
  cell.store(cell.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
}

}  // namespace

void LatencyCells::Row::add(Duration took) noexcept {
  const std::int64_t us = std::max<std::int64_t>(took.count(), 0);
  std::size_t bucket = 0;
  while (bucket < kBoundsUs.size() && us > kBoundsUs[bucket]) ++bucket;  // most end at once
  add_to(counts[bucket], 1);
  add_to(sum_us, static_cast<std::uint64_t>(us));
}

Latency::Latency(std::size_t workers) {
  for (std::size_t i = 0; i < workers; ++i) cells_.push_back(std::make_unique<LatencyCells>());
}

std::size_t Latency::route(std::string_view event) {
  const std::scoped_lock hold(mutex_);
  const auto found = std::find(names_.begin(), names_.end(), event);
  if (found != names_.end()) return static_cast<std::size_t>(found - names_.begin());
  if (names_.size() == kRouteClasses) return kOtherRoute;
  names_.emplace_back(event);
  return names_.size() - 1;
}

void Latency::write(std::string& out, std::string_view upstream) const {
  const std::scoped_lock hold(mutex_);
  const auto head = [&](std::string_view name, std::string_view help) {
    append_family(out, name, "histogram", help);
  };
  const auto series = [&](std::string_view name, std::string_view label, std::string_view value,
                          std::size_t row) {
    const std::string labels = telemetry::label(label, value);
    std::uint64_t so_far = 0;
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i <= LatencyCells::kBoundsUs.size(); ++i) {
      for (const auto& cells : cells_) {
        so_far += cells->rows_[row].counts[i].load(std::memory_order_relaxed);
      }
      out.append(name).append("_bucket{").append(labels).append(",le=\"");
      if (i < LatencyCells::kBoundsUs.size()) {
        append_seconds(out, LatencyCells::kBoundsUs[i]);
      } else {
        out.append("+Inf");
      }
      out.append("\"} ").append(std::to_string(so_far)).append("\n");
    }
    for (const auto& cells : cells_)
      sum += cells->rows_[row].sum_us.load(std::memory_order_relaxed);
    out.append(name).append("_sum{").append(labels).append("} ");
    append_seconds(out, static_cast<std::int64_t>(sum));
    out.append("\n").append(name).append("_count{").append(labels).append("} ");
    out.append(std::to_string(so_far)).append("\n");
  };
  constexpr std::string_view kRequest = "weir_request_duration_seconds";
  constexpr std::string_view kUpstream = "weir_upstream_duration_seconds";
  head(kRequest,
       "Time from a request's head to the end of its answer, by the event of its route (the first "
       "15 named ones).");
  for (std::size_t i = 0; i < names_.size(); ++i) series(kRequest, "route", names_[i], i);
  head(kUpstream, "Time from sending a request to the app to the head of its answer.");
  series(kUpstream, "upstream", upstream, kRouteClasses);
}

}  // namespace weir::telemetry
