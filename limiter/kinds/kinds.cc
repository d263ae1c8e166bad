#include "limiter/kinds/kinds.h"

#include <array>
#include <cmath>

#include "limiter/kinds/in_flight.h"
#include "limiter/kinds/log.h"
#include "limiter/kinds/ops.h"
#include "limiter/kinds/tally.h"

namespace weir::limiter {
namespace {

constexpr const KindOps* kUnits = &kOpsOf<WindowOps<Unit>>;
constexpr const KindOps* kCounts = &kOpsOf<WindowOps<std::uint32_t>>;
constexpr const KindOps* kIntegers = &kOpsOf<WindowOps<std::int64_t>>;
constexpr const KindOps* kReals = &kOpsOf<WindowOps<double>>;
constexpr const KindOps* kMembers = &kOpsOf<WindowOps<std::uint64_t>>;
constexpr const KindOps* kExisting = &kOpsOf<WindowOps<std::uint64_t, true>>;
constexpr const KindOps* kFlights = &kOpsOf<InFlightOps>;

/// How a metric is kept over a window, here and in the shared store.
struct Way {
  constexpr Way() = default;  ///< it is not kept
  constexpr Way(const KindOps* with, SharedForm form) : ops(with), shared(form), is_kept(true) {}

  const KindOps* ops = nullptr;
  SharedForm shared{};
  bool is_kept = false;  // GCC with sanitizers compares no address with null at compile time
};

/// A metric over all windows.
struct Measure {
  Metric metric;
  bool real;
  std::string_view name;
  std::string_view what;
  const KindOps* own_time;  // over any window
  Way ring, log;
  Way fixed;  // grids, calendars, and the window that the key's first event begins
  Way events, leaky;
  Way near;  // within a radius, of the last W
};

/// The operations that fold a log of events (log_fold.h): over a window of time, or within a
/// radius.
struct FoldOps {
  const KindOps* in_time;
  const KindOps* near;
};
constexpr FoldOps kAmounts{&kLogOfAmounts, &kNearAmounts};
constexpr FoldOps kDifferent{&kLogOfMembers, &kNearMembers};
constexpr FoldOps kPresence{&kLogOfPresence, &kNearPresence};

constexpr Way kNone{};
constexpr Way kTallies{&kTallyOps, SharedForm::tally};
constexpr Way kBuckets{&kLeakyOps, SharedForm::leaky};
constexpr Way kLasts{&kLastOps, SharedForm::last};

constexpr Way in_log(const KindOps* ops) { return {ops, SharedForm::log}; }
constexpr Way in_members(const KindOps* ops) { return {ops, SharedForm::members}; }
constexpr Way in_radius(FoldOps fold) { return {fold.near, SharedForm::near}; }

/// Counts and sums: the totals of a few buckets, or of one window.
constexpr Measure totals(Metric metric, bool real, std::string_view name, std::string_view what,
                         const KindOps* ops, const KindOps* log) {
  return {.metric = metric,
          .real = real,
          .name = name,
          .what = what,
          .own_time = kAmounts.in_time,
          .ring = {ops, SharedForm::ring},
          .log = in_log(log),
          .fixed = {ops, SharedForm::fixed},
          .events = in_log(kAmounts.in_time),
          .leaky = kBuckets,
          .near = in_radius(kAmounts)};
}
/// Metrics that need all amounts of a sliding window, and of a fixed one a few numbers.
constexpr Measure of_amounts(Metric metric, bool real, std::string_view name,
                             std::string_view what) {
  const Way log = in_log(kAmounts.in_time);
  return {.metric = metric,
          .real = real,
          .name = name,
          .what = what,
          .own_time = kAmounts.in_time,
          .ring = kNone,
          .log = log,
          .fixed = kTallies,
          .events = log,
          .leaky = kNone,
          .near = in_radius(kAmounts)};
}
/// Metrics of members: each has its time.
constexpr Measure of_members(Metric metric, std::string_view name, std::string_view what,
                             const KindOps* ops, FoldOps fold, Way leaky) {
  return {.metric = metric,
          .real = false,
          .name = name,
          .what = what,
          .own_time = fold.in_time,
          .ring = kNone,
          .log = in_members(ops),
          .fixed = in_members(ops),
          .events = in_log(fold.in_time),
          .leaky = leaky,
          .near = in_radius(fold)};
}

constexpr std::array kMeasures{
    totals(Metric::count, false, "count", "events", kCounts, kUnits),
    totals(Metric::sum, false, "sum", "sum of the integers", kIntegers, kIntegers),
    totals(Metric::sum, true, "real_sum", "sum of the doubles", kReals, kReals),
    of_members(Metric::distinct, "distinct", "different members", kMembers, kDifferent, kBuckets),
    of_members(Metric::exists, "exists", "1 if an earlier event had the member, else 0:", kExisting,
               kPresence, kNone),
    of_amounts(Metric::average, false, "average", "average of the integers"),
    of_amounts(Metric::average, true, "real_average", "average of the doubles"),
    of_amounts(Metric::minimum, false, "minimum", "least integer"),
    of_amounts(Metric::minimum, true, "real_minimum", "least double"),
    of_amounts(Metric::maximum, false, "maximum", "greatest integer"),
    of_amounts(Metric::maximum, true, "real_maximum", "greatest double"),
    Measure{Metric::last, false, "last", "what the previous event remembered:", &kLastOps, kNone,
            kLasts, kLasts, kLasts, kNone, kNone},
};

struct WindowRow {
  Window window;
  Way Measure::*way;
  std::string_view name;
  std::string_view what;
};
constexpr std::array kWindows{
    WindowRow{Window::ring, &Measure::ring, "ring",
              "of the last W, in N+1 buckets: never less than there was"},
    WindowRow{Window::log, &Measure::log, "log", "of exactly the last W"},
    WindowRow{Window::every, &Measure::fixed, "every", "of the current window of the epoch's grid"},
    WindowRow{Window::every_first, &Measure::fixed, "every_first",
              "of the window that the key's first event began"},
    WindowRow{Window::calendar, &Measure::fixed, "calendar",
              "of the natural hour, day, week or month"},
    WindowRow{Window::events, &Measure::events, "events", "of the last n, none older than W"},
    WindowRow{Window::leaky, &Measure::leaky, "leaky", "in a bucket that drains: its level"},
    WindowRow{Window::log, &Measure::near, "near", "of the last W within the radius"},
};

/// A text of the compiler's.
struct Name {
  std::array<char, 128> bytes{};
  std::size_t size = 0;
  constexpr void add(std::string_view text) {
    for (const char c : text) bytes[size++] = c;
  }
  constexpr std::string_view view() const { return {bytes.data(), size}; }
};

/// Calls use(measure, window, way) for each pair that is kept.
template <class F>
constexpr void for_each_kind(F use) {
  for (const Measure& measure : kMeasures) {
    for (const WindowRow& window : kWindows) {
      if ((measure.*window.way).is_kept) use(measure, window, measure.*window.way);
    }
  }
}
constexpr std::size_t kPairs = [] {
  std::size_t n = 0;
  for_each_kind([&](const Measure&, const WindowRow&, const Way&) { ++n; });
  return n;
}();
constexpr auto texts_of_pairs(std::string_view Measure::*first, std::string_view WindowRow::*second,
                              std::string_view between) {
  std::array<Name, kPairs> out{};
  std::size_t at = 0;
  for_each_kind([&](const Measure& measure, const WindowRow& window, const Way&) {
    out[at].add(measure.*first);
    out[at].add(between);
    out[at++].add(window.*second);
  });
  return out;
}
constexpr auto kNames = texts_of_pairs(&Measure::name, &WindowRow::name, "_");
constexpr auto kHelps = texts_of_pairs(&Measure::what, &WindowRow::what, " ");

/// Kinds that count open events; they have no window.
constexpr std::array kOpen{
    Kind{"in_flight", Metric::in_flight, Window::none, false, kFlights, nullptr,
         SharedForm::flights, "events begun and not ended"},
    Kind{"in_flight_of_replicas", Metric::in_flight, Window::none, true, kFlights, nullptr,
         SharedForm::gauges, "events begun and not ended, as each replica says how many it has"},
};

constexpr auto kTable = [] {
  std::array<Kind, kPairs + kOpen.size()> out{};
  std::size_t at = 0;
  for_each_kind([&](const Measure& measure, const WindowRow& window, const Way& way) {
    const bool is_near = window.way == &Measure::near;
    out[at] = {kNames[at].view(), measure.metric,    window.window,
               measure.real,      way.ops,           is_near ? way.ops : measure.own_time,
               way.shared,        kHelps[at].view(), is_near};
    ++at;
  });
  for (const Kind& kind : kOpen) out[at++] = kind;
  return out;
}();

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

}  // namespace

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
            (spec.real && (takes_amount(spec.metric) || spec.metric == Metric::in_flight))) {
      return &kind;
    }
  }
  return nullptr;
}

bool same_kind(const CounterSpec& a, const CounterSpec& b) noexcept {
  return a.metric == b.metric && a.window == b.window && a.length == b.length && a.real == b.real &&
         a.outcome == b.outcome && a.events == b.events && a.capacity == b.capacity &&
         a.drain == b.drain && a.drains == b.drains && a.retain == b.retain &&
         a.radius == b.radius && a.late == b.late &&
         (a.window != Window::ring || a.buckets == b.buckets) &&
         (a.window != Window::calendar || (a.unit == b.unit && a.zone == b.zone));
}

}  // namespace weir::limiter
