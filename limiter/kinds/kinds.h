#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "limiter/kinds/counter.h"

namespace weir::limiter {

/// The neighbouring cells that a counter with a radius reads besides the event's own cell.
struct Around {
  UnitVector at;  ///< of the event
  double reach;   ///< squared chord: events beyond it are not near
  std::span<const Table::Place> cells;
};

/// One key of one counter, looked up, with its region's lock held.
struct Subject {
  const Counter& counter;
  Table::Place place;
  const Ages& ages;
  Arena& arena;
  Slot* slot = nullptr;            ///< null: the key is not there
  const Around* around = nullptr;  ///< set where operations on a counter with a radius are; the
                                   ///< locks of these cells' regions are held too
};

/// Takes a slot for a key that is not there, for an event of now. Without one, `r` is full and
/// there still is no slot.
inline void claim_slot(Subject& s, const Instant& now, Reading& r) noexcept {
  const Table::Claim claim = s.counter.table->claim(s.place, s.counter.index, s.ages, s.arena);
  s.slot = claim.slot;
  r.displaced = claim.displaced;
  r.full = claim.slot == nullptr;
  if (s.slot != nullptr) s.slot->touched = now.second;
}

/// One entry of a key, as a snapshot holds it: ms since the epoch, and the value's bits.
struct PlainEntry {
  std::int64_t ms;
  std::uint64_t bits;
};

/// The operations of a kind of counter. All are noexcept except take_out. None of them waits or
/// asks for the time.
struct KindOps {
  // charge and reserve: an undo that is not null arrives freshly constructed, and stays so if
  // nothing is stored.
  Reading (*charge)(Subject&, const Instant&, const Amount&, const Ceiling*, Undo*) noexcept;
  void (*uncharge)(Subject&, const Undo&) noexcept;
  Reading (*peek)(const Subject&, const Instant&, const Amount*) noexcept;
  Reading (*reserve)(Subject&, const Instant&, const Amount&, const Ceiling*, Undo*) noexcept;
  Reading (*settle)(Subject&, const Instant&, std::int64_t event_ms, const Amount&, const Undo&,
                    bool matched) noexcept;
  /// own_time: removes the events until then; else all.
  void (*reset)(Subject&, const Instant&) noexcept;
  /// The live settled entries, oldest first.
  void (*take_out)(const Subject&, const Instant&, std::vector<PlainEntry>&);
  /// Into a key that holds none: entries as take_out gave them.
  void (*put_in)(Subject&, const Instant&, std::span<const PlainEntry>) noexcept;
};

template <class O>
constexpr KindOps kOpsOf{O::charge, O::uncharge, O::peek,     O::reserve,
                         O::settle, O::reset,    O::take_out, O::put_in};

/// The form of a kind in the shared store: the script that holds it (store/redis/scripts/).
enum class SharedForm : std::uint8_t {
  fixed,    ///< one total, and its window
  ring,     ///< buckets, packed in one string
  log,      ///< events with amounts or members, in a sorted set; or times, in a string
  members,  ///< different members with their times, in a sorted set
  tally,    ///< average or extreme of one window
  leaky,    ///< a level and when it was read
  last,     ///< the latest data
  flights,  ///< open events with the times at which they end by themselves
  gauges,   ///< the open requests of each replica, likewise
  near,     ///< events and where they were, in a sorted set for each cell
  decimal,  ///< one total of one window as text, under a key of envoyproxy/ratelimit's making
};
/// The names of their scripts, in the order above.
inline constexpr auto kSharedForms =
    std::to_array<std::string_view>({"fixed", "ring", "log", "members", "tally", "leaky", "last",
                                     "flights", "gauges", "near", "decimal"});
static_assert(kSharedForms.size() == static_cast<std::size_t>(SharedForm::decimal) + 1);

/// A metric over a window, and how it is kept. kinds.cc has the metrics and the windows.
struct Kind {
  std::string_view name;
  Metric metric{};
  Window window{};
  bool real = false;
  const KindOps* ops = nullptr;
  const KindOps* own_time = nullptr;  ///< of events that bring their own times; null: not counted
  SharedForm shared{};
  std::string_view help;
  bool near = false;  ///< has a radius
};

std::span<const Kind> kinds() noexcept;
/// The row that serves a spec whose parameters are in range, or null.
const Kind* find_kind(const CounterSpec& spec) noexcept;
/// The same counter in smaller units: the bucket then holds a whole number of them (up to a
/// millionth of its drain). Otherwise a bucket of 2.5 that drains one per ms would hold 2.
CounterSpec in_whole_parts(CounterSpec spec) noexcept;
/// Whether counters of both keep and read their keys alike; `keep` and `what` are not part of it.
bool same_kind(const CounterSpec& a, const CounterSpec& b) noexcept;

}  // namespace weir::limiter
