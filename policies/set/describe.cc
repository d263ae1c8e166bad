#include "policies/set/describe.h"

#include <array>
#include <cstdio>
#include <ctime>

#include "config/text/units.h"
#include "core/text.h"

namespace weir::policies {

std::string_view unit_name(CalendarUnit unit) noexcept {
  switch (unit) {
    case CalendarUnit::hour:
      return "hour";
    case CalendarUnit::day:
      return "day";
    case CalendarUnit::week:
      return "week";
    case CalendarUnit::month:
      return "month";
  }
  return "";
}

std::string window_text(const limiter::CounterSpec& spec) {
  const std::string length = human_duration(spec.length);
  switch (spec.window) {
    case limiter::Window::ring:
      return "the last " + length +
             (spec.buckets == 60 ? "" : " in " + std::to_string(spec.buckets) + " buckets");
    case limiter::Window::log:
      return "exactly the last " + length;
    case limiter::Window::every:
      return "every " + length;
    case limiter::Window::every_first:
      return "every " + length + " from the first";
    case limiter::Window::events:
      return "the last " + std::to_string(spec.events) + " events" +
             (spec.length.count() == 0 ? "" : " within " + length);
    case limiter::Window::calendar:
      return "each " + std::string(unit_name(spec.unit)) + " of " +
             (spec.zone ? spec.zone->name() : "UTC");
    case limiter::Window::leaky:
      return "a leaky bucket of " + spec.capacity.to_string() + ", draining " +
             (spec.drains == 1 ? "one" : std::to_string(spec.drains)) + " per " +
             human_duration(spec.drain);
    case limiter::Window::none:
      break;
  }
  return "";
}

namespace {

/// `10/s`, `1/15m`: as the configuration writes a rate.
std::string rate_text(const limiter::CounterSpec& spec) {
  const std::int64_t drain = spec.drain.count();
  for (const auto& [unit, ms] :
       {std::pair{"s", std::int64_t{1'000}}, std::pair{"m", std::int64_t{60'000}},
        std::pair{"h", std::int64_t{3'600'000}}, std::pair{"d", std::int64_t{86'400'000}}}) {
    if (ms * spec.drains % drain == 0) return std::to_string(ms * spec.drains / drain) + "/" + unit;
  }
  return std::to_string(spec.drains) + "/" + human_duration(spec.drain);
}

}  // namespace

std::string window_text(const Counter& counter) {
  if (!counter.is_rate) return window_text(counter.spec);
  return "a rate of " + rate_text(counter.spec) + " with a burst of " +
         counter.spec.capacity.to_string();
}

std::string counter_text(const Counter& counter) {
  const std::string window = window_text(counter);
  if (window.empty()) return "in flight";
  std::string out(name_of(counter.spec.metric));
  if (counter.near()) out += " within " + config::format_distance(counter.spec.radius);
  out += " over " + window;
  if (counter.spec.late) {
    out += ", by the times of events";
    if (counter.spec.late->count() != 0)
      out += " up to " + human_duration(*counter.spec.late) + " late";
  }
  if (counter.spec.retain > counter.spec.length)
    out += ", kept for " + human_duration(counter.spec.retain);
  return out;
}

namespace {

/// A compiled condition knows the policy's metrics by number: `metric 0 > 4`.
std::string with_names(const PolicySet& set, const Policy& policy, std::string text) {
  for (std::size_t i = policy.meters.size(); i-- > 0;) {  // metric 12 before metric 1
    const std::string number = "metric " + std::to_string(i);
    const std::string& whole = set.policies[policy.meters[i]].name;
    const std::string name = whole.substr(whole.rfind('.') + 1);
    for (std::size_t at = 0; (at = text.find(number, at)) != std::string::npos; at += name.size()) {
      text.replace(at, number.size(), name);
    }
  }
  return text;
}

}  // namespace

std::string rung_text(const PolicySet& set, const Policy& policy, std::size_t index) {
  const Rung& rung = policy.rungs[index];
  const Binding::RungPart& part = policy.bindings.front().rungs[index];
  std::string out(name_of(rung.compare));
  if (!out.empty()) out += ' ';
  if (const auto* number = std::get_if<Number>(&part.limit.source)) {
    out += number->to_string();
  } else if (const auto* table = std::get_if<std::uint16_t>(&part.limit.source)) {
    out += set.tables[*table]->name();
  } else if (const auto* expression = std::get_if<Expression>(&part.limit.source)) {
    out += expression->canonical();
  }
  if (rung.overflows) out = "over the capacity";
  if (rung.counter != 0) {
    const limiter::CounterSpec& spec = set.counters[policy.counters[rung.counter]].spec;
    const bool has_length =
        spec.window != limiter::Window::events && spec.window != limiter::Window::calendar;
    out += " in " + (has_length ? human_duration(rung.window) : window_text(spec));
  }
  if (part.condition) {
    out += (out.empty() ? "if " : " if ") + with_names(set, policy, part.condition->canonical());
  }
  if (!out.empty()) out += ": ";  // a pattern's rungs may have no threshold
  out += row_of(rung.action).name;
  for (std::size_t i = 0; i < rung.durations.size(); ++i) {
    out += (i == 0 ? " for " : ", ") + human_duration(rung.durations[i]);
  }
  if (rung.hold.count() > 0 && rung.action == Action::delay) out += " " + human_duration(rung.hold);
  if (rung.list && !set.lists[*rung.list].owner) out += " on " + set.lists[*rung.list].name;
  if (rung.score) out += ", score " + std::to_string(*rung.score);
  if (rung.clear) out += ", clear";
  if (rung.notify) out += ", notify " + set.notify[*rung.notify].name.value;
  if (rung.disabled) out += " (disabled)";
  if (rung.shadow) out += " (shadow)";
  return out;
}

std::string time_text(TimePoint time) {
  if (time >= limiter::kForever) return std::string(kForEver);
  const std::int64_t ms = to_ms(time);
  std::int64_t seconds = ms / 1000;
  std::int64_t rest = ms % 1000;
  if (rest < 0) {
    rest += 1000;
    --seconds;
  }
  const auto t = static_cast<std::time_t>(seconds);
  std::tm parts{};
  gmtime_r(&t, &parts);
  char buffer[48];
  const std::size_t size = std::strftime(buffer, sizeof buffer, "%Y-%m-%dT%H:%M:%S", &parts);
  const int more =
      std::snprintf(buffer + size, sizeof buffer - size, ".%03dZ", static_cast<int>(rest));
  return {buffer, size + static_cast<std::size_t>(more)};
}

}  // namespace weir::policies
