#pragma once

#include <algorithm>
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
class CountExchange final : private net::Timer {
 public:
  /// The most keys that one round of an interval carries; the rest goes with the next interval, so
  /// that a slow store is not flooded. The hottest keys go first.
  static constexpr std::size_t kKeysMax = 4096;
  static constexpr std::size_t kKeysOfBatch = 128;
  /// The most keys whose answers are awaited at once. Redis answers a pipeline when it has carried
  /// out all that it has read of it. 4,096 keys at once keep a busy Redis silent for longer than
  /// `redis.timeout` (578 keys: 50 ms), and every judgement that asks it waits behind them.
  static constexpr std::size_t kKeysUnderWay = 2 * kKeysOfBatch;
  /// No request waits for an exchange: this is longer than the store needs to notice that it is
  /// away.
  static constexpr milliseconds kAnswersWithin{2'000};

  /// `origin`: random, of this worker's exchanges alone. All must outlive it.
  CountExchange(store::SharedStore& store, limiter::SyncTable& table, const Shared& shared,
                net::Wheel& wheel, std::uint64_t origin);

  limiter::SyncedBank& bank() noexcept { return bank_; }

  /// After judgements and settlements: sends keys that are due or urgent, and sets the timer.
  void run(TimePoint now);
  /// Call it before the end: sends all queued keys, whatever their interval. Call it again while
  /// is_busy(): the store may refuse keys temporarily, and another worker may be sending some.
  void flush(TimePoint now);
  /// Answers are awaited, or, after a flush, something is not sent yet.
  bool is_busy() const noexcept {
    return batches_.is_any_lent() || (is_ending_ && (left_ != 0 || bank_.has_queued()));
  }

  limiter::SyncedBank::Stats stats() const noexcept { return bank_.stats(); }

 private:
  struct PushBatch final : store::Batch {
    explicit PushBatch(CountExchange& e) : exchange(e) {}
    void on_replies() override {
      exchange.now_ = std::max(exchange.now_, replied_at);
      exchange.take_in(*this);
      exchange.send();
      exchange.arm();
    }

    CountExchange& exchange;
    policies::StoreOps operations;
    std::vector<limiter::SyncedBank::Push> pushes;
    std::size_t size = 0;
  };
  void on_timer(TimePoint now) override { run(now); }
  void begin_round(bool all);
  void send();
  void end_round();
  void submit(PushBatch& batch);
  void take_in(PushBatch& batch);
  void arm();
  bool has_room() const noexcept { return under_way_ + kKeysOfBatch <= kKeysUnderWay; }
  limiter::SyncedBank::Times times() const noexcept;

  store::SharedStore& store_;
  limiter::SyncedBank bank_;
  const Shared& shared_;
  net::Wheel& wheel_;
  limiter::SharedId id_;  // of the last push
  TimePoint now_{};       // at the last call, or reply
  Spares<PushBatch> batches_;
  std::size_t under_way_ = 0;  // keys in lent batches
  std::size_t left_ = 0;       // keys that the round may still send; 0: there is none
  bool is_ending_ = false;
};

}  // namespace weir::gate
