#include "policies/judgement/plan.h"

#include <cmath>

namespace weir::policies {

TimePoint Instant::window_end(const Counter& counter) const noexcept {
  switch (counter.spec.window) {
    case limiter::Window::every:
      return of(counter) +
             (counter.window - milliseconds{to_ms(of(counter)) % counter.window.count()});
    case limiter::Window::calendar:
      return counter.spec.zone->span(counter.spec.unit, of(counter)).end;
    case limiter::Window::leaky:
      return now + milliseconds{static_cast<std::int64_t>(std::ceil(counter.spec.ms_of_one()))};
    default:
      return of(counter) + counter.window;
  }
}

milliseconds Instant::window_length(const Counter& counter) const noexcept {
  if (counter.spec.window != limiter::Window::calendar) return counter.window;
  const TimeZone::Span span = counter.spec.zone->span(counter.spec.unit, of(counter));
  return span.end - span.begin;
}

}  // namespace weir::policies
