#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "core/spares.h"
#include "net/wheel.h"
#include "policies/judge/pattern_judging.h"
#include "store/shared_store.h"
#include "telemetry/metrics.h"

namespace weir::gate {

struct Shared;

/// Tells the store what has happened to patterns that all replicas share, in its order, with the
/// turn in which it happened; what the store answers goes back to them. While the store is
/// away it is kept and told later, with its time: so an order and its payment find each other
/// although there was nobody to tell. The worker's thread alone.
class PatternPost final : private net::Timer {
 public:
  /// What is kept while the store is away; then the oldest goes, and counts as dropped.
  static constexpr std::size_t kKeptMost = 10'000;
  static constexpr std::size_t kPerBatch = 256;
  static constexpr milliseconds kAgain{100};
  /// Longer than the store takes to find out that it is away.
  static constexpr milliseconds kPatience{2'000};

  /// All must outlive it, and the store has stopped before it ends. Without a wheel what is kept is
  /// told again with the next event.
  PatternPost(store::SharedStore& store, policies::PatternJudging& patterns, const Shared& shared,
              telemetry::MetricCells& metrics, net::Wheel* wheel)
      : store_(store), patterns_(patterns), shared_(shared), metrics_(metrics), wheel_(wheel) {}
  ~PatternPost() { net::Wheel::disarm(*this); }

  /// Takes what patterns have to tell, and sends it.
  void run(TimePoint now);
  bool is_busy() const noexcept { return !kept_.empty() || batches_.is_any_lent(); }

 private:
  struct Batch final : store::Batch {
    explicit Batch(PatternPost& p) : post(p) {}
    void on_replies() override { post.take_in(*this); }

    PatternPost& post;
    policies::StoreOps operations;
    std::vector<std::unique_ptr<policies::PatternMessage>> messages;
  };
  void on_timer(TimePoint now) override;
  void send(TimePoint now);
  void take_in(Batch& batch);
  policies::Instant instant(TimePoint now) const noexcept;

  store::SharedStore& store_;
  policies::PatternJudging& patterns_;
  const Shared& shared_;
  telemetry::MetricCells& metrics_;
  net::Wheel* wheel_;
  TimePoint now_{};    // as last told
  TimePoint again_{};  // the store was away: not before
  std::deque<std::unique_ptr<policies::PatternMessage>> kept_;
  Spares<Batch> batches_;
};

/// What the matches of an answer are called in metrics.
void count(const limiter::PatternReply& reply, telemetry::MetricCells& metrics);

}  // namespace weir::gate
