#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/spares.h"
#include "gate/judge.h"
#include "gate/pattern_clock.h"
#include "gate/recorder.h"
#include "gate/settlements.h"
#include "gate/store_outbox.h"
#include "gate/ticket.h"
#include "gate/wait_queue.h"
#include "policies/explain/verdict_text.h"
#include "policies/judge/driver.h"
#include "policies/set/sharing.h"
#include "telemetry/latency.h"
#include "telemetry/metrics.h"

namespace weir::gate {

/// State that all gates of the process share.
struct Shared {
  limiter::Bank& counters;
  limiter::ListBank& lists;
  const HashSecret& secret;
  policies::StatsBank& stats;
  /// Current wall clock minus Clock::now(), kept up by the control thread every second: `every`
  /// windows follow steps of the wall clock, all others do not.
  std::atomic<std::int64_t> wall_offset_ms{0};
  Settlements settlements{};  ///< noted while a request waits on any worker
  std::atomic<std::uint32_t> waiting{0};
  limiter::PatternBank* patterns = nullptr;  ///< null: no pattern ever matches
  limiter::SyncTable* synced = nullptr;      ///< null: no counts are exchanged
  telemetry::Latency* latency = nullptr;     ///< names the classes of routes; null: there is one
};

/// The bounds of a gate.
struct GateLimits {
  std::size_t held = 1'000;     ///< requests held by `delay` at once, on this worker
  std::size_t waiting = 1'024;  ///< requests parked at once, on this worker
  milliseconds reserve_wait{1'000};
};

/// The Judge of one worker.
class Gate final : public Judge {
 public:
  Gate(Shared& shared, std::size_t worker, const GateLimits& limits,
       telemetry::MetricCells& metrics, policies::Observer* observer);
  ~Gate() override;

  /// Judges by this set from now on; requests in flight are settled by the set that judged them. On
  /// the worker's thread, like everything here.
  void use(std::shared_ptr<const policies::PolicySet> set);
  const policies::PolicySet& set() const noexcept { return driver_.set(); }
  /// Sets the store for counters with `share: redis`. The store lives on the worker's thread and
  /// stops before the gate ends. A request waits for it at most `budget`. Call this before any
  /// judgement. `wheel`: null in tests; then failed messages of patterns are not retried by a
  /// timer.
  void use_store(store::SharedStore& store, const policies::Sharing& sharing, milliseconds budget,
                 net::Wheel* wheel = nullptr);
  /// Call it on one worker of the process, after use_store(): fires due matches of shared patterns.
  void fire_patterns(net::Wheel& wheel, std::uint64_t seed);
  /// Counters with `sync` exchange their counts through the store, if Shared::synced is there.
  /// `origin`: random, another one than the store's. After use_store().
  void begin_exchange(net::Wheel& wheel, std::uint64_t origin);
  /// Sends the counts that are not sent yet. Call it before the end, and again while
  /// is_exchanging().
  void flush(TimePoint now) {
    if (outbox_) outbox_->flush_exchange(now);
  }
  bool is_exchanging() const noexcept { return outbox_ && outbox_->is_busy(); }
  limiter::SyncedBank::Stats exchange_stats() const noexcept {
    return outbox_ ? outbox_->exchange_stats() : limiter::SyncedBank::Stats{};
  }

  /// The result of a reported event. Valid until the next judgement.
  struct Judged {
    const policies::Verdict& verdict;
    const policies::Plan& plan;
    int status = 0;  ///< of the answer that a door would give; 0: it would pass the request
    Effect effect;   ///< the effect at a door
  };
  /// Judges an event that did not come through a door, and settles it at once with the known parts
  /// of its answer (status 0: none; policies that need the answer then do not count). Does not wait
  /// for reservations of others, and leaves nothing in flight. None: the shared store is asked, and
  /// the waiter is parked; pass the same to resume() when the waiter is resumed.
  /// `insists`: the event has happened, so it counts even if a policy refuses it.
  std::optional<Judged> judge(const policies::Record& record, const Answer& answer, TimePoint now,
                              Waiter& waiter, bool insists = false);
  std::optional<Judged> resume(const policies::Record& record, const Answer& answer, TimePoint now,
                               Waiter& waiter, bool insists = false);
  /// The result that judge() would give; counts and remembers nothing. None: as of judge(), and
  /// pass the same to resume_query(), the trace included.
  std::optional<Judged> query(const policies::Record& record, TimePoint now, policies::Trace& trace,
                              Waiter& waiter);
  std::optional<Judged> resume_query(const policies::Record& record, TimePoint now,
                                     policies::Trace& trace, Waiter& waiter);

