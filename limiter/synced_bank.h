#pragma once

#include <span>
#include <vector>

#include "limiter/sync_table.h"

namespace weir::limiter {

/// The bank, for counters whose counts replicas exchange: its operations, with readings and
/// ceilings that take in what the others are known to have counted.
///
/// The bound: while Redis can be reached, no trailing window holds more than the limit plus, for
/// each replica, what that replica admitted between two of its exchanges (`interval`, one round
/// trip and one turn of the loop). What is reserved counts on its own replica alone until it is
/// settled. A key that nears its limit is exchanged at once, so that at a steady rate it is less.
///
/// One per worker, used by its thread alone; the table and the bank are shared. What a judgement
/// touches is queued for the next exchange.
class SyncedBank {
 public:
  SyncedBank(Bank& bank, SyncTable& table) : bank_(bank), table_(table) {}

  /// The first thing of a judgement: the key will be exchanged at its next interval. False: nothing
  /// is known of it; add() it.
  bool touch(const CounterKey& key, CounterId id);
  /// Without room in the table the key is counted here alone (SyncTable::Stats::full).
  void add(const CounterKey& key, const SyncedCounter& counter, std::string_view name,
           TimePoint now);

  // As Bank has them. `enforced`: the ceiling refuses; else it says only where the key nears its
  // limit.
  Reading charge(CounterId id, const CounterKey& key, Moment now, const Amount& event,
                 const Ceiling* ceiling, bool enforced, Undo* undo);
  Reading reserve(CounterId id, const CounterKey& key, Moment now, const Amount& event,
                  const Ceiling* ceiling, bool enforced, Undo* undo);
  Reading peek(CounterId id, const CounterKey& key, Moment now, const Amount* event) noexcept;
  Reading settle(CounterId id, const CounterKey& key, TimePoint event_time, Moment now,
                 const Amount& event, const Undo& undo, bool matched);
  void uncharge(CounterId id, const CounterKey& key, const Undo& undo) noexcept;
  /// Everywhere: the store is told at the end of the turn, the other replicas learn it from there.
  void reset(CounterId id, const CounterKey& key, Moment now);

  /// What both clocks say, for counters of either.
  struct Times {
    TimePoint now, wall;
    TimePoint of(const SyncedCounter& counter) const noexcept {
      return counter.wall_clock ? wall : now;
    }
  };
  /// One key's exchange, to be submitted and answered with told().
  struct Push {
    Hash128 key;
    SharedVerb verb = SharedVerb::read;  ///< or add, reset
    Number amount;                       ///< of an add
    SharedId id;
    bool again = false;  ///< the same event may have reached the store before
    std::uint32_t resets = 0;
    std::shared_ptr<const SharedCounter> counter;
    std::string name;
  };
  /// Keys that near their limits, or were reset, since the last call.
  bool has_urgent() const noexcept { return !urgent_.empty(); }
  /// When the next queue is due; none: nothing is queued. What was touched since the last call is
  /// touched at `now`.
  std::optional<TimePoint> next(TimePoint now) noexcept;
  /// Those of the queues that are due at `now` (all: of every queue) wait to be taken, hot keys
  /// first.
  void begin_round(TimePoint now, bool all = false);
  /// Up to `most` of the urgent ones and of the round. Ids follow `id`, which is moved on.
  /// Reuses what is in `out`; returns how many of it count.
  std::size_t take(Times at, SharedId& id, std::size_t most, std::vector<Push>& out);
  /// What is left of the round waits for the next one.
  void end_round();
  /// The store's answer, or its error: then the same is sent again at the next interval.
  void told(const Push& push, const SharedReply& reply, Times at);

  struct Stats {
    std::uint64_t queued = 0;     ///< keys that wait for their exchange
    std::uint64_t exchanged = 0;  ///< pushes that were answered
    std::uint64_t overshoot = 0;  ///< counted before it was known that others had reached the limit
  };
  Stats stats() const noexcept;

 private:
  struct Queue {
    milliseconds interval;
    std::optional<TimePoint> due;  // by Clock::now; none: see next()
    std::vector<Hash128> keys;
  };
  void queue(SyncEntry& entry);
  void hasten(SyncEntry& entry, TimePoint now);
  void note_near(SyncEntry& entry, const Reading& reading, const Amount& event, TimePoint now);
  template <class Charge>
  Reading admit(const CounterKey& key, Moment now, const Amount& event, const Ceiling* ceiling,
                bool enforced, bool counts, const Charge& charge);
  bool fill(SyncEntry& entry, Times at, SharedId& id, Push& out);

  Bank& bank_;
  SyncTable& table_;
  std::vector<Queue> queues_;  // one for each interval
  std::vector<Hash128> urgent_;
  struct Due {
    double pending;
    Hash128 key;
  };
  std::vector<Due> round_;  // hottest last
  std::uint64_t exchanged_ = 0, overshoot_ = 0;
};

}  // namespace weir::limiter
