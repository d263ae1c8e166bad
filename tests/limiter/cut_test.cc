// A counter that keeps more of a key than before cannot know what went for want of room: which of
// its readings may be too low; against a naive list of events.
#include <gtest/gtest.h>

#include <iostream>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <vector>

#include "limiter/counters/bank.h"
#include "tests/support/seed.h"

namespace weir::limiter::cut_test {
namespace {

constexpr std::int64_t kStart = 1'700'000'000'000;
constexpr std::int64_t kHour = 3'600'000;
constexpr BankLimits kLimits{std::uint64_t{16} << 20, 3000};

struct Event {
  std::int64_t ms;
  std::uint64_t key, member;
};

std::int64_t truth(const std::vector<Event>& events, Metric metric, std::uint64_t key,
                   std::int64_t now) {
  std::set<std::uint64_t> members;
  std::int64_t count = 0;
  for (const Event& event : events) {
    if (event.key != key || event.ms <= now - kHour) continue;
    ++count;
    members.insert(event.member);
  }
  return metric == Metric::count ? count : static_cast<std::int64_t>(members.size());
}

struct Site {
  std::unique_ptr<Bank> bank = std::make_unique<Bank>(kLimits);
  CounterId id;
  std::int64_t now = kStart;
  std::vector<Event> events;

  void use(const CounterSpec& spec, std::uint64_t name) {
    bank->maintain(from_ms(now), from_ms(now));
    id = bank->open({1, name}, spec).value();
    bank->close_unused(std::vector<CounterId>{id});
  }
  void restart(const CounterSpec& spec, std::uint64_t name) {
    std::string bytes;
    Bank::Snapshot snapshot(*bank, from_ms(now), from_ms(now));
    while (snapshot.next(bytes)) {
    }
    bank = std::make_unique<Bank>(kLimits);
    id = bank->open({1, name}, spec).value();
    ASSERT_TRUE(bank->import(bytes, from_ms(now), from_ms(now)));
  }
  void charge(std::uint64_t key, std::uint64_t member) {
    Amount event;
    event.member = member;
    events.push_back({now, key, member});
    bank->charge(id, Hash128{key, 1}, from_ms(now), event, nullptr, nullptr);
  }
  std::int64_t read(std::uint64_t key) const {
    return bank->peek(id, Hash128{key, 1}, from_ms(now)).value.integer();
  }
  bool may_lack(std::uint64_t key) const {
    return bank->may_lack(id, from_ms(now), Number(read(key)));
  }
};

CounterSpec spec_of(Metric metric, std::size_t keep, std::int64_t length = kHour) {
  CounterSpec spec;
  spec.metric = metric;
  spec.window = Window::log;
  spec.length = milliseconds(length);
  spec.what = {3, 4};
  spec.keep = keep;
  return spec;
}

/// A count that is too low is known to be so, until the window has passed once.
TEST(Cut, WhatIsTooLowIsKnown) {
  const std::uint64_t seed = ::weir::test::new_seed();
  std::cout << "seed " << seed << '\n';
  std::mt19937_64 random(seed);
  int lacked = 0, whole = 0;
  for (int run = 0; run < 20; ++run) {
    const Metric metric = run % 2 == 0 ? Metric::count : Metric::distinct;
    Site site;
    std::uint64_t name = 1;
    std::optional<std::int64_t> raised;
    std::size_t keep = 20;
    site.use(spec_of(metric, keep), name);
    for (int n = 0; n < 1'500; ++n) {
      site.now += static_cast<std::int64_t>(random() % 20'000);
      site.charge(random() % (random() % 10 + 1), random() % 150);
      if (n >= 300 && n % 300 == 0 && n <= 600) {
        // By a new identity, as where `keep` is part of it; with a restart in between, or after.
        keep *= 2;
        ++name;
        const bool by_restart = random() % 2 == 0;
        if (by_restart) {
          site.restart(spec_of(metric, keep), name);
        } else {
          site.use(spec_of(metric, keep), name);
        }
        if (random() % 2 == 0) site.restart(spec_of(metric, keep), name);
        raised = site.now;
      }
      if (!raised) continue;
      for (std::uint64_t key = 0; key < 10; ++key) {
        const std::int64_t value = site.read(key),
                           true_value = truth(site.events, metric, key, site.now);
        if (value >= static_cast<std::int64_t>(keep)) continue;  // no threshold lies there
        const bool may_lack = site.may_lack(key);
        lacked += may_lack;
        whole += !may_lack;
        ASSERT_LE(value, true_value);
        if (!may_lack) {
          ASSERT_EQ(value, true_value) << run << " " << n << " key " << key << " keep " << keep;
        }
        if (site.now > *raised + kHour + 2'000) {
          ASSERT_FALSE(may_lack) << "the window has passed";
        }
      }
    }
  }
  EXPECT_GT(lacked, 30);
  EXPECT_GT(whole, 3'000);
}

TEST(Cut, ACounterThatGrowsInItsPlaceSaysSoToo) {
  CounterSpec spec = spec_of(Metric::distinct, 10);
  spec.window = Window::every;
  Site site;
  site.now = kStart - kStart % kHour;
  site.use(spec, 1);
  for (std::uint64_t member = 0; member < 30; ++member) {
    site.charge(1, member);
    if (member < 5) site.charge(2, member);
  }
  EXPECT_EQ(site.read(1), 10);
  spec.keep = 100;
  site.use(spec, 1);
  EXPECT_TRUE(site.may_lack(1));
  EXPECT_FALSE(site.may_lack(2)) << "all of them are there";
  site.now += kHour + 2'000;
  EXPECT_FALSE(site.may_lack(1));
}

/// A day's total that comes back gets the times of a log that had dropped some.
TEST(Cut, WhatComesByWayOfAnotherWindowIsKnownToo) {
  CounterSpec every = spec_of(Metric::count, 1'000, 24 * kHour);
  every.window = Window::every;
  Site site;
  site.use(every, 1);
  site.use(spec_of(Metric::count, 10), 2);
  for (int n = 0; n < 30; ++n) {
    site.now += 1'000;
    site.charge(1, 0);
    if (n < 5) site.charge(2, 0);
  }
  site.use(every, 1);
  EXPECT_EQ(site.read(1), 10);
  EXPECT_TRUE(site.may_lack(1));
  EXPECT_EQ(site.read(2), 5);
  EXPECT_FALSE(site.may_lack(2));
}

}  // namespace
}  // namespace weir::limiter::cut_test
