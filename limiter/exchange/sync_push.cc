#include "limiter/exchange/sync_push.h"

#include <algorithm>

namespace weir::limiter {
namespace {

constexpr int kLifetimeIntervals = 10;
constexpr milliseconds kLifetimeMin{5'000};

}  // namespace

void begin_push(SyncEntry& entry, TimePoint now, SyncPush& out) {
  out.key = entry.key;
  out.counter = entry.counter.shared;
  out.name = entry.name;
  out.verb = SharedVerb::read;
  out.amount = Number{0};
  out.member = 0;
  out.last = true;
  out.lifetime = milliseconds{0};
  out.again = false;
  out.resets = entry.resets;
  entry.away = true;
  entry.touched = false;
  entry.empties = false;
  entry.sent_at = now;
}

void forget_old_debt(SyncEntry& entry, TimePoint now) {
  if (!entry.sends_no_negative() || !amount_of(entry.pending).is_negative()) return;
  if (entry.flight.sequence != 0) return;  // the store may still receive them
  const bool first = entry.counter.shared->spec.window == Window::every_first;
  if (now >= (first ? entry.others_until : window_end(entry, entry.added_at))) entry.pending = {};
}

TimePoint window_end(const SyncEntry& entry, TimePoint now) {
  const SharedCounter& counter = *entry.counter.shared;
  switch (counter.spec.window) {
    case Window::every:
    case Window::calendar: {
      const milliseconds passed{counter.rule.passed(to_ms(now))};
      const auto length = counter.rule.calendar != nullptr
                              ? CalendarSpan::longest(counter.spec.unit)
                              : counter.rule.length;
      if (counter.rule.calendar == nullptr) return now + (milliseconds{length} - passed);
      return from_ms(counter.rule.calendar->edges(to_ms(now)).end);
    }
    case Window::leaky: {
      const double level = std::clamp((amount_of(entry.others) + entry.own_told).as_real(), 1.0,
                                      counter.spec.capacity.as_real());
      return now + milliseconds{static_cast<std::int64_t>(level * counter.spec.ms_of_one())};
    }
    case Window::none:
      return now + gauge_lifetime(entry.counter);
    case Window::ring:
      return now + milliseconds{counter.rule.length + counter.rule.quantum};
    default:
      return now + milliseconds{counter.rule.length};
  }
}

milliseconds gauge_lifetime(const SyncedCounter& counter) noexcept {
  return std::max(counter.interval * kLifetimeIntervals, kLifetimeMin);
}

void Overshoot::note(const SyncEntry& entry, Number before, Number after, Number ours) noexcept {
  if (!entry.ceiling || entry.ceiling->broken_by(before) || !entry.ceiling->broken_by(after))
    return;
  const double beyond = (after - entry.ceiling->limit).as_real();
  count_ += static_cast<std::uint64_t>(std::clamp(std::min(beyond, ours.as_real()), 0.0, 1e15));
}

}  // namespace weir::limiter
