#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "core/spares.h"
#include "net/wheel.h"
#include "policies/judge/pattern_judging.h"
#include "store/shared_store.h"
#include "telemetry/metrics.h"

namespace weir::gate {

struct Shared;

/// Sends the events of patterns that all replicas share to the store, once per turn, and passes the
/// store's answers back to the patterns. Events leave in their order. They may reach the store in
/// another order after an error: a later batch may be on its way already. An event that is sent
/// again keeps its time. While the store is away, events are kept and sent later with their times:
/// so an order and its payment still match after an outage.
///
/// An error of no known kind says nothing of the store: it may be the state of one key that brings
/// it about. As in all other calls, it concerns the event that got it. That event waits, with those
/// of its key after it, and all others continue. Only where a batch of several keys got nothing but
/// such errors is the store taken to be away. Used by the worker's thread alone.
class PatternPost final : private net::Timer {
 public:
  /// The most events that are kept while the store is away; then the oldest is dropped, and
  /// counted.
  static constexpr std::size_t kKeptMax = 10'000;
  static constexpr std::size_t kPerBatch = 256;
  /// An event that the store refuses with an error of no known kind is dropped then, and counted:
  /// after ten seconds at least. Until then the error may pass; the state of its key may also be
  /// such that it never does.
  static constexpr std::uint8_t kRefusalsMax = 100;
  static constexpr milliseconds kAgain{100};
  /// Longer than the store takes to find out that it is away.
  static constexpr milliseconds kPatience{2'000};

  /// All arguments must outlive it, and the store must have stopped before it ends. Without a
  /// wheel, kept events are sent again with the next event.
  PatternPost(store::SharedStore& store, policies::PatternJudging& patterns, const Shared& shared,
              telemetry::MetricCells& metrics, net::Wheel* wheel)
      : store_(store), patterns_(patterns), shared_(shared), metrics_(metrics), wheel_(wheel) {}
  ~PatternPost() { net::Wheel::disarm(*this); }

  /// Takes the messages of the patterns, and sends them.
  void run(TimePoint now);
  bool is_busy() const noexcept {
    return !kept_.empty() || !refused_.empty() || batches_.is_any_lent();
  }

 private:
  struct Message {
    std::uint64_t turn = 0;  ///< its place among all messages, in which they go
    std::unique_ptr<policies::PatternMessage> event;
  };
  struct Batch final : store::Batch {
    explicit Batch(PatternPost& p) : post(p) {}
    void on_replies() override {
      post.now_ = std::max(post.now_, replied_at);
      post.take_in(*this);
    }

    PatternPost& post;
    policies::StoreOps operations;
    std::vector<Message> messages;
  };
  void on_timer(TimePoint now) override;
  void send(TimePoint now);
  void take_in(Batch& batch);
  /// Whether a batch got errors alone.
  static bool is_refused_whatever_the_key(const Batch& batch);
  void arm();
  void drop_oldest();
  /// The refused ones have waited, and are sent again in their places.
  void try_refused_again();
  void tell_how_many_wait();
  policies::Instant instant(TimePoint now) const noexcept;

  store::SharedStore& store_;
  policies::PatternJudging& patterns_;
  const Shared& shared_;
  telemetry::MetricCells& metrics_;
  net::Wheel* wheel_;
  TimePoint now_{};                               // of the last call
  TimePoint again_{};                             // the store was away: not before
  std::uint64_t turns_ = 0;                       // messages taken so far
  std::deque<Message> kept_;                      // by their turns
  TimePoint retry_{};                             // of the refused ones: not before
  std::deque<Message> refused_;                   // and later ones of their keys, by turns
  std::set<std::string, std::less<>> held_keys_;  // of the refused ones
  Spares<Batch> batches_;
};

/// Counts the matches of an answer in the metrics.
void count(const limiter::PatternReply& reply, telemetry::MetricCells& metrics);

}  // namespace weir::gate
