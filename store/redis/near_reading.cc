#include "store/redis/near_reading.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/number.h"
#include "store/redis/packer.h"

namespace weir::store {

namespace {
constexpr double kSumMax = kExactInteger;  // where integers stop, as in the scripts
}  // namespace

void append_cell(std::string& out, std::string_view value, std::string_view settled) {
  Packer{out}.word(static_cast<std::uint32_t>(value.size()));
  out += value;
  out += settled;
}

void NearReading::start(const limiter::CounterSpec& spec) noexcept {
  metric_ = spec.metric;
  real_ = spec.real;
  for (Part* const part : {&value_, &settled_}) {
    part->n = part->value = 0;
    part->members.clear();
  }
}

bool NearReading::add(std::string_view cell) {
  std::uint32_t size = 0;
  if (cell.size() < sizeof size) return false;
  std::memcpy(&size, cell.data(), sizeof size);
  cell.remove_prefix(sizeof size);
  return size <= cell.size() && add(cell.substr(0, size), value_) &&
         add(cell.substr(size), settled_);
}

bool NearReading::add(std::string_view packed, Part& part) {
  double totals[2];
  if (packed.size() < sizeof totals || packed.size() % sizeof totals[0] != 0) return false;
  std::memcpy(totals, packed.data(), sizeof totals);
  packed.remove_prefix(sizeof totals);
  const auto [n, value] = totals;
  if (!std::isfinite(n) || n < 0 || std::isnan(value)) return false;
  switch (metric_) {
    case Metric::distinct:
      for (; !packed.empty(); packed.remove_prefix(sizeof(std::uint64_t))) {
        std::memcpy(&part.members.emplace_back(), packed.data(), sizeof(std::uint64_t));
      }
      break;
    case Metric::minimum:
      if (n > 0) part.value = part.n > 0 ? std::min(part.value, value) : value;
      break;
    case Metric::maximum:
      if (n > 0) part.value = part.n > 0 ? std::max(part.value, value) : value;
      break;
    case Metric::exists:
      part.value = std::max(part.value, value);
      break;
    default:
      part.value += value;
  }
  part.n += n;
  return packed.empty();
}

Number NearReading::number(Part& part) const {
  if (metric_ == Metric::distinct) {
    std::sort(part.members.begin(), part.members.end());
    const auto end = std::unique(part.members.begin(), part.members.end());
    return Number(static_cast<std::int64_t>(end - part.members.begin()));
  }
  if (std::isnan(part.value)) part.value = 0;  // doubles that overflow both ways
  if (metric_ == Metric::average) return Number::real(part.n > 0 ? part.value / part.n : 0);
  const bool counts = metric_ == Metric::count || metric_ == Metric::exists;
  if (real_ && !counts) return Number::real(part.value);
  return Number(static_cast<std::int64_t>(std::clamp(part.value, -kSumMax, kSumMax)));
}

void NearReading::write(limiter::Reading& out) {
  const bool of_events =
      metric_ == Metric::average || metric_ == Metric::minimum || metric_ == Metric::maximum;
  out.has_value = !of_events || value_.n > 0;
  out.value = number(value_);
  out.settled = number(settled_);
}

}  // namespace weir::store
