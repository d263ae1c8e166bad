#include "replay/formats/log_time.h"

#include "core/chars/parse.h"

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
  // An integer is exact: a double has no room for nanoseconds.
  if (const auto integer = parse_whole<std::int64_t>(text)) return number(*integer);
  if (const auto real = parse_whole<double>(text)) return number(Number::real(*real));
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