  bool wants_body(const Request& request) override;
  Decision judge(const Request& request, TimePoint now, bool may_wait, Waiter& waiter) override;
  Decision resume(const Request& request, TimePoint now, bool may_wait, Waiter& waiter) override;
  bool park(Waiter& waiter, const Decision& decision, TimePoint now) override;
  TimePoint waiting_until(const Waiter& waiter) const override;
  void unpark(Waiter& waiter) override;
  void end_hold() override;
  bool answered(Ticket& ticket, const Answer& answer, TimePoint now) override;
  void answered_body(Ticket& ticket, const Answer& answer, TimePoint now) override;
  void finish(Ticket& ticket, End end, TimePoint now) override;
  bool has_waiters() const override {
    return waiters_.size() != 0 || (outbox_ && outbox_->is_asking());
  }
  void tick(TimePoint now) override;

  /// The caller will not pass the event of this waiter again, whether the waiter waits or has been
  /// resumed.
  void give_up(Waiter& waiter, TimePoint now);

  /// Also reports every reading and verdict of policies, and every match of patterns, to these
  /// sinks (null: none), in order to compare doors with each other and with replay.
  void report_to(policies::RowSink* rows, policies::PatternSink* matches) {
    rows_ = rows;
    driver_.use_patterns(shared_.patterns, matches);
  }

  /// Also passes every event to this recorder; null: to none. Call it before use().
  void record_to(Recorder* recorder);

  /// Moves the end of the reservations and places in flight that the store holds for requests under
  /// way: call it four times within the shorter of Sharing::flight and Sharing::reservation.
  void renew_places(TimePoint now);

  /// Fires the patterns' deadlines that have passed. judge() does so too; this is for when nothing
  /// comes.
  void advance_patterns(TimePoint now) { driver_.advance(now - milliseconds{1}); }

  /// The time that a judgement at `now` uses.
  policies::Instant instant(TimePoint now) const noexcept;

 private:
  struct Decided {
    Ticket& ticket;
    const policies::Verdict* verdict;  ///< null: the store has been asked
  };
  // Inline: these are on the path of every request, and gate.cc alone calls them.
  inline policies::Driver::Options door_options(bool may_wait, const Waiter& waiter) const;
  policies::Driver::Options record_options(const policies::Record& record, TimePoint now,
                                           bool insists) const;
  inline Decided begin(const policies::Occurrence& occurrence, policies::Instant at,
                       const policies::Driver::Options& options, const Waiter& waiter);
  Decided go_on(const policies::Occurrence& occurrence, policies::Instant at,
                const policies::Driver::Options& options, Waiter& waiter);
  inline Decision decision_of(const Decided& decided, const Request& request, policies::Instant at);
  std::optional<Judged> settled_result(const Decided& decided, const policies::Record& record,
                                       const Answer& answer, policies::Instant at, Waiter& waiter);
  std::optional<Judged> dry_result(const Decided& decided, policies::Instant at, Waiter& waiter);
  inline Decision conclude(Ticket& ticket, const policies::Verdict& verdict, const Request& request,
                           policies::Instant at);
  static void suspend(Ticket& ticket, Waiter& waiter) noexcept;
  bool record(const Ticket& ticket, const Request* request, const policies::Record* record,
              TimePoint now);
  inline bool keep(Ticket& ticket, bool recorded, TimePoint now);
  inline void give_back(Ticket& ticket);
  void cut_short(Ticket& ticket) noexcept;
  void note_unread(policies::MissReason why);
  void take_replies(TimePoint now);
  void settled(const Ticket& ticket);
  inline void name(const policies::Verdict& verdict, const policies::Plan& plan,
                   Decision& out) const noexcept;
  void note_waiting();

  Shared& shared_;
  std::size_t worker_;
  GateLimits limits_;
  telemetry::MetricCells& metrics_;
  policies::Driver driver_;
  policies::VerdictText text_;
  policies::RowSink* rows_ = nullptr;
  Recorder* recorder_ = nullptr;
  Recorder::Row row_;  // of the event under judgement
  WaitQueue waiters_;
  std::optional<TimePoint> poll_at_;  // when all waiters look again
  bool polls_ = false;                // and then once more, for as long as there are any
  std::uint32_t waiting_noted_ = 0;
  SettlementReader settlements_seen_;
  std::size_t held_ = 0;
  std::vector<std::uint8_t> routes_;  // class of each event of the set
  bool announces_ = false;            // some policy shows callers their remaining quota
  Spares<Ticket> tickets_;
  policies::Sharing sharing_;
  std::optional<StoreOutbox> outbox_;  // none: no shared policies
  std::optional<PatternClock> clock_;
  std::vector<Hash128> wake_;  // keys whose first waiter is to be resumed by the next tick()
};

}  // namespace weir::gate
