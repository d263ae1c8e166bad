#include "net/wheel.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <random>
#include <vector>

#include "tests/support/seed.h"

namespace weir::net::wheel_test {
namespace {

struct Probe final : Timer {
  void on_timer(TimePoint now) override {
    rung.push_back(now);
    if (then) then();
  }
  std::vector<TimePoint> rung;
  std::function<void()> then;
};

constexpr TimePoint kStart = from_ms(1'700'000'000'003);

TEST(Wheel, a_wheel_with_nothing_armed_never_asks_to_be_advanced) {
  Wheel wheel(kStart);
  EXPECT_FALSE(wheel.next());
}

TEST(Wheel, a_timer_rings_once_not_early_and_at_most_a_tick_late) {
  Wheel wheel(kStart);
  Probe probe;
  const TimePoint deadline = kStart + milliseconds(100);
  wheel.arm(probe, deadline);
  TimePoint now = kStart;
  while (probe.rung.empty()) wheel.advance(now += milliseconds(1));
  EXPECT_GE(probe.rung[0], deadline);
  EXPECT_LE(probe.rung[0], deadline + Wheel::kTick);
  EXPECT_FALSE(probe.armed());
  wheel.advance(now + std::chrono::hours(1));
  EXPECT_EQ(probe.rung.size(), 1u);
  EXPECT_FALSE(wheel.next());
}

TEST(Wheel, arming_later_moves_the_deadline_and_arming_earlier_does_too) {
  Wheel wheel(kStart);
  Probe later, earlier;
  wheel.arm(later, kStart + milliseconds(50));
  wheel.arm(later, kStart + milliseconds(500));
  wheel.arm(earlier, kStart + milliseconds(500));
  wheel.arm(earlier, kStart + milliseconds(50));
  wheel.advance(kStart + milliseconds(60));
  EXPECT_TRUE(later.rung.empty());
  EXPECT_EQ(earlier.rung.size(), 1u);
  wheel.advance(kStart + milliseconds(520));
  EXPECT_EQ(later.rung.size(), 1u);
}

TEST(Wheel, a_disarmed_or_destroyed_timer_does_not_ring) {
  Wheel wheel(kStart);
  Probe disarmed;
  wheel.arm(disarmed, kStart + milliseconds(50));
  Wheel::disarm(disarmed);
  {
    Probe destroyed;
    wheel.arm(destroyed, kStart + milliseconds(50));
  }
  wheel.advance(kStart + milliseconds(100));
  EXPECT_TRUE(disarmed.rung.empty());
}

TEST(Wheel, a_deadline_beyond_the_wheel_is_looked_at_on_the_way) {
  Wheel wheel(kStart);
  Probe probe;
  const TimePoint deadline = kStart + std::chrono::hours(2);
  wheel.arm(probe, deadline);
  int looks = 0;
  while (const auto next = wheel.next()) {
    ASSERT_LE(*next, deadline + Wheel::kTick);
    wheel.advance(*next);
    ++looks;
  }
  EXPECT_EQ(probe.rung.size(), 1u);
  EXPECT_LT(looks, 1'000);  // one in 8 s
}

TEST(Wheel, a_jump_over_the_whole_wheel_rings_everything_that_is_due) {
  Wheel wheel(kStart);
  std::vector<std::unique_ptr<Probe>> probes;
  for (int i = 0; i < 2'000; ++i) {
    probes.push_back(std::make_unique<Probe>());
    wheel.arm(*probes.back(), kStart + milliseconds(i * 20));
  }
  wheel.advance(kStart + milliseconds(30'000));
  for (int i = 0; i < 2'000; ++i) {
    EXPECT_EQ(probes[static_cast<std::size_t>(i)]->rung.size(), i * 20 < 29'990 ? 1u : 0u) << i;
    if (i * 20 == 29'980) i += 2;  // within a tick of now: either is right
  }
}

TEST(Wheel, a_timer_may_arm_and_destroy_others_while_it_rings) {
  Wheel wheel(kStart);
  Probe first;
  auto victim = std::make_unique<Probe>();
  auto second = std::make_unique<Probe>();
  wheel.arm(first, kStart + milliseconds(10));
  wheel.arm(*victim, kStart + milliseconds(10));
  first.then = [&] {
    victim.reset();
    wheel.arm(first, kStart + milliseconds(40));
    wheel.arm(*second, kStart + milliseconds(10));  // the past: the next tick
    first.then = nullptr;
  };
  wheel.advance(kStart + milliseconds(24));
  EXPECT_EQ(first.rung.size(), 1u);
  wheel.advance(kStart + milliseconds(50));
  EXPECT_EQ(second->rung.size(), 1u);
  EXPECT_EQ(first.rung.size(), 2u);
}

TEST(Wheel, agrees_with_a_sorted_list_over_random_schedules) {
  const unsigned seed = ::weir::test::new_seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  Wheel wheel(kStart);
  std::vector<std::unique_ptr<Probe>> probes;
  std::map<Probe*, TimePoint> expected;
  for (int i = 0; i < 200; ++i) probes.push_back(std::make_unique<Probe>());
  TimePoint now = kStart;
  for (int step = 0; step < 20'000; ++step) {
    Probe& probe = *probes[random() % probes.size()];
    switch (random() % 4) {
      case 0:
      case 1: {
        const TimePoint deadline =
            now + milliseconds(random() % (random() % 10 == 0 ? 60'000 : 3'000));
        wheel.arm(probe, deadline);
        expected[&probe] = deadline;
        break;
      }
      case 2:
        Wheel::disarm(probe);
        expected.erase(&probe);
        break;
      default: {
        for (auto& p : probes) p->rung.clear();
        now += milliseconds(random() % 100);
        wheel.advance(now);
        for (auto& p : probes) {
          const auto due = expected.find(p.get());
          if (!p->rung.empty()) {
            ASSERT_NE(due, expected.end());
            ASSERT_LE(due->second, now);
            expected.erase(due);
          } else if (due != expected.end()) {
            ASSERT_GT(due->second + 2 * Wheel::kTick, now);
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace weir::net::wheel_test
