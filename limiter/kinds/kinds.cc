#include "limiter/kinds/kinds.h"

#include <array>
#include <cmath>

#include "limiter/kinds/in_flight.h"
#include "limiter/kinds/ops.h"
#include "limiter/kinds/tally.h"

namespace weir::limiter {
namespace {

template <class O>
constexpr KindOps kOps{O::charge, O::uncharge, O::peek,     O::reserve,
                       O::settle, O::reset,    O::take_out, O::put_in};

constexpr const KindOps* kUnits = &kOps<WindowOps<Unit>>;
constexpr const KindOps* kCounts = &kOps<WindowOps<std::uint32_t>>;
constexpr const KindOps* kIntegers = &kOps<WindowOps<std::int64_t>>;
constexpr const KindOps* kReals = &kOps<WindowOps<double>>;
constexpr const KindOps* kMembers = &kOps<WindowOps<std::uint64_t>>;
constexpr const KindOps* kExisting = &kOps<WindowOps<std::uint64_t, true>>;
constexpr const KindOps* kFlights = &kOps<InFlightOps>;

constexpr std::array kTable = {
    Kind{"count_ring", Metric::count, Window::ring, false, kCounts, SharedForm::ring,
         "events of the last W, in N+1 buckets: never fewer than there were"},
    Kind{"count_log", Metric::count, Window::log, false, kUnits, SharedForm::log,
         "events of the last W, exactly"},
    Kind{"count_every", Metric::count, Window::every, false, kCounts, SharedForm::fixed,
         "events of the current window of the epoch's grid"},
    Kind{"count_every_first", Metric::count, Window::every_first, false, kCounts, SharedForm::fixed,
         "events of the window that the key's first event began"},
    Kind{"sum_ring", Metric::sum, Window::ring, false, kIntegers, SharedForm::ring,
         "integers of the last W, in N+1 buckets, added up"},
    Kind{"sum_log", Metric::sum, Window::log, false, kIntegers, SharedForm::log,
         "integers of the last W, added up exactly"},
    Kind{"sum_every", Metric::sum, Window::every, false, kIntegers, SharedForm::fixed,
         "integers of the current window of the epoch's grid, added up"},
    Kind{"sum_every_first", Metric::sum, Window::every_first, false, kIntegers, SharedForm::fixed,
         "integers of the window that the key's first event began, added up"},
    Kind{"real_sum_ring", Metric::sum, Window::ring, true, kReals, SharedForm::ring,
         "doubles of the last W, in N+1 buckets, added up"},
    Kind{"real_sum_log", Metric::sum, Window::log, true, kReals, SharedForm::log,
         "doubles of the last W, added up"},
    Kind{"real_sum_every", Metric::sum, Window::every, true, kReals, SharedForm::fixed,
         "doubles of the current window of the epoch's grid, added up"},
    Kind{"real_sum_every_first", Metric::sum, Window::every_first, true, kReals, SharedForm::fixed,
         "doubles of the window that the key's first event began, added up"},
    Kind{"distinct_log", Metric::distinct, Window::log, false, kMembers, SharedForm::members,
         "different members of the last W, exactly; a repeated one is renewed"},
    Kind{"distinct_every", Metric::distinct, Window::every, false, kMembers, SharedForm::members,
         "different members of the current window of the epoch's grid"},
    Kind{"distinct_every_first", Metric::distinct, Window::every_first, false, kMembers,
         SharedForm::members, "different members of the window that the key's first event began"},
    Kind{"count_calendar", Metric::count, Window::calendar, false, kCounts, SharedForm::fixed,
         "events of the natural hour, day, week or month"},
    Kind{"sum_calendar", Metric::sum, Window::calendar, false, kIntegers, SharedForm::fixed,
         "integers of the natural hour, day, week or month, added up"},
    Kind{"real_sum_calendar", Metric::sum, Window::calendar, true, kReals, SharedForm::fixed,
         "doubles of the natural hour, day, week or month, added up"},
    Kind{"distinct_calendar", Metric::distinct, Window::calendar, false, kMembers,
         SharedForm::members, "different members of the natural hour, day, week or month"},
    Kind{"exists_log", Metric::exists, Window::log, false, kExisting, SharedForm::members,
         "1 if an earlier event of the last W had the member, else 0"},
    Kind{"exists_every", Metric::exists, Window::every, false, kExisting, SharedForm::members,
         "1 if an earlier event of the current window of the epoch's grid had the member, else 0"},
    Kind{"exists_every_first", Metric::exists, Window::every_first, false, kExisting,
         SharedForm::members,
         "1 if an earlier event of the window that the key's first event began had the member"},
    Kind{"exists_calendar", Metric::exists, Window::calendar, false, kExisting, SharedForm::members,
         "1 if an earlier event of the natural hour, day, week or month had the member, else 0"},
    Kind{"average_log", Metric::average, Window::log, false, &kListOps, SharedForm::log,
         "average of the integers of the last W"},
    Kind{"average_every", Metric::average, Window::every, false, &kTallyOps, SharedForm::tally,
         "average of the integers of the current window of the epoch's grid"},
    Kind{"average_every_first", Metric::average, Window::every_first, false, &kTallyOps,
         SharedForm::tally,
         "average of the integers of the window that the key's first event began"},
    Kind{"average_calendar", Metric::average, Window::calendar, false, &kTallyOps,
         SharedForm::tally, "average of the integers of the natural hour, day, week or month"},
    Kind{"average_events", Metric::average, Window::events, false, &kListOps, SharedForm::log,
         "average of the integers of the last n, none older than W"},
    Kind{"real_average_log", Metric::average, Window::log, true, &kListOps, SharedForm::log,
         "average of the doubles of the last W"},
    Kind{"real_average_every", Metric::average, Window::every, true, &kTallyOps, SharedForm::tally,
         "average of the doubles of the current window of the epoch's grid"},
    Kind{"real_average_every_first", Metric::average, Window::every_first, true, &kTallyOps,
         SharedForm::tally,
         "average of the doubles of the window that the key's first event began"},
    Kind{"real_average_calendar", Metric::average, Window::calendar, true, &kTallyOps,
         SharedForm::tally, "average of the doubles of the natural hour, day, week or month"},
    Kind{"real_average_events", Metric::average, Window::events, true, &kListOps, SharedForm::log,
         "average of the doubles of the last n, none older than W"},
    Kind{"minimum_log", Metric::minimum, Window::log, false, &kListOps, SharedForm::log,
         "least integer of the last W"},
    Kind{"minimum_every", Metric::minimum, Window::every, false, &kTallyOps, SharedForm::tally,
         "least integer of the current window of the epoch's grid"},
    Kind{"minimum_every_first", Metric::minimum, Window::every_first, false, &kTallyOps,
         SharedForm::tally, "least integer of the window that the key's first event began"},
    Kind{"minimum_calendar", Metric::minimum, Window::calendar, false, &kTallyOps,
         SharedForm::tally, "least integer of the natural hour, day, week or month"},
    Kind{"minimum_events", Metric::minimum, Window::events, false, &kListOps, SharedForm::log,
         "least integer of the last n, none older than W"},
    Kind{"real_minimum_log", Metric::minimum, Window::log, true, &kListOps, SharedForm::log,
         "least double of the last W"},
    Kind{"real_minimum_every", Metric::minimum, Window::every, true, &kTallyOps, SharedForm::tally,
         "least double of the current window of the epoch's grid"},
    Kind{"real_minimum_every_first", Metric::minimum, Window::every_first, true, &kTallyOps,
         SharedForm::tally, "least double of the window that the key's first event began"},
    Kind{"real_minimum_calendar", Metric::minimum, Window::calendar, true, &kTallyOps,
         SharedForm::tally, "least double of the natural hour, day, week or month"},
    Kind{"real_minimum_events", Metric::minimum, Window::events, true, &kListOps, SharedForm::log,
         "least double of the last n, none older than W"},
    Kind{"maximum_log", Metric::maximum, Window::log, false, &kListOps, SharedForm::log,
         "greatest integer of the last W"},
    Kind{"maximum_every", Metric::maximum, Window::every, false, &kTallyOps, SharedForm::tally,
         "greatest integer of the current window of the epoch's grid"},
    Kind{"maximum_every_first", Metric::maximum, Window::every_first, false, &kTallyOps,
         SharedForm::tally, "greatest integer of the window that the key's first event began"},
    Kind{"maximum_calendar", Metric::maximum, Window::calendar, false, &kTallyOps,
         SharedForm::tally, "greatest integer of the natural hour, day, week or month"},
    Kind{"maximum_events", Metric::maximum, Window::events, false, &kListOps, SharedForm::log,
         "greatest integer of the last n, none older than W"},
    Kind{"real_maximum_log", Metric::maximum, Window::log, true, &kListOps, SharedForm::log,
         "greatest double of the last W"},
    Kind{"real_maximum_every", Metric::maximum, Window::every, true, &kTallyOps, SharedForm::tally,
         "greatest double of the current window of the epoch's grid"},
    Kind{"real_maximum_every_first", Metric::maximum, Window::every_first, true, &kTallyOps,
         SharedForm::tally, "greatest double of the window that the key's first event began"},
    Kind{"real_maximum_calendar", Metric::maximum, Window::calendar, true, &kTallyOps,
         SharedForm::tally, "greatest double of the natural hour, day, week or month"},
    Kind{"real_maximum_events", Metric::maximum, Window::events, true, &kListOps, SharedForm::log,
         "greatest double of the last n, none older than W"},
    Kind{"count_events", Metric::count, Window::events, false, &kListOps, SharedForm::log,
         "events among the last n, none older than W"},
    Kind{"sum_events", Metric::sum, Window::events, false, &kListOps, SharedForm::log,
         "integers of the last n events, none older than W, added up"},
    Kind{"real_sum_events", Metric::sum, Window::events, true, &kListOps, SharedForm::log,
         "doubles of the last n events, none older than W, added up"},
    Kind{"distinct_events", Metric::distinct, Window::events, false, &kListOps, SharedForm::log,
         "different members of the last n events, none older than W"},
    Kind{"exists_events", Metric::exists, Window::events, false, &kListOps, SharedForm::log,
         "1 if one of the n events before, none older than W, had the member, else 0"},
    Kind{"count_leaky", Metric::count, Window::leaky, false, &kLeakyOps, SharedForm::leaky,
         "level of a bucket that each event fills by 1"},
    Kind{"sum_leaky", Metric::sum, Window::leaky, false, &kLeakyOps, SharedForm::leaky,
         "level of a bucket that integers fill"},
    Kind{"real_sum_leaky", Metric::sum, Window::leaky, true, &kLeakyOps, SharedForm::leaky,
         "level of a bucket that doubles fill"},
    Kind{"distinct_leaky", Metric::distinct, Window::leaky, false, &kLeakyOps, SharedForm::leaky,
         "level of a bucket that each member fills by 1 once"},
    Kind{"last_log", Metric::last, Window::log, false, &kLastOps, SharedForm::last,
         "what the previous event remembered, of the last W"},
    Kind{"last_every", Metric::last, Window::every, false, &kLastOps, SharedForm::last,
         "what the previous event remembered, of the current window of the epoch's grid"},
    Kind{"last_every_first", Metric::last, Window::every_first, false, &kLastOps, SharedForm::last,
         "what the previous event remembered, of the window that the key's first event began"},
    Kind{"last_calendar", Metric::last, Window::calendar, false, &kLastOps, SharedForm::last,
         "what the previous event remembered, of the natural hour, day, week or month"},
    Kind{"last_events", Metric::last, Window::events, false, &kLastOps, SharedForm::last,
         "what the previous event remembered, of the n events before, none older than W"},
    Kind{"count_near", Metric::count, Window::log, false, &kNearOps, SharedForm::near,
         "events of the last W within the radius", true},
    Kind{"sum_near", Metric::sum, Window::log, false, &kNearOps, SharedForm::near,
         "integers of the last W within the radius, added up", true},
    Kind{"real_sum_near", Metric::sum, Window::log, true, &kNearOps, SharedForm::near,
         "doubles of the last W within the radius, added up", true},
    Kind{"distinct_near", Metric::distinct, Window::log, false, &kNearOps, SharedForm::near,
         "different members of the last W within the radius", true},
    Kind{"exists_near", Metric::exists, Window::log, false, &kNearOps, SharedForm::near,
         "1 if an earlier event of the last W within the radius had the member, else 0", true},
    Kind{"average_near", Metric::average, Window::log, false, &kNearOps, SharedForm::near,
         "average of the integers of the last W within the radius", true},
    Kind{"real_average_near", Metric::average, Window::log, true, &kNearOps, SharedForm::near,
         "average of the doubles of the last W within the radius", true},
    Kind{"minimum_near", Metric::minimum, Window::log, false, &kNearOps, SharedForm::near,
         "least integer of the last W within the radius", true},
    Kind{"real_minimum_near", Metric::minimum, Window::log, true, &kNearOps, SharedForm::near,
         "least double of the last W within the radius", true},
    Kind{"maximum_near", Metric::maximum, Window::log, false, &kNearOps, SharedForm::near,
         "greatest integer of the last W within the radius", true},
    Kind{"real_maximum_near", Metric::maximum, Window::log, true, &kNearOps, SharedForm::near,
         "greatest double of the last W within the radius", true},
    Kind{"in_flight", Metric::in_flight, Window::none, false, kFlights, SharedForm::flights,
         "events begun and not ended"},
    Kind{"in_flight_of_replicas", Metric::in_flight, Window::none, true, kFlights,
         SharedForm::gauges, "events begun and not ended, as each replica says how many it has"},
};

}  // namespace

std::span<const Kind> kinds() noexcept { return kTable; }

namespace {

/// Fixed windows of it are one number, without times.
bool is_total(Metric metric) noexcept { return metric == Metric::count || metric == Metric::sum; }

bool length_fits(const CounterSpec& spec) noexcept {
  switch (spec.window) {
    case Window::none:
    case Window::leaky:
    case Window::calendar:
      return true;
    case Window::events:
      return spec.length >= milliseconds(0) && spec.length <= kWindowMax;
    case Window::every:
      return spec.length >= kWindowMin &&
             spec.length <= (is_total(spec.metric) ? kEveryMax : kWindowMax);
    default:
      return spec.length >= kWindowMin && spec.length <= kWindowMax;
  }
}

/// Whether the parameters besides the window's length are valid.
bool parameters_fit(const CounterSpec& spec) noexcept {
  constexpr Number kCapacityMax{std::int64_t{1} << 31};
  switch (spec.window) {
    case Window::ring:
      return spec.buckets >= 1 && spec.buckets <= kBucketsMax;
    case Window::events:
      return spec.events >= 1 && spec.events <= kKeepMax;
    case Window::calendar:
      return spec.zone != nullptr;
    case Window::leaky:
      return spec.capacity > Number(0) && spec.capacity <= kCapacityMax &&
             spec.drain >= kWindowMin && spec.drain <= kWindowMax && spec.drains >= 1 &&
             spec.drains <= kDrainsMax;
    default:
      return true;
  }
}

bool has_amounts(Metric metric) noexcept {
  return metric == Metric::sum || metric == Metric::average || metric == Metric::minimum ||
         metric == Metric::maximum;
}

}  // namespace

const KindOps* ops_of(const Kind& kind, const CounterSpec& spec) noexcept {
  // The journals of near and last know both; other kinds keep less than a late event would read.
  const bool knows_both = kind.near || kind.metric == Metric::last;
  return spec.late && !knows_both ? &kTimelineOps : kind.ops;
}

CounterSpec in_whole_parts(CounterSpec spec) noexcept {
  if (spec.window != Window::leaky || !spec.capacity.is_real()) return spec;
  const auto parts = [&] {
    return spec.capacity.as_real() * static_cast<double>(spec.drain.count());
  };
  while (parts() != std::floor(parts()) && spec.drain <= kWindowMax / 10 &&
         spec.drains <= kDrainsMax / 10) {
    spec.drain *= 10;
    spec.drains *= 10;
  }
  return spec;
}

const Kind* find_kind(const CounterSpec& spec) noexcept {
  if (!length_fits(spec) || !parameters_fit(spec)) return nullptr;
  if (spec.keep < 1 || spec.keep > kKeepMax) return nullptr;
  if (spec.retain < milliseconds(0) || spec.retain > kWindowMax) return nullptr;
  const bool is_leaky = spec.window == Window::leaky, has_none = spec.window == Window::none;
  if (spec.late && (is_leaky || has_none || spec.window == Window::every_first)) return nullptr;
  if (spec.late && (*spec.late < milliseconds(0) || *spec.late > kLateMax)) return nullptr;
  const bool near = spec.radius != 0;
  if (near && !(spec.radius >= kRadiusMin && spec.radius <= kRadiusMax)) return nullptr;
  if (near && spec.keep > kNearKeepMax) return nullptr;
  for (const Kind& kind : kTable) {
    if (kind.metric == spec.metric && kind.window == spec.window && kind.near == near &&
        kind.real ==
            (spec.real && (has_amounts(spec.metric) || spec.metric == Metric::in_flight))) {
      return &kind;
    }
  }
  return nullptr;
}

}  // namespace weir::limiter
