#include "replay/formats/log_time.h"

#include <charconv>

namespace weir::replay {

LogTime::LogTime() {
  for (const std::string_view pattern :
       {"%Y-%m-%dT%H:%M:%S%t%z", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S%t%z", "%Y-%m-%d %H:%M:%S",
        "%d/%b/%Y:%H:%M:%S %z"}) {
    TimePattern::Problem problem;
    if (auto compiled = TimePattern::compile(pattern, problem))
      patterns_.push_back(std::move(*compiled));
  }
}

std::optional<TimePoint> LogTime::number(Number value) noexcept {
  // From these numbers on, the next unit: the year 5138 of each.
  constexpr std::int64_t kMillis = 100'000'000'000, kMicros = kMillis * 1'000,
                         kNanos = kMicros * 1'000;
  return epoch_time(value, value < kMillis   ? EpochUnit::seconds
                           : value < kMicros ? EpochUnit::millis
                           : value < kNanos  ? EpochUnit::micros
                                             : EpochUnit::nanos);
}

std::optional<TimePoint> LogTime::read(const Value& value) noexcept {
  if (value.is_number()) return number(value.as_number());
  if (!value.is(Type::text)) return std::nullopt;
  const std::string_view text = value.as_text();
  const auto whole = [&](auto& into) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), into);
    return error == std::errc{} && end == text.data() + text.size();
  };
  std::int64_t integer = 0;  // exact: a double has no room for nanoseconds
  if (whole(integer)) return number(integer);
  double real = 0;
  if (whole(real)) return number(Number::real(real));
  for (std::size_t i = 0; i < patterns_.size(); ++i) {
    const std::size_t at = (last_ + i) % patterns_.size();
    std::size_t used = 0;
    const auto time = patterns_[at].read(text, used);
    if (!time || used != text.size()) continue;
    last_ = at;
    return time;
  }
  return std::nullopt;
}

}  // namespace weir::replay
