#include "core/calendar.h"

#include <cctz/civil_time.h>
#include <cctz/time_zone.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <mutex>

#include "core/zones/zones.h"

namespace weir {
namespace {

class Zone final : public TimeZone {
 public:
  Zone(std::string name, cctz::time_zone zone) : name_(std::move(name)), zone_(std::move(zone)) {}
  const std::string& name() const noexcept override { return name_; }

  Span span(CalendarUnit unit, TimePoint at) const noexcept override {
    const auto second = std::chrono::floor<cctz::seconds>(
        std::chrono::system_clock::time_point(milliseconds(to_ms(at))));
    const cctz::civil_second civil = cctz::convert(second, zone_);
    switch (unit) {
      case CalendarUnit::hour: {
        // Not by its name: in autumn an hour comes twice, and each is one of its own.
        const std::int64_t offset = zone_.lookup(second).offset;
        const std::int64_t local = second.time_since_epoch().count() + offset;
        const std::int64_t begin = local - (local % 3600 + 3600) % 3600 - offset;
        return {from_ms(cut(begin, second.time_since_epoch().count(), true) * 1000),
                from_ms(cut(begin + 3600, second.time_since_epoch().count(), false) * 1000)};
      }
      case CalendarUnit::day: {
        const cctz::civil_day day(civil);
        return {instant(day), instant(day + 1)};
      }
      case CalendarUnit::week: {
        const cctz::civil_day monday =
            cctz::prev_weekday(cctz::civil_day(civil) + 1, cctz::weekday::monday);
        return {instant(monday), instant(monday + 7)};
      }
      case CalendarUnit::month: {
        const cctz::civil_month month(civil);
        return {instant(cctz::civil_day(month)), instant(cctz::civil_day(month + 1))};
      }
    }
    return {at, at};
  }

 private:
  std::int64_t offset_at(std::int64_t second) const noexcept {
    return zone_.lookup(cctz::time_point<cctz::seconds>(cctz::seconds(second))).offset;
  }

  /// An hour ends early, or begins late, where clocks are changed by half of one (Lord Howe
  /// Island): `edge`, or the second nearer to `inside` at which the hours shift.
  std::int64_t cut(std::int64_t edge, std::int64_t inside, bool begin) const noexcept {
    const std::int64_t offset = offset_at(inside);
    const auto same_hours = [&](std::int64_t second) {
      return (offset_at(second) - offset) % 3600 == 0;
    };
    if (same_hours(begin ? edge : edge - 1)) return edge;
    std::int64_t near = inside, far = begin ? edge : edge - 1;
    while (std::abs(far - near) > 1) {
      const std::int64_t middle = near + (far - near) / 2;
      (same_hours(middle) ? near : far) = middle;
    }
    return std::max(near, far);
  }

  TimePoint instant(const cctz::civil_day& day) const noexcept {
    const auto point = cctz::convert(cctz::civil_second(day), zone_);
    return from_ms(point.time_since_epoch().count() * 1000);
  }

  std::string name_;
  cctz::time_zone zone_;
};

}  // namespace

std::shared_ptr<const TimeZone> TimeZone::find(std::string_view name) {
  static std::mutex mutex;
  static std::map<std::string, std::shared_ptr<const TimeZone>, std::less<>> known;
  const std::scoped_lock hold(mutex);
  if (const auto found = known.find(name); found != known.end()) return found->second;
  cctz::time_zone zone;
  if (!zones::load(std::string(name), zone)) return nullptr;
  auto made = std::make_shared<Zone>(std::string(name), zone);
  known.emplace(name, made);
  return made;
}

}  // namespace weir
