// A window that is changed and changed back, of every kind: the events in between; against counters
// that were there all the time.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "core/calendar.h"
#include "limiter/counters/bank.h"
#include "limiter/counters/history_facts.h"
#include "limiter/kinds/kinds.h"
#include "tests/limiter/reloads.h"

namespace weir::limiter::joining_test {
namespace {

using test::Reloads;
using test::spec_of_hours;

constexpr std::int64_t kStart = 1'700'000'000'000;  // 22:13:20 UTC
constexpr std::int64_t kHour = 3'600'000;

/// A world with changes beside one without: the same events reach both.
struct Pair {
  CounterSpec to, from;
  Reloads world, always;
  std::int64_t now = kStart;
  int n = 0;
  std::string text;
  Datum datum;

  Pair(const Kind& a, const Kind& b) : to(spec_of_hours(a, 1)), from(spec_of_hours(b, 2)) {
    always.reload({{1, to}});
    world.reload({{1, to}});
  }
  Amount event_of(int i) {
    Amount event;
    if (takes_amount(to.metric))
      event.amount = to.real ? Number::real(0.5 + i % 5) : Number(1 + i % 5);
    event.member = static_cast<std::uint64_t>(i % 11);
    text = "datum " + std::to_string(i);
    datum.type = Datum::Type::text;
    datum.text = text;
    event.datum = &datum;
    return event;
  }
  void events(int many) {
    for (int i = 0; i < many; ++i) {
      now += 1000;
      const Amount event = event_of(n++);
      for (Reloads* const each : {&world, &always}) {
        for (const auto& [name, id] : each->open)
          each->bank.charge(id, Hash128{9, 9}, from_ms(now), event, nullptr, nullptr);
      }
    }
  }
  void change() { reload({{2, from}}); }
  void change_back() { reload({{1, to}}); }
  void reload(const std::map<int, CounterSpec>& specs) {
    world.bank.maintain(from_ms(now), from_ms(now));  // as every second
    world.reload(specs);
  }
  std::string read(Reloads& of) {
    const Amount event = event_of(3);
    const Reading r = of.bank.peek(of.open.at(1), Hash128{9, 9}, from_ms(now),
                                   to.metric == Metric::exists ? &event : nullptr);
    if (r.datum != nullptr) return std::string(r.datum->text);
    return r.has_value ? r.value.to_string() : "no value";
  }
  double number(Reloads& of) {
    return of.bank.peek(of.open.at(1), Hash128{9, 9}, from_ms(now)).value.as_real();
  }
};

template <class F>
void for_each_pair(F f) {
  for (const Kind& a : kinds()) {
    for (const Kind& b : kinds()) {
      if (a.metric != b.metric || a.real != b.real || a.near || b.near ||
          a.metric == Metric::in_flight)
        continue;
      SCOPED_TRACE(std::string(a.name) + ", changed to " + std::string(b.name) + " and back");
      f(a, b, joining(a.metric, a.window, b.window));
    }
  }
}

TEST(Joining, AfterOneChangeToAndFroNothingIsMissingThatCanBeThere) {
  std::map<Joining, int> seen;
  for_each_pair([&](const Kind& a, const Kind& b, Joining how) {
    Pair pair(a, b);
    pair.events(7);
    const std::string before = pair.read(pair.world);
    pair.change();
    pair.events(7);
    pair.change_back();
    ++seen[how];
    if (how == Joining::none && a.window == Window::leaky) {  // it continues to drain
      EXPECT_NEAR(pair.number(pair.world), std::stod(before), 0.01);
      return;
    }
    if (how == Joining::none) {
      EXPECT_EQ(pair.read(pair.world), before) << "what it held";
      return;
    }
    if (how == Joining::level) {  // 7 events of the first window drain a little in the second
      EXPECT_GE(pair.number(pair.world), pair.number(pair.always) - 0.01);
      EXPECT_LE(pair.number(pair.world), pair.number(pair.always) + 1);
      return;
    }
    EXPECT_EQ(pair.read(pair.world), pair.read(pair.always)) << static_cast<int>(how);
    pair.events(5);
    EXPECT_EQ(pair.read(pair.world), pair.read(pair.always)) << static_cast<int>(how);
  });
  for (const Joining how : {Joining::none, Joining::gaps, Joining::times, Joining::renew,
                            Joining::totals, Joining::level, Joining::newest})
    EXPECT_GT(seen[how], 0) << static_cast<int>(how);
}

/// To and fro again and again: nothing is counted twice, whatever the kinds.
TEST(Joining, NothingIsCountedTwice) {
  for_each_pair([](const Kind& a, const Kind& b, Joining how) {
    Pair pair(a, b);
    for (int round = 0; round < 4; ++round) {
      pair.events(5);
      pair.change();
      pair.events(5);
      pair.change_back();
      const bool adds =
          a.metric == Metric::count || a.metric == Metric::sum || a.metric == Metric::distinct;
      if (adds) {
        EXPECT_LE(pair.number(pair.world),
                  pair.number(pair.always) + (how == Joining::level ? round + 1 : 0))
            << round;
      }
      if (how == Joining::renew || how == Joining::newest || how == Joining::gaps) {
        EXPECT_EQ(pair.read(pair.world), pair.read(pair.always)) << round;
      }
    }
  });
}

const Kind& kind_named(std::string_view name) {
  for (const Kind& kind : kinds()) {
    if (kind.name == name) return kind;
  }
  ADD_FAILURE() << name;
  return kinds().front();
}

TEST(Joining, ATotalOfBeforeTheWindowStaysOutOfIt) {
  Pair pair(kind_named("count_every"), kind_named("count_every"));  // of one hour, of two
  pair.events(7);
  pair.change();
  pair.events(7);
  pair.now = kStart + kHour;  // another hour of the same two
  pair.events(3);
  pair.change_back();
  EXPECT_EQ(pair.read(pair.world), "0") << "14 of the former hour are among the 17";
  // Where times are known, the hour has its own.
  Pair other(kind_named("count_every"), kind_named("count_log"));
  other.events(7);
  other.change();
  other.events(7);
  other.now = kStart + kHour;
  other.events(3);
  other.change_back();
  EXPECT_EQ(other.read(other.world), "3");
}

TEST(Joining, ACounterThatWasOpenAllTheTimeGivesOnlyWhatIsLacking) {
  const CounterSpec every = spec_of_hours(kind_named("count_every"), 1);
  const CounterSpec log = spec_of_hours(kind_named("count_log"), 1);
  Reloads world;
  std::int64_t now = kStart;
  const auto events = [&](int many) {
    for (int i = 0; i < many; ++i) {
      now += 1000;
      for (const auto& [name, id] : world.open)
        world.bank.charge(id, Hash128{9, 9}, from_ms(now), {}, nullptr, nullptr);
    }
  };
  world.reload({{1, every}, {2, log}});
  events(7);
  world.reload({{2, log}});
  now += 1000;  // the second of the reload is not told apart
  events(7);
  world.reload({{1, every}, {2, log}});
  EXPECT_EQ(world.bank.peek(world.open.at(1), Hash128{9, 9}, from_ms(now)).value.integer(), 14);
}

/// A rate or a burst that is changed continues with the level of the bucket.
TEST(Joining, ANewBucketIsAsFullAsTheOneBefore) {
  for (const char* name : {"count_leaky", "sum_leaky", "real_sum_leaky"}) {
    const Kind& kind = kind_named(name);
    CounterSpec before = spec_of_hours(kind, 1);
    before.capacity = 20;
    before.drain = milliseconds(60'000);
    CounterSpec after = before;
    after.capacity = 40;
    after.drain = milliseconds(120'000);
    CounterSpec small = before;
    small.capacity = 5;
    Reloads world;
    world.reload({{1, before}});
    for (int i = 0; i < 12; ++i)
      world.bank.charge(world.open.at(1), Hash128{9, 9}, from_ms(kStart), {}, nullptr, nullptr);
    const auto level = [&](int of, std::int64_t ms) {
      return world.bank.peek(world.open.at(of), Hash128{9, 9}, from_ms(ms)).value.as_real();
    };
    world.reload({{2, after}});
    EXPECT_EQ(level(2, kStart), 12) << name;
    EXPECT_EQ(level(2, kStart + 240'000), 10) << name << ": it drains as it says";
    world.reload({{3, small}});
    EXPECT_EQ(level(3, kStart), 5) << name << ": it holds no more";
    EXPECT_EQ(world.bank.peek(world.open.at(3), Hash128{8, 8}, from_ms(kStart)).value.as_real(), 0)
        << name << ": other keys are empty";
  }
}

TEST(Joining, ClosedCountersAreKnownByTheirIdentities) {
  Reloads world;
  const CounterSpec every = spec_of_hours(kind_named("count_every"), 1);
  CounterSpec other = every;
  other.length = milliseconds(2 * kHour);
  world.reload({{1, every}});
  EXPECT_TRUE(world.bank.closed().empty());
  world.reload({{2, other}});
  ASSERT_EQ(world.bank.closed().size(), 1U);
  EXPECT_EQ(world.bank.closed().front(), (Hash128{1, 1}));
  world.reload({{1, every}});
  EXPECT_EQ(world.bank.closed().front(), (Hash128{1, 2}));
}

/// A calendar has a state of its own: want of memory is an error of the reload, not the end of the
/// process.
TEST(Joining, WhatMakesACalendarMayLackMemory) {
  const CounterSpec spec;
  EXPECT_FALSE(noexcept(Rule::of(spec)));
  EXPECT_NE(Rule::of(spec_of_hours(kind_named("count_calendar"), 1)).calendar, nullptr);
}

}  // namespace
}  // namespace weir::limiter::joining_test
