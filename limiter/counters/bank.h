#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "limiter/kinds/counter_spec.h"

namespace weir::limiter {

/// Names an open counter. A stale id (its counter was closed and its place was reused) is harmless:
/// every operation on it reads nothing and stores nothing.
struct CounterId {
  std::uint16_t index = 0;
  std::uint16_t generation = 0;  ///< 0: no counter
  friend bool operator==(CounterId, CounterId) = default;
};

/// The limits of a bank, fixed at its start.
struct BankLimits {
  std::uint64_t memory = std::uint64_t{256} << 20;  ///< bytes of slots and blocks together, at most
  std::uint64_t keys = 1'000'000;  ///< that the common table is sized for (at 80 % fill)
  /// 2 MiB pages from the first key on: faster where the table will fill up, and more memory where
  /// it will not. Otherwise maintain() asks for them when it has.
  bool huge_pages = false;
};

/// Numbers of a bank for metrics: `evicted` and `full` count from the start, the others are of this
/// moment.
struct BankStats {
  std::uint64_t keys = 0;          ///< slots taken, expired ones included (an upper bound)
  std::uint64_t capacity = 0;      ///< slots
  std::uint64_t memory_used = 0;   ///< bytes of taken slots and blocks
  std::uint64_t memory_limit = 0;  ///< bytes that will never be exceeded, locks and tables included
  std::uint64_t evicted = 0;       ///< live keys that lost their count because there was no room
  std::uint64_t full = 0;          ///< events not stored because all their slots were in flight
};

/// All counters of the process, by identity; they outlive reloads.
///
/// Time is an argument. `now` is Unix ms; for Window::every and every_first the caller passes the
/// wall clock (Clock::wall), for those with `late` the event's own time, for all others Clock::now.
/// Threads may be some ms apart: a late event is put in its place. Times further back than a minute
/// count as outside of everything.
///
/// Thread-safe. Each operation is atomic for its key: one spin lock over some 256 buckets, held for
/// well under a microsecond; noexcept; allocates nothing. open, close_unused, maintain, snapshots
/// and imports are for the control thread: they may allocate, and take a mutex among themselves.
///
/// Memory: one reservation, fixed at the start, touched page by page. A new key takes a free or
/// expired slot, else that of a key which is neither pinned nor in flight (counted): the idlest of
/// the counter that has the most of them near by. At most three quarters of a table are pinned, so
/// a new key finds room whatever other counters hold.
///
/// Closed counters keep their keys until their windows have passed. They are dropped earlier if a
/// new counter finds no room otherwise: the counter that was closed first goes first. One scan
/// removes the keys of all dropped counters from the table, a slice for each call of maintain().
class Bank {
 public:
  explicit Bank(const BankLimits& limits);
  ~Bank();
  Bank(const Bank&) = delete;
  Bank& operator=(const Bank&) = delete;

  /// The counter of this identity: the existing one (a closed one keeps its counts), or a new one.
  /// `keys` > 0: a new counter gets a table of its own for that many keys; 0: it shares the common
  /// table. Closed counters make room for it. Error::too_large: no memory for that table.
  /// Error::full: over 16,384 counters, all of them open. Error::unsupported: no such kind.
  ///
  /// A new counter may start with the settled events of another counter of the same `what`, open or
  /// closed, if its window fits into what that counter keeps (log: always; ring: where the buckets
  /// of that counter add up to the new one's). A new bucket starts as full as others of the same
  /// `what`. A reopened counter also gets the events that came while it was closed, as far as other
  /// counters have them (Joining). The copy goes through the tables, bucket by bucket: see Opening.
  Result<CounterId> open(const Hash128& identity, const CounterSpec& spec, std::size_t keys = 0);
  /// While an Opening exists, new counters do not copy their history. The last Opening copies for
  /// all of them in one pass when it ends. Otherwise each counter needs a pass of its own.
  class Opening {
   public:
    explicit Opening(Bank& bank);
    ~Opening();
    Opening(const Opening&) = delete;
    Opening& operator=(const Opening&) = delete;

   private:
    Bank& bank_;
  };
  /// Closes every counter not in `used`: their keys are the first to be evicted, but are restored
  /// with their counts if the identity is opened again in time. Call it when no new request uses
  /// them; requests still in flight may continue to use their ids.
  void close_unused(std::span<const CounterId> used);
  /// The identities of closed counters that could be reopened with their counts.
  std::vector<Hash128> closed() const;
  /// The bytes that a table of its own for `keys` keys takes from BankLimits::memory.
  static std::uint64_t table_bytes(std::size_t keys) noexcept;

  /// Starts loading the cache lines that the next operation on this key needs.
  void prefetch(CounterId id, const CounterKey& key) const noexcept;

  /// Whether a reading of this size may be too low because `keep` was smaller until recently:
  /// events of the window may be missing until one window has passed since then.
  bool may_lack(CounterId id, Moment now, Number reading) const noexcept;

