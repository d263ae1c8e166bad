#pragma once

#include <algorithm>
#include <memory>
#include <random>
#include <vector>

#include "gate/pattern_post.h"
#include "net/wheel.h"
#include "policies/judge/pattern_judging.h"

namespace weir::gate {

/// Asks the store for due deadlines of the patterns that all replicas share, and fires them. The
/// first asker leases a deadline and confirms when it has acted; if it dies before that, the next
/// asker gets the deadline.
///
/// The store says how long ago the last replica asked. So replicas share the work: together they
/// ask about twice a second, however many they are, each at least every ten seconds. One worker of
/// a process has a PatternClock; used by its thread alone.
class PatternClock final : private net::Timer {
 public:
  static constexpr milliseconds kEvery{500};
  static constexpr milliseconds kSeldom{10'000};
  /// Grace for events that are on their way at the deadline: they count.
  static constexpr milliseconds kGrace{300};
  /// After an outage: time for the replicas, which notice the end of the outage within two seconds,
  /// to send the events that they kept.
  static constexpr milliseconds kRecovery{5'000};
  static constexpr milliseconds kLease{10'000};

  /// All must outlive it, and the store has stopped before it ends. `seed`: of jitter.
  PatternClock(store::SharedStore& store, policies::PatternJudging& patterns, PatternPost& post,
               const Shared& shared, telemetry::MetricCells& metrics, net::Wheel& wheel,
               std::uint64_t seed)
      : store_(store),
        patterns_(patterns),
        post_(post),
        shared_(shared),
        metrics_(metrics),
        wheel_(wheel),
        random_(static_cast<std::minstd_rand::result_type>(seed)) {}
  ~PatternClock() { net::Wheel::disarm(*this); }

  /// Asks about the patterns of this set from now on.
  void use(std::shared_ptr<const policies::Loaded> loaded);

 private:
  /// One pattern of the set in use. Patterns of former sets stay until their answers are there.
  struct Round final : store::Batch {
    explicit Round(PatternClock& c) : clock(c) {}
    void on_replies() override {
      clock.now_ = std::max(clock.now_, replied_at);
      clock.take_in(*this, true);
    }

    PatternClock& clock;
    std::shared_ptr<const policies::Loaded> loaded;
    std::size_t pattern = 0;
    policies::StoreOps operations;
    milliseconds every = kEvery;
    TimePoint next{};
    bool away = false;  // the last answer was none: asks whether it is back
    bool asking_now = false;
    bool retired = false;
  };
  void on_timer(TimePoint now) override;
  void ask(Round& round, TimePoint now);
  void take_in(Round& round, bool late);
  void arm();
  milliseconds jittered(milliseconds every);
  policies::Instant instant(TimePoint now) const noexcept;

  store::SharedStore& store_;
  policies::PatternJudging& patterns_;
  PatternPost& post_;
  const Shared& shared_;
  telemetry::MetricCells& metrics_;
  net::Wheel& wheel_;
  std::minstd_rand random_;
  TimePoint now_{};
  std::vector<std::unique_ptr<Round>> rounds_;
};

}  // namespace weir::gate
