#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>

#include "core/calendar.h"
#include "limiter/kinds/kinds.h"
#include "tests/limiter/naive.h"

namespace weir::limiter::test {

inline constexpr std::int64_t kDay = 86'400'000;  // ms

/// The parameters of a random schedule of one counter.
struct Schedule {
  const char* name;
  std::int64_t start;   // ms
  std::int64_t length;  // of the window, ms
  unsigned buckets;
  bool outcome;
  std::int64_t retain = 0;  // ms
};

/// Every parameter that a window of this kind has, from the schedule's few.
inline CounterSpec spec_of(const Kind& kind, const Schedule& s) {
  CounterSpec out;
  out.metric = kind.metric;
  out.window = kind.window;
  out.real = kind.real;
  if (kind.near) out.radius = 1000;  // of nowhere: near_test.cc goes places
  out.length = milliseconds(s.length);
  out.buckets = s.buckets;
  out.outcome = s.outcome;
  if (out.window == Window::events) {
    out.events = s.buckets;
    if (s.length >= 31 * kDay) out.length = milliseconds(0);
  }
  if (out.window == Window::calendar) {
    out.unit = s.length >= kDay    ? CalendarUnit::month
               : s.buckets == 1    ? CalendarUnit::week
               : s.length > 50'000 ? CalendarUnit::day
                                   : CalendarUnit::hour;
    out.zone = TimeZone::find(s.outcome ? "Europe/Berlin" : "Asia/Shanghai");
  }
  if (out.window == Window::leaky) {
    out.capacity = s.buckets == 3 ? Number::real(2.5) : Number(std::int64_t{s.buckets});
    out.drain = milliseconds(std::max<std::int64_t>(1, s.length / s.buckets));
    if (s.outcome) out.drains = 3;  // a rate: three in that time
  }
  if (out.window == Window::log || out.window == Window::ring) out.retain = milliseconds(s.retain);
  return out;
}

inline std::string spelt(const Datum& d) {
  switch (d.type) {
    case Datum::Type::none:
      return "none";
    case Datum::Type::boolean:
      return d.boolean ? "true" : "false";
    case Datum::Type::number:
      return (d.number.is_real() ? "real " : "") + d.number.to_string();
    case Datum::Type::text:
      return d.text.size() > Datum::kTextMax ? "none" : "text " + std::string(d.text);
  }
  return {};
}

inline std::string spelt(const CounterSpec& spec, const Reading& r) {
  if (spec.metric == Metric::last) return r.has_value ? spelt(*r.datum) : "none";
  return r.has_value ? r.value.to_string() : "none";
}

inline constexpr std::int64_t kClockSkew = 3;  // ms that a worker's clock may be behind another's

/// Exactly the same; only levels of buckets may differ: by rounding, and upwards by what drains
/// while one clock is behind another, since a thread behind the others pours at their time.
inline bool agree(const CounterSpec& spec, const Reading& r, Number value,
                  const NaiveCounter::Value& expected) {
  if (spec.metric == Metric::last) return spelt(spec, r) == expected.datum;
  if (!expected.number) return !r.has_value;
  if (!r.has_value) return false;
  if (spec.window != Window::leaky) return value == *expected.number;
  const double a = value.as_real(), b = expected.number->as_real();
  const double rounding = spec.real ? 1e-6 : 4e-16 * std::abs(a + b);
  const double skew = static_cast<double>(kClockSkew) / spec.ms_of_one();
  return a >= b - rounding && a <= b + skew + rounding;
}

inline std::string spelt(const NaiveCounter::Value& v) {
  return v.number ? v.number->to_string() : "none " + v.datum;
}

}  // namespace weir::limiter::test
