#include "admin/operator/readings.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>

namespace weir::admin {
namespace {

constexpr int kFinest = -7;
constexpr int kCoarsest = 309;

/// 10 to each power from kFinest to kCoarsest; the last one is infinite.
const auto kPowers = [] {
  std::array<double, kCoarsest - kFinest + 1> out{};
  for (int i = kFinest; i <= kCoarsest; ++i)
    out[static_cast<std::size_t>(i - kFinest)] = std::pow(10, i);
  return out;
}();

double ten_to(int exponent) noexcept {
  return kPowers[static_cast<std::size_t>(std::clamp(exponent, kFinest, kCoarsest) - kFinest)];
}

/// The power of ten of the last of so many digits: 12345 with three of them lies in a bar of 100.
int step_of(double size, int digits, bool whole) noexcept {
  const int finest = whole ? 0 : -6;
  if (!(size > ten_to(finest))) return finest;
  // floor(log10(size)), estimated from floor(log2(size)) and corrected by one. The correction is no
  // branch, because readings differ.
  const auto exponent = static_cast<int>(std::bit_cast<std::uint64_t>(size) >> 52U) - 1023;
  int power = (exponent * 1233) >> 12;
  power += static_cast<int>(size >= ten_to(power + 1));
  return std::max(finest, power + 1 - digits);
}

/// std::floor() is a call.
double floor_of(double value) noexcept {
  const auto whole = static_cast<double>(static_cast<std::int64_t>(value));
  return whole - static_cast<double>(whole > value);
}

// 0.29 / 0.01 is a little less than 29.
double steps_of(double reading, double step) noexcept { return floor_of(reading / step + 1e-9); }

}  // namespace

Histogram::Edge Histogram::edge_of(double reading, int digits, bool whole) {
  const double step = ten_to(step_of(std::abs(reading), digits, whole));
  const double steps = steps_of(reading, step);
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
  const double real = finite.as_real();
  const int exponent = step_of(std::abs(real), 3, whole);
  auto& row = rows_[static_cast<std::size_t>(exponent - kFinest)];
  if (row == nullptr) row = std::make_unique<Row>();
  const auto steps = static_cast<std::int64_t>(steps_of(real, ten_to(exponent)));
  ++(*row)[static_cast<std::size_t>(std::clamp(steps, -kSteps, kSteps) + kSteps)];
}

std::vector<Histogram::Bar> Histogram::bars(std::size_t most) const {
  std::map<double, std::pair<double, std::int64_t>> all;  // by their lower end
  for (std::size_t place = 0; place < rows_.size(); ++place) {
    if (rows_[place] == nullptr) continue;
    const double step = kPowers[place];
    for (std::int64_t i = -kSteps; i <= kSteps; ++i) {
      const std::int64_t held = (*rows_[place])[static_cast<std::size_t>(i + kSteps)];
      if (held == 0) continue;
      // Where bars of two steps begin at the same edge, the wider one has both.
      const double end = static_cast<double>(i + 1) * step;
      auto& [to, keys] = all.try_emplace(static_cast<double>(i) * step, end, 0).first->second;
      to = std::max(to, end);
      keys += held;
    }
  }
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
