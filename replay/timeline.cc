#include "replay/timeline.h"

#include <algorithm>

namespace weir::replay {
namespace {

constexpr std::int64_t kSecond = 1'000, kMinute = 60 * kSecond, kHour = 60 * kMinute,
                       kDay = 24 * kHour;
/// Each a multiple of the one before it.
constexpr std::int64_t kWidths[] = {kSecond, 5 * kSecond, 10 * kSecond, 30 * kSecond,
                                    kMinute, 5 * kMinute, 10 * kMinute, 30 * kMinute,
                                    kHour,   3 * kHour,   6 * kHour,    12 * kHour,
                                    kDay,    7 * kDay,    28 * kDay};

}  // namespace

/// Columns become wider, and those that now lie together are one.
void Timeline::widen() {
  const auto* const next = std::upper_bound(std::begin(kWidths), std::end(kWidths), width_.count());
  const std::int64_t wide = next == std::end(kWidths) ? 2 * width_.count() : *next;
  const std::int64_t factor = wide / width_.count();
  const std::int64_t first = first_ / factor;
  std::vector<Counts> merged;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const auto at =
        static_cast<std::size_t>((first_ + static_cast<std::int64_t>(i)) / factor - first);
    if (merged.size() <= at) merged.resize(at + 1);
    for (std::size_t e = 0; e < merged[at].size(); ++e) merged[at][e] += columns_[i][e];
  }
  columns_ = std::move(merged);
  first_ = first;
  width_ = milliseconds{wide};
  last_ = kColumns;  // of none
}

void Timeline::add(TimePoint time, Action effect, std::uint64_t events) {
  std::int64_t at = to_ms(time) / width_.count();
  if (columns_.empty()) first_ = at;
  const auto span = [&] {
    const std::int64_t last =
        first_ + std::max<std::int64_t>(static_cast<std::int64_t>(columns_.size()) - 1, 0);
    return std::max(last, at) - std::min(first_, at) + 1;
  };
  while (span() > static_cast<std::int64_t>(kColumns)) {
    widen();
    at = to_ms(time) / width_.count();
  }
  if (at < first_) {
    columns_.insert(columns_.begin(), static_cast<std::size_t>(first_ - at), Counts{});
    first_ = at;
  }
  const auto index = static_cast<std::size_t>(at - first_);
  if (columns_.size() <= index) columns_.resize(index + 1);
  columns_[index][static_cast<std::size_t>(effect)] += events;
  last_time_ = time;
  last_ = index;
}

void Timeline::merge(const Timeline& other) {
  while (!other.columns_.empty() && width_ < other.width_) widen();
  for (std::size_t i = 0; i < other.columns_.size(); ++i) {
    const TimePoint start =
        from_ms((other.first_ + static_cast<std::int64_t>(i)) * other.width_.count());
    for (std::size_t e = 0; e < other.columns_[i].size(); ++e) {
      if (other.columns_[i][e] != 0) add(start, static_cast<Action>(e), other.columns_[i][e]);
    }
  }
}

void Timeline::change(TimePoint time, Action from, Action to) {
  Counts& column = columns_[static_cast<std::size_t>(to_ms(time) / width_.count() - first_)];
  --column[static_cast<std::size_t>(from)];
  ++column[static_cast<std::size_t>(to)];
}

}  // namespace weir::replay
