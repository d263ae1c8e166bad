#include "limiter/counters/counter_record.h"

#include <algorithm>

#include "limiter/kinds/kinds.h"

namespace weir::limiter {
namespace {

constexpr std::int64_t kNotLate = -1;

void put_spec(std::string& out, const CounterSpec& spec) {
  put(out, static_cast<std::uint8_t>(spec.metric));
  put(out, static_cast<std::uint8_t>(spec.window));
  put(out, static_cast<std::uint8_t>(spec.unit));
  put(out, static_cast<std::uint8_t>(spec.real));
  put(out, static_cast<std::uint8_t>(spec.outcome));
  put(out, spec.length.count());
  put_varint(out, spec.buckets);
  put_varint(out, spec.events);
  put_number(out, spec.capacity);
  put(out, spec.drain.count());
  put_varint(out, spec.drains);
  put(out, spec.retain.count());
  put(out, spec.radius);
  put(out, spec.late ? spec.late->count() : kNotLate);
  put(out, spec.what.lo);
  put(out, spec.what.hi);
  put_varint(out, spec.keep);
  put_text(out, spec.zone != nullptr ? spec.zone->name() : std::string());
}

/// A word of one of our tables; a larger number is malformed.
template <class T>
bool get_word(Reader& in, std::size_t words, T& word) {
  const auto at = in.get<std::uint8_t>();
  if (at >= words) return false;
  word = static_cast<T>(at);
  return true;
}

std::uint32_t get_small(Reader& in) noexcept {
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint32_t>::max();
  return static_cast<std::uint32_t>(std::min(in.varint(), kMost));
}

/// The ranges of the numbers are find_kind()'s to judge. `is_known`: this machine has the zone.
bool get_spec(Reader& in, CounterSpec& spec, bool& is_known) {
  constexpr std::size_t kUnits = static_cast<std::size_t>(CalendarUnit::month) + 1;
  if (!get_word(in, kMetrics.size(), spec.metric) ||
      !get_word(in, kWindowNames.size(), spec.window) || !get_word(in, kUnits, spec.unit))
    return false;
  spec.real = in.get<std::uint8_t>() != 0;
  spec.outcome = in.get<std::uint8_t>() != 0;
  spec.length = milliseconds(in.get<std::int64_t>());
  spec.buckets = get_small(in);
  spec.events = get_small(in);
  spec.capacity = in.number();
  spec.drain = milliseconds(in.get<std::int64_t>());
  spec.drains = get_small(in);
  spec.retain = milliseconds(in.get<std::int64_t>());
  spec.radius = in.get<double>();
  const auto late = in.get<std::int64_t>();
  if (late != kNotLate) spec.late = milliseconds(late);
  spec.what = {in.get<std::uint64_t>(), in.get<std::uint64_t>()};
  spec.keep = in.varint();
  const std::string_view zone = in.text();
  if (!zone.empty()) spec.zone = TimeZone::find(zone);
  is_known = zone.empty() || spec.zone != nullptr;
  return in.ok();
}

void put_open_times(std::string& out, const OpenTimes& open_times) {
  put(out, static_cast<std::uint8_t>(open_times.closed));
  put(out, static_cast<std::uint8_t>(open_times.reopened));
  put(out, to_ms(open_times.closed_at));
  put(out, open_times.since);
  put_varint(out, open_times.closed_in);
  put_varint(out, open_times.covers_from);
  put(out, open_times.copies_until);
  for (const std::int64_t ms : open_times.opened_ms) put(out, ms);
  for (const std::int64_t ms : open_times.closed_ms) put(out, ms);
}

bool get_open_times(Reader& in, std::uint64_t openings, OpenTimes& open_times) {
  bool in_range = true;
  const auto time = [&] {
    const auto ms = in.get<std::int64_t>();
    in_range = in_range && ms >= 0 && ms <= kLatestKept;
    return ms;
  };
  open_times.closed = in.get<std::uint8_t>() != 0;
  open_times.reopened = in.get<std::uint8_t>() != 0;
  open_times.closed_at = from_ms(time());
  open_times.since = time();
  open_times.closed_in = in.varint();
  open_times.covers_from = in.varint();
  open_times.copies_until = time();
  for (std::int64_t& ms : open_times.opened_ms) ms = time();
  for (std::int64_t& ms : open_times.closed_ms) ms = time();
  return in.ok() && in_range && open_times.closed_in <= openings &&
         open_times.covers_from <= openings;
}

}  // namespace

void put_record(std::string& out, const CounterRecord& record) {
  put(out, record.index);
  put(out, record.identity.lo);
  put(out, record.identity.hi);
  put_spec(out, record.spec);
  put_varint(out, record.own_keys);
  put_varint(out, record.closing);
  put_varint(out, record.cut_from);
  put(out, record.cut_until);
  put_open_times(out, record.open_times);
}

bool get_record(Reader& in, std::uint64_t openings, CounterRecord& record) {
  record.index = in.get<std::uint16_t>();
  record.identity = {in.get<std::uint64_t>(), in.get<std::uint64_t>()};
  bool has_zone = false;
  if (!get_spec(in, record.spec, has_zone)) return false;
  record.own_keys = in.varint();
  record.closing = in.varint();
  record.cut_from = get_small(in);
  record.cut_until = in.get<std::int64_t>();
  if (record.cut_until < 0 || record.cut_until > kLatestKept) return false;
  if (!get_open_times(in, openings, record.open_times)) return false;
  record.is_known = has_zone && find_kind(record.spec) != nullptr;
  return true;
}

}  // namespace weir::limiter
