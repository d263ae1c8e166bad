#pragma once

#include <span>
#include <vector>

#include "limiter/exchange/sync_push.h"
#include "limiter/exchange/sync_rounds.h"
#include "limiter/exchange/sync_table.h"
#include "limiter/exchange/synced_members.h"

namespace weir::limiter {

/// The bank for counters that replicas exchange. Readings and ceilings include the known counts of
/// other replicas.
///
/// The bound: while Redis can be reached, no trailing window holds more than the limit plus, for
/// each replica, the amount that it admitted between two of its exchanges (`interval`, one round
/// trip and one turn of the loop).
///
/// Reservations count on their own replica alone until they settle. Averages and extremes contain
/// all local counts, and the others' counts at the last exchange. A reading of different members is
/// never above the truth: a member that is new here may already be in the store, so it counts
/// beyond the others' members only once the store has it, or if this replica alone has seen more.
///
/// A key is exchanged soon if the counts since its last exchange, here and elsewhere, may be much
/// of the rest of its limit, and at once if they may be all of it. So the overshoot is mostly
/// far smaller. That estimate decides when to exchange, never what to admit: it refuses no event.
///
/// One per worker, used by its thread alone; the table and the bank are shared. A judgement queues
/// the keys that it touches for the next exchange.
class SyncedBank {
 public:
  SyncedBank(Bank& bank, SyncTable& table) : bank_(bank), table_(table) {}

  /// Call this first in a judgement: the key will be exchanged at its next interval. False: the key
  /// is unknown; add() it.
  bool touch(const SyncedCounter& counter, const CounterKey& key);
  /// If the table has no room, the key is counted on this replica only (SyncTable::Stats::full).
  /// Once the table has room, the reading of the key is never below the count here, nor below the
  /// count in the store.
  void add(const SyncedCounter& counter, const CounterKey& key, std::string_view name,
           TimePoint now);

  // As Bank has them. `enforced`: the ceiling refuses; else it says only where the key nears its
  // limit.
  Reading charge(const SyncedCounter& counter, const CounterKey& key, Moment now,
                 const Amount& event, const Ceiling* ceiling, bool enforced, Undo* undo);
  Reading reserve(const SyncedCounter& counter, const CounterKey& key, Moment now,
                  const Amount& event, const Ceiling* ceiling, bool enforced, Undo* undo);
  Reading peek(const SyncedCounter& counter, const CounterKey& key, Moment now,
               const Amount* event) noexcept;
  Reading settle(const SyncedCounter& counter, const CounterKey& key, TimePoint event_time,
                 Moment now, const Amount& event, const Undo& undo, bool matched);
  void uncharge(const SyncedCounter& counter, const CounterKey& key, const Undo& undo) noexcept;
  /// in_flight: one event of this amount has ended.
  void leave(const SyncedCounter& counter, const CounterKey& key, Number amount);
  /// Resets everywhere: the reset goes to the store at the end of the turn, and from there to the
  /// other replicas.
  void reset(const SyncedCounter& counter, const CounterKey& key, Moment now);

  /// The times of both clocks, for counters of either.
  struct Times {
    TimePoint now, wall;
    TimePoint of(const SyncedCounter& counter) const noexcept {
      return counter.wall_clock ? wall : now;
    }
  };
  using Push = SyncPush;
  /// The time of the next work; none: nothing is queued. Keys touched since the last call count as
  /// touched at `now`, and are due then if they cannot wait.
  std::optional<TimePoint> next(TimePoint now) noexcept { return rounds_.next(now); }
  /// Keys wait for their exchange, at this worker.
  bool has_queued() const noexcept { return rounds_.queued() != 0; }
  /// Makes the keys that are due at `now` ready to be taken, hot keys first. all: the process ends
  /// soon, so every queued key with unsent counts is due, and the others are removed.
  void begin_round(TimePoint now, bool all = false) { rounds_.begin(now, all); }
  /// Up to `most` of the urgent ones and of the round; all of a key are together. Ids follow `id`,
  /// which is moved on.
  /// Reuses the elements of `out`; returns how many of them count.
  std::size_t take(Times at, SharedId& id, std::size_t most, std::vector<Push>& out);
  /// The rest of the round waits for the next one.
  void end_round() { rounds_.end(); }
  /// The store's answer, or its error: then the same is sent again at the next interval.
  void take_reply(const Push& push, const SharedReply& reply, Times at);

  /// Numbers of the exchange for metrics: `queued` is of this moment, the others count from the
  /// start.
  struct Stats {
    std::uint64_t queued = 0;     ///< keys that wait for their exchange
    std::uint64_t exchanged = 0;  ///< pushes that were answered
    std::uint64_t overshoot = 0;  ///< counted before others were known to be at the limit
  };
  Stats stats() const noexcept;

 private:
  void count_in(SyncEntry& entry, Number amount, TimePoint now);
  void note_doubt(SyncEntry& entry, const Reading& reading, const Amount& event, TimePoint now);
  void note_growth(SyncEntry& entry, Number others, TimePoint now);
  Reading admit(const SyncedCounter& counter, const CounterKey& key, Moment now,
                const Amount& event, const Ceiling* ceiling, bool enforced, bool reserves,
                Undo* undo);
  void fill(SyncEntry& entry, TimePoint now, SharedId& id, Push& out);
  void fill_sum(SyncEntry& entry, TimePoint now);
  void take_total(SyncEntry& entry, const SharedReply& reply, bool emptied, TimePoint now);
  std::optional<TimePoint> join_window(SyncEntry& entry, const SharedReply& reply, TimePoint now);
  void take_extreme(SyncEntry& entry, const Push& push, const Reading& there, TimePoint now);
  // Gauges: synced_gauge.cc.
  void fill_gauge(SyncEntry& entry, TimePoint now, SharedId& id, Push& out);
  void take_gauge(SyncEntry& entry, const Push& push, Number total, TimePoint now);

  Bank& bank_;
  SyncTable& table_;
  SyncRounds rounds_{table_};
  Overshoot overshoot_;
  SyncedMembers members_{bank_, table_, rounds_, overshoot_};
  std::uint64_t exchanged_ = 0;
  double own_growth_ = 0, others_growth_ = 0;  // of all keys, recently: estimates the others
};

}  // namespace weir::limiter
