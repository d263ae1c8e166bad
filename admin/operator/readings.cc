#include "admin/operator/readings.h"

#include <algorithm>
#include <cmath>

namespace weir::admin {

Histogram::Edge Histogram::edge_of(double reading, int digits, bool whole) {
  const double size = std::abs(reading);
  double step = whole ? 1 : 1e-6;
  if (size > step) {
    // The last of so many digits: 12345 with three of them lies in a bar of 100.
    step = std::max(step, std::pow(10, std::floor(std::log10(size)) + 1 - digits));
  }
  // Counts in steps first: 0.29 / 0.01 is a little less than 29.
  const double steps = std::floor(reading / step + 1e-9);
  return {steps * step, (steps + 1) * step};
}

void Histogram::add(const Number& reading) {
  const Number finite = reading.finite();
  const bool whole = !finite.is_real();
  whole_ = whole_ && whole;
  ++keys_;
  if (whole && finite.integer() >= 0 && finite.integer() < std::ssize(small_)) {
    ++small_[static_cast<std::size_t>(finite.integer())];
    return;
  }
  const Edge edge = edge_of(finite.as_real(), 3, whole);
  auto& [to, keys] = bars_[edge.from];
  to = edge.to;
  ++keys;
}

std::vector<Histogram::Bar> Histogram::bars(std::size_t most) const {
  auto all = bars_;
  for (std::size_t i = 0; i < small_.size(); ++i) {
    if (small_[i] == 0) continue;
    auto& [to, keys] = all[static_cast<double>(i)];
    to = std::max(to, static_cast<double>(i + 1));
    keys += small_[i];
  }
  std::vector<Bar> out;
  for (const auto& [from, bar] : all) out.push_back({from, bar.first, bar.second});
  for (int digits = 2; digits > 0 && out.size() > most; --digits) {
    std::vector<Bar> wider;
    for (const Bar& bar : out) {
      const Edge edge = edge_of(bar.from, digits, whole_);
      if (wider.empty() || wider.back().from != edge.from) wider.push_back({edge.from, edge.to, 0});
      wider.back().keys += bar.keys;
    }
    out = std::move(wider);
  }
  return out;
}

}  // namespace weir::admin
