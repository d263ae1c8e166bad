#include "limiter/kinds/calendar_span.h"

#include <algorithm>

namespace weir::limiter {

CalendarSpan::Edges CalendarSpan::edges(std::int64_t ms) const noexcept {
  const std::uint64_t known = current_.load(std::memory_order_relaxed);
  auto begin = static_cast<std::int64_t>(known >> kLengthBits) * 1000;
  const auto length =
      static_cast<std::int64_t>(known & ((std::uint64_t{1} << kLengthBits) - 1)) * 1000;
  if (ms >= begin && ms < begin + length) return {begin, begin + length};
  const TimeZone::Span span = zone_->span(unit_, from_ms(ms));
  begin = std::max<std::int64_t>(0, to_ms(span.begin));
  const std::int64_t seconds = (to_ms(span.end) - begin) / 1000;
  if (ms >= begin && seconds > 0 && seconds >> kLengthBits == 0) {
    current_.store(static_cast<std::uint64_t>(begin / 1000) << kLengthBits |
                       static_cast<std::uint64_t>(seconds),
                   std::memory_order_relaxed);
  }
  return {begin, begin + seconds * 1000};
}

std::int64_t CalendarSpan::longest(CalendarUnit unit) noexcept {
  constexpr std::int64_t kHour = 3'600'000;
  switch (unit) {
    case CalendarUnit::hour:
      return kHour;
    case CalendarUnit::day:
      return 48 * kHour;
    case CalendarUnit::week:
      return 8 * 24 * kHour;
    case CalendarUnit::month:
      return 32 * 24 * kHour;
  }
  return 32 * 24 * kHour;
}

}  // namespace weir::limiter
