#pragma once

#include <memory>
#include <vector>

#include "core/spares.h"
#include "gate/judge.h"
#include "limiter/exchange/synced_bank.h"
#include "net/wheel.h"
#include "policies/judgement/store_ops.h"
#include "store/shared_store.h"

namespace weir::gate {

struct Shared;

/// Carries one worker's counts to the store and the others' back (`share: {redis: {sync: ...}}`).
/// No judgement waits for it. One timer for all keys; the worker's thread alone.
class Exchange final : private net::Timer {
 public:
  /// The most keys that one round of an interval carries; the rest goes with the next interval, so
  /// that a slow store is not flooded. The hottest keys go first.
  static constexpr std::size_t kKeysMost = 4096;
  static constexpr std::size_t kKeysOfBatch = 256;
  /// No request waits for an exchange: this is longer than the store needs to notice that it is
  /// away.
  static constexpr milliseconds kPatience{2'000};

  /// `origin`: random, of this worker's exchanges alone. All must outlive it.
  Exchange(store::SharedStore& store, limiter::SyncTable& table, const Shared& shared,
           net::Wheel& wheel, std::uint64_t origin);

  limiter::SyncedBank& bank() noexcept { return bank_; }

  /// After judgements and settlements: sends keys that are due or urgent, and sets the timer.
  void run(TimePoint now);
  /// Before the end: sends all that is queued, whatever its interval.
  void flush(TimePoint now);
  bool is_busy() const noexcept { return batches_.is_any_lent(); }

  limiter::SyncedBank::Stats stats() const noexcept { return bank_.stats(); }

 private:
  struct Batch final : store::Batch {
    explicit Batch(Exchange& e) : exchange(e) {}
    void on_replies() override { exchange.take_in(*this); }

    Exchange& exchange;
    policies::StoreOps operations;
    std::vector<limiter::SyncedBank::Push> pushes;
    std::size_t size = 0;
  };
  void on_timer(TimePoint now) override { run(now); }
  void send();
  void take_in(Batch& batch);
  bool is_away(const Batch& batch) const noexcept;
  limiter::SyncedBank::Times times() const noexcept;

  store::SharedStore& store_;
  limiter::SyncedBank bank_;
  const Shared& shared_;
  net::Wheel& wheel_;
  limiter::SharedId id_;  // of the last push
  TimePoint now_{};       // at the last call: an answer comes at most a round trip later
  Spares<Batch> batches_;
};

}  // namespace weir::gate
