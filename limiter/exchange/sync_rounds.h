#pragma once

#include <optional>
#include <vector>

#include "limiter/exchange/sync_table.h"

namespace weir::limiter {

/// How soon a key is exchanged.
enum class Haste : std::uint8_t { none, soon, now };

/// How soon to exchange a key, given what may have been counted since the last exchange and how
/// much of the limit is left.
Haste haste_for(double counted, double left, double limit) noexcept;

/// Which keys are exchanged when: those that were touched once an interval, hot keys first, and
/// urgent ones at once or in company. One per worker, used by its thread alone.
class SyncRounds {
 public:
  explicit SyncRounds(SyncTable& table) : table_(table) {}

  // Under the entry's lock.
  /// The key is exchanged at its next interval.
  void queue(SyncEntry& entry);
  /// The same if the key has something to tell. To be called after each change of it: a round may
  /// have taken the key since the event touched it. Without memory the next event queues the key.
  void queue_untold(SyncEntry& entry) noexcept;
  void hasten(SyncEntry& entry, TimePoint now, Haste haste);

  /// The time of the next work; none: nothing is queued.
  std::optional<TimePoint> next(TimePoint now) noexcept;
  /// Makes the keys that are due at `now` ready to be taken. all: the process ends soon, so every
  /// queued key with unsent counts is due, and the others are removed.
  void begin(TimePoint now, bool all);
  /// The next key to exchange, locked: the urgent ones, then those of the round. Empty: none is
  /// left. It is neither queued nor urgent any more, and not away.
  SyncTable::Locked take();
  /// The rest of the round waits for the next one.
  void end();

  std::uint64_t queued() const noexcept;

 private:
  struct Queue {
    milliseconds interval;
    std::optional<TimePoint> due;  // by Clock::now; none: see next()
    std::vector<Hash128> keys;
  };
  struct Due {
    double pending;
    Hash128 key;
  };
  SyncTable& table_;
  std::vector<Queue> queues_;  // one for each interval
  std::vector<Hash128> urgent_;
  bool urgent_now_ = false;              // one of them cannot wait
  std::optional<TimePoint> urgent_due_;  // by Clock::now; none: see next()
  std::vector<Due> round_;               // hottest last
};

}  // namespace weir::limiter
