#pragma once

#include <optional>
#include <vector>

#include "core/spares.h"
#include "gate/count_exchange.h"
#include "gate/pattern_post.h"
#include "gate/ticket.h"
#include "policies/judgement/outbox.h"
#include "store/shared_store.h"

namespace weir::gate {

/// The open operations of one worker's gate at the shared store, whose replies come later. Reuses
/// its objects: no allocation after warm-up. The worker's thread alone.
class StoreOutbox final : public policies::Outbox {
 public:
  /// No request waits for a settlement or for best-effort operations. While the store is away, they
  /// are retried for this long.
  static constexpr milliseconds kSettlesWithin{5'000};

  /// All arguments must outlive it, and the store must have stopped before it ends. A request waits
  /// for the store at most `budget`. Without a wheel, failed messages of patterns are not retried
  /// by a timer.
  StoreOutbox(store::SharedStore& store, milliseconds budget, policies::PatternJudging& patterns,
              const Shared& shared, telemetry::MetricCells& metrics, net::Wheel* wheel)
      : store_(store), budget_(budget), post_(store, patterns, shared, metrics, wheel) {}

  store::SharedStore& store() noexcept { return store_; }
  PatternPost& post() noexcept { return post_; }
  /// Whether messages of patterns, or counts, are kept here or on their way.
  bool is_busy() const noexcept { return post_.is_busy() || (exchange_ && exchange_->is_busy()); }
  /// Counts of this table go to the other replicas from now on. `origin`: random, of this worker's
  /// exchanges alone.
  limiter::SyncedBank& begin_exchange(limiter::SyncTable& table, const Shared& shared,
                                      net::Wheel& wheel, std::uint64_t origin) {
    return exchange_.emplace(store_, table, shared, wheel, origin).bank();
  }
  limiter::SyncedBank::Stats exchange_stats() const noexcept {
    return exchange_ ? exchange_->stats() : limiter::SyncedBank::Stats{};
  }
  /// Sends the counts that are not sent yet. Call it before the end, and again while is_busy().
  void flush_exchange(TimePoint now) {
    if (exchange_) exchange_->flush(now);
  }

  /// The carrier of the judgement is a Ticket.
  bool ask(policies::Judgement& judgement, policies::StoreOps& operations, TimePoint now) override;
  void send(policies::StoreOps& operations, TimePoint now) override;
  void deliver(policies::PatternJudging&, TimePoint now) override { post_.run(now); }
  void exchange(TimePoint now) override {
    if (exchange_) exchange_->run(now);
  }

  /// Tickets whose replies have come, in their order; the caller empties it.
  std::vector<Ticket*>& replied() noexcept { return replied_; }
  /// Whether the replies for a ticket are on their way, or in replied().
  bool is_asking() const noexcept { return asking_ != 0; }
  /// A ticket of replied() has been handled.
  void note_taken() noexcept { --asking_; }

 private:
  /// Operations whose replies are not awaited.
  struct BestEffort final : store::Batch {
    explicit BestEffort(StoreOutbox& o) : outbox(o) {}
    void on_replies() override {
      operations.clear();  // this may have been the last user of replaced policies
      outbox.best_effort_.take_back(*this);
    }

    StoreOutbox& outbox;
    policies::StoreOps operations;
  };

  store::SharedStore& store_;
  milliseconds budget_;
  std::vector<Ticket*> replied_;
  std::size_t asking_ = 0;
  Spares<BestEffort> best_effort_;
  PatternPost post_;
  std::optional<CountExchange> exchange_;
};

}  // namespace weir::gate