  /// For a counter with `late`: notes an event of this time, whatever happens to the event. False:
  /// the event is late, more than `late` behind the newest, and charging it would have no effect.
  /// Other counters have no such events.
  bool observe(CounterId id, Moment event) noexcept;
  /// The same without noting the event.
  bool in_time(CounterId id, Moment event) const noexcept;

  /// Adds the event unless the reading with it would break `ceiling` (null: adds always).
  /// in_flight: the event enters; it must leave() or be uncharged. `undo` may be null.
  Reading charge(CounterId id, const CounterKey& key, Moment now, const Amount& event,
                 const Ceiling* ceiling, Undo* undo) noexcept;
  /// Takes exactly that charge or reservation back. Nothing happens for Undo::What::nothing.
  void uncharge(CounterId id, const CounterKey& key, const Undo& undo) noexcept;
  /// The reading now, without (null) or with the event; changes nothing, costs no slot.
  /// value counts reservations, settled does not.
  Reading peek(CounterId id, const CounterKey& key, Moment now,
               const Amount* event = nullptr) const noexcept;

  /// Judges settled + in flight + this event; unless that breaks `ceiling`, adds it to what is in
  /// flight and fills `undo`, which settle() wants. A key with reservations is never evicted.
  /// "Over only because of others": refused && !ceiling.broken_by(settled).
  Reading reserve(CounterId id, const CounterKey& key, Moment now, const Amount& event,
                  const Ceiling* ceiling, Undo* undo) noexcept;
  /// Ends the reservation of `undo` (if it was stored). matched: the event is counted at
  /// `event_time`, the request's (with `late`: when it was reserved for, if it was); also if it
  /// could not be reserved without room. Returns the reading after it: value == settled,
  /// without any reservations; in_flight: how many are still open.
  Reading settle(CounterId id, const CounterKey& key, TimePoint event_time, Moment now,
                 const Amount& event, const Undo& undo, bool matched) noexcept;

  /// in_flight metric: one event of this amount has ended.
  void leave(CounterId id, const CounterKey& key, Number amount = 1) noexcept;
  /// Empties the settled count; reservations stay. Also unpins. With `late` only what has happened
  /// by `now` goes; the default is all that has come.
  void reset(CounterId id, const CounterKey& key, Moment now = {TimePoint{}, false}) noexcept;
  /// A pinned key is not evicted for a new key until its window has passed since its last event. Of
  /// the eight slots of a bucket six may be pinned; one more takes the pin of the idlest key of the
  /// counter that has the most pins there. The key must be stored already, else nothing happens.
  void pin(CounterId id, const CounterKey& key, bool pinned = true) noexcept;

  BankStats stats() const noexcept;
  /// Housekeeping, every second or so, at most some 20,000 buckets of work: drops closed counters
  /// whose windows have passed (after ten minutes at the soonest), asks for huge pages where a
  /// table has become well filled.
  void maintain(TimePoint now, TimePoint wall);

  /// Writes all settled counts of all counters, closed ones too, a piece per call. Holds a lock for
  /// one bucket (8 keys) at a time; so the pieces are not of one instant, each key is. Checksummed,
  /// versioned, independent of the table's size; holds key hashes (so it is worth nothing without
  /// the secret).
  class Snapshot {
   public:
    Snapshot(const Bank& bank, TimePoint now, TimePoint wall);
    ~Snapshot();
    /// Appends the next piece, some `bytes` long (at least a bucket), to `out`. False: that was
    /// all.
    bool next(std::string& out, std::size_t bytes = 256 << 10);

   private:
    struct State;
    std::unique_ptr<State> state_;
  };
  /// The readings of all keys of one counter at a time, piece by piece, in no order; counts
  /// nothing. Omits keys that read 0, and all keys of a counter with a radius. Holds a lock for one
  /// bucket at a time, so the pieces are not of one instant. For the control thread.
  class Readings {
   public:
    static constexpr int kBuckets = 2048;  ///< looked at by next(), at most
    Readings(const Bank& bank, CounterId counter, Moment now);
    /// Appends the next piece, at most 8 readings for each bucket. False: that was all.
    bool next(std::vector<Number>& out);

   private:
    const Bank& bank_;
    CounterId counter_;
    Moment now_;
    std::size_t region_ = 0, bucket_ = 0;
  };

  /// Restores a snapshot as if the process had never stopped. Call it before any event and after
  /// the counters in use have been opened. Takes counts that have not expired, for keys without a
  /// count. Counters that no policy uses are closed; the ones closed longest ago are dropped first.
  /// Torn or foreign input (Error::malformed) changes nothing. If the clock is now behind the
  /// snapshot's, the times of the snapshot are moved back as well. Returns how many keys were
  /// restored.
  Result<std::size_t> import(std::string_view snapshot, TimePoint now, TimePoint wall);

 private:
  friend class Charging;
  struct Held;
  struct Impl;
  struct Restore;
  class HistoryCopier;
  class Retirement;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weir::limiter
