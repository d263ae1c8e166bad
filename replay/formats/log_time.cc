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

std::optional<TimePoint> LogTime::number(double value) noexcept {
  constexpr double kSecondsBelow = 1e11, kMillisBelow = 1e14;  // the years 5138 of each
  if (value < kSecondsBelow) return epoch_time(value, true);
  return epoch_time(value < kMillisBelow ? value : value / 1000, false);
}

std::optional<TimePoint> LogTime::read(const Value& value) noexcept {
  if (value.is_number()) return number(value.as_number().as_real());
  if (!value.is(Type::text)) return std::nullopt;
  const std::string_view text = value.as_text();
  double seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error == std::errc{} && end == text.data() + text.size()) return number(seconds);
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
