// A new counter of the same `what` begins with what another keeps; against a naive list of events.
#include "limiter/counters/history_facts.h"

#include <gtest/gtest.h>

#include <iostream>
#include <map>
#include <random>
#include <set>

#include "limiter/counters/bank.h"
#include "limiter/kinds/kinds.h"
#include "tests/limiter/reloads.h"
#include "tests/support/seed.h"

namespace weir::limiter::history_facts_test {
namespace {

using test::Reloads;

constexpr std::int64_t kStart = 1'700'000'000'000;
constexpr Hash128 kWhat{3, 4};

CounterSpec spec_of(Metric metric, Window window, std::int64_t length, std::int64_t retain = 0) {
  CounterSpec spec;
  spec.metric = metric;
  spec.window = window;
  spec.length = milliseconds(length);
  spec.retain = milliseconds(retain);
  spec.what = kWhat;
  spec.keep = 5000;
  return spec;
}

CounterKey key_of(std::uint64_t i, bool near) {
  const double lon = 179.999 + 0.0005 * static_cast<double>(i % 5);  // over the meridian
  const double round = lon > 180 ? lon - 360 : lon;
  return near ? CounterKey({5, 5}, Place{0, round})
              : CounterKey(Hash128{(i % 5 + 1) * 7919, i % 5});
}

class Heirs : public testing::TestWithParam<Kind> {};

TEST_P(Heirs, ReadsWhatTheyWouldReadHadTheyAlwaysBeenThere) {
  const std::uint64_t seed = ::weir::test::new_seed();
  std::cout << GetParam().name << ": seed " << seed << '\n';
  std::mt19937_64 random(seed);
  const Kind& kind = GetParam();
  CounterSpec keeps = spec_of(kind.metric, kind.window, 10'000, 3'600'000);
  keeps.real = kind.real;
  if (kind.near) keeps.radius = 100;
  CounterSpec reads = keeps;
  reads.length = milliseconds(600'000);
  reads.retain = milliseconds(0);
  reads.buckets = 60;
  keeps.buckets = 10;  // quanta of 1 s, which add up to the 10 s of `reads`
  for (const bool closed : {false, true}) {
    Bank bank({std::uint64_t{16} << 20, 3000}), other({std::uint64_t{16} << 20, 3000});
    const CounterId from = bank.open({1, 1}, keeps).value();
    const CounterId always = other.open({1, 2}, reads).value();
    std::int64_t now = kStart;
    Amount event;
    const auto charge = [&](Bank& into, CounterId id, const CounterKey& key) {
      into.charge(id, key, from_ms(now), event, nullptr, nullptr);
    };
    for (int n = 0; n < 1500; ++n) {
      now += static_cast<std::int64_t>(random() % 2000);
      event.amount = kind.metric == Metric::count ? Number(1)
                     : kind.real ? Number::real(static_cast<double>(random() % 40) / 4)
                                 : Number(static_cast<std::int64_t>(random() % 20));
      event.member = random() % 12;
      const CounterKey key = key_of(random(), kind.near);
      charge(bank, from, key);
      charge(other, always, key);
    }
    if (closed) bank.close_unused({});
    const CounterId receiver = bank.open({1, 3}, reads).value();
    for (int n = 0; n < 600; ++n) {
      now += static_cast<std::int64_t>(random() % 3000);
      const CounterKey key = key_of(random(), kind.near);
      for (const bool with : {true, false}) {
        const Reading a = bank.peek(receiver, key, from_ms(now), with ? &event : nullptr);
        const Reading b = other.peek(always, key, from_ms(now), with ? &event : nullptr);
        ASSERT_EQ(a.has_value, b.has_value);
        ASSERT_EQ(a.value.to_string(), b.value.to_string()) << n;
      }
      if (random() % 3 != 0) continue;
      charge(bank, receiver, key);
      charge(other, always, key);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, Heirs, testing::ValuesIn([] {
                           std::vector<Kind> out;
                           for (const Kind& kind : kinds()) {
                             const bool trails =
                                 kind.window == Window::log || kind.window == Window::ring;
                             if (trails && kind.metric != Metric::last) out.push_back(kind);
                           }
                           return out;
                         }()),
                         [](const auto& row) { return std::string(row.param.name); });

TEST(OpenedAgain, ReadsWhatCameWhileItWasClosed) {
  for (const Window window : {Window::ring, Window::log}) {
    for (const std::int64_t other : {600'000, 7'200'000}) {
      Reloads world;
      const CounterSpec hour = spec_of(Metric::count, window, 3'600'000);
      const CounterSpec changed = spec_of(Metric::count, window, other);
      std::int64_t now = kStart;
      const auto seven = [&] {
        for (int n = 0; n < 7; ++n) world.charge(now += 10'000, Hash128{9, 9}, {});
      };
      world.reload({{1, hour}});
      seven();
      world.reload({{2, changed}});
      seven();
      world.reload({{1, hour}});
      const auto read = [&] {
        return world.bank.peek(world.open.at(1), Hash128{9, 9}, from_ms(now)).value.integer();
      };
      EXPECT_EQ(read(), 14) << other;
      seven();
      EXPECT_EQ(read(), 21) << other;
      // By way of two others, and with nothing in between.
      world.reload({{2, changed}});
      seven();
      world.reload({{3, spec_of(Metric::count, Window::log, 1'800'000)}});
      seven();
      world.reload({{1, hour}});
      world.reload({{2, changed}});
      world.reload({{1, hour}});
      EXPECT_EQ(read(), 35) << other;
    }
  }
}

std::int64_t read_of(const Reloads& world, int name, std::int64_t now) {
  return world.bank.peek(world.open.at(name), Hash128{9, 9}, from_ms(now)).value.integer();
}

/// Two windows were in force side by side, then none, then one: the other one, which comes back
/// last, has what they both counted before.
TEST(OpenedAgain, HasWhatBothCountedOnlyOnce) {
  Reloads world;
  std::int64_t now = kStart;
  const auto seven = [&] {
    for (int n = 0; n < 7; ++n) world.charge(now += 10'000, Hash128{9, 9}, {});
  };
  const CounterSpec hour = spec_of(Metric::count, Window::log, 3'600'000);
  const CounterSpec three = spec_of(Metric::count, Window::log, 10'800'000);
  world.reload({{1, hour}, {2, three}});
  seven();
  world.reload({});
  seven();
  world.reload({{1, hour}});
  seven();
  world.reload({{1, hour}, {2, three}});
  EXPECT_EQ(read_of(world, 1, now), 14);
  EXPECT_EQ(read_of(world, 2, now), 14);
}

/// While only fixed windows are in force, maintain() advances the clock of the others.
TEST(OpenedAgain, AlsoAfterALongTimeOfFixedWindows) {
  Reloads world;
  std::int64_t now = kStart;
  const auto seven = [&] {
    for (int n = 0; n < 7; ++n) world.charge(now += 10'000, Hash128{9, 9}, {});
  };
  const CounterSpec hours = spec_of(Metric::distinct, Window::log, 7'200'000);
  const CounterSpec hour = spec_of(Metric::distinct, Window::log, 3'600'000);
  world.reload({{1, hours}, {2, spec_of(Metric::distinct, Window::every, 86'400'000)}});
  seven();
  world.reload({{2, spec_of(Metric::distinct, Window::every, 86'400'000)}});
  now += 1'800'000;
  Amount event;
  event.member = 5;
  world.charge(now += 10'000, Hash128{9, 9}, event);
  world.bank.maintain(from_ms(now), from_ms(now));
  world.reload({{1, hours}, {3, hour}});
  EXPECT_EQ(read_of(world, 1, now), 2);
  EXPECT_EQ(read_of(world, 3, now), 2) << "the receiver of the one that is back";
}

/// Of two that cover what came meanwhile, the one that is still in force forgets more of it.
TEST(OpenedAgain, AsksWhoStillHasWhatCameFirst) {
  Reloads world;
  std::int64_t now = kStart;
  const auto seven = [&] {
    for (int n = 0; n < 7; ++n) world.charge(now += 240'000, Hash128{9, 9}, {});
  };
  const CounterSpec hour = spec_of(Metric::count, Window::log, 3'600'000);
  const CounterSpec two = spec_of(Metric::count, Window::log, 7'200'000);
  const CounterSpec three = spec_of(Metric::count, Window::log, 10'800'000);
  world.reload({{1, hour}, {3, three}});
  seven();
  world.reload({{1, hour}, {2, two}});
  seven();
  seven();
  world.reload({{1, hour}});
  seven();
  world.reload({{3, three}});
  EXPECT_EQ(read_of(world, 3, now), 28);
}

/// Two counters cover what came meanwhile, and both were in force for a part of it.
TEST(OpenedAgain, TakesWhatTwoOthersCountedOnce) {
  Reloads world;
  std::int64_t now = kStart;
  const auto seven = [&] {
    for (int n = 0; n < 7; ++n) world.charge(now += 10'000, Hash128{9, 9}, {});
  };
  const CounterSpec again = spec_of(Metric::count, Window::log, 7'200'000);
  const CounterSpec ring = spec_of(Metric::count, Window::ring, 3'600'000);
  CounterSpec log = spec_of(Metric::count, Window::log, 3'600'000);
  world.reload({{1, again}});
  seven();
  world.reload({{2, ring}});
  seven();
  world.reload({{2, ring}, {3, log}});
  now += 60'000;
  seven();
  world.reload({{3, log}});
  now += 60'000;
  seven();
  world.reload({{1, again}});
  EXPECT_EQ(read_of(world, 1, now), 28);
}

/// Of the oldest bucket the log that was in force meanwhile has the end alone.
TEST(OpenedAgain, TakesNothingBackForWhatAnotherHasForgotten) {
  Reloads world;
  std::int64_t now = kStart - kStart % 180'000 + 180'000;
  Amount event;
  event.amount = Number(1);
  const CounterSpec ring = spec_of(Metric::sum, Window::ring, 10'800'000);  // in parts of 180 s
  const CounterSpec log = spec_of(Metric::sum, Window::log, 3'600'000);
  world.reload({{1, ring}, {2, log}});
  for (int n = 0; n < 18; ++n) world.charge(now += 10'000, Hash128{9, 9}, event);
  world.reload({{2, log}});
  for (int n = 0; n < 7; ++n) world.charge(now += 10'000, Hash128{9, 9}, event);
  now += 3'600'000 - 170'000;  // the log has forgotten some of the first part
  world.bank.maintain(from_ms(now), from_ms(now));
  world.reload({{1, ring}, {2, log}});
  EXPECT_LT(read_of(world, 2, now), 18);
  EXPECT_EQ(read_of(world, 1, now), 25);
}

/// Windows with parts that do not lie in each other take turns. A copy is at the end of the
/// part in which the other counter has the event, which a third counter has in another part. Counts
/// of such copies of copies may be too low, and an event may stay longer, but never counts twice.
TEST(OpenedAgain, CountsNothingTwiceWhateverThePartsAre) {
  const std::uint64_t seed = ::weir::test::new_seed();
  std::cout << "seed " << seed << '\n';
  std::mt19937_64 random(seed);
  for (int run = 0; run < 60; ++run) {
    const bool in_turns = run % 2 == 0;
    const auto windows = static_cast<std::size_t>(2 + run % 6);
    const std::int64_t step = std::int64_t{50} << random() % 8;  // ms
    std::vector<CounterSpec> specs;
    std::int64_t longest = 0;
    for (std::size_t n = 0; n < windows; ++n) {
      const auto minutes = static_cast<std::int64_t>(in_turns ? n + 1 : 1 + random() % 9);
      specs.push_back(spec_of(run % 3 == 0 ? Metric::sum : Metric::count, Window::ring,
                              60'000 * minutes, 3'600'000));
      longest = std::max(longest, 60'000 * minutes);
    }
    Reloads world;
    std::vector<std::int64_t> all;
    std::int64_t now = kStart;
    Amount event;
    event.amount = Number(1);
    for (std::size_t n = 0; n < 400; ++n) {
      const std::size_t at = in_turns ? n % windows : random() % windows;
      world.reload({{static_cast<int>(at) + 1, specs[at]}});
      const std::int64_t read = read_of(world, static_cast<int>(at) + 1, now);
      const std::int64_t length = specs[at].length.count() + longest;
      ASSERT_LE(read, std::count_if(all.begin(), all.end(),
                                    [&](std::int64_t ms) { return ms > now - length; }))
          << "run " << run << ", step " << n;
      for (std::uint64_t more = random() % 3; more-- != 0;) {
        all.push_back(now += step);
        world.charge(now, Hash128{9, 9}, event);
      }
    }
  }
}

/// Any reloads of any windows over the same events: nothing that is in the window is ever missing,
/// and of logs nothing is counted twice.
class AnyReloads : public testing::TestWithParam<Kind> {};

TEST_P(AnyReloads, LoseNothingThatAnOpenCounterHeard) {
  const std::uint64_t seed = ::weir::test::new_seed();
  std::cout << GetParam().name << ": seed " << seed << '\n';
  std::mt19937_64 random(seed);
  const Kind& kind = GetParam();
  for (int run = 0; run < 30; ++run) {
    Reloads world;
    std::map<int, CounterSpec> specs;
    for (int name = 1; name <= 4; ++name) {
      specs[name] = spec_of(kind.metric, kind.window, 300'000 * name, 3'600'000);
      specs[name].real = kind.real;
      specs[name].buckets = 10U * static_cast<unsigned>(name);  // of 30 s each
    }
    struct Event {
      std::int64_t ms;
      std::uint64_t key;
      Amount event;
    };
    std::vector<Event> all;
    std::int64_t now = kStart;
    for (int n = 0; n < 300; ++n) {
      if (n == 0 || random() % 20 == 0) {
        std::map<int, CounterSpec> some;
        while (some.empty()) {
          for (const auto& [name, spec] : specs) {
            if (random() % 3 == 0) some[name] = spec;
          }
        }
        world.reload(some);
        for (const auto& [name, id] : world.open) {
          for (std::uint64_t key = 0; key < 3; ++key) {
            std::int64_t count = 0, sum = 0;
            std::set<std::uint64_t> members;
            std::int64_t longer = 0;  // with a part more
            const std::int64_t length = specs[name].length.count();
            for (const Event& event : all) {
              if (event.key != key) continue;
              const std::int64_t part = kind.window == Window::ring ? 30'000 : 0;
              if (event.ms > now - length - part) ++longer;
              if (event.ms <= now - length) continue;
              ++count;
              sum += static_cast<std::int64_t>(event.event.amount.as_real());
              members.insert(event.event.member);
            }
            const Reading read = world.bank.peek(id, Hash128{key, 1}, from_ms(now));
            const auto value = static_cast<std::int64_t>(read.value.as_real());
            if (kind.metric == Metric::distinct) {
              ASSERT_EQ(value, static_cast<std::int64_t>(members.size())) << run << " " << n;
            } else if (kind.metric == Metric::sum) {
              ASSERT_GE(value, sum) << run << " " << n;
              if (kind.window == Window::log) {
                ASSERT_EQ(value, sum) << run << " " << n;
              }
            } else if (kind.metric == Metric::count) {
              ASSERT_GE(value, count) << run << " " << n;
              ASSERT_LE(value, longer) << run << " " << n;
            } else if (kind.metric == Metric::average && count != 0) {
              ASSERT_DOUBLE_EQ(read.value.as_real(),
                               static_cast<double>(sum) / static_cast<double>(count))
                  << run << " " << n;
            }
          }
        }
      }
      now += static_cast<std::int64_t>(random() % 4'000);
      Event event{now, random() % 3, {}};
      event.event.amount = kind.metric == Metric::count ? Number(1)
                           : kind.real ? Number::real(static_cast<double>(random() % 20))
                                       : Number(static_cast<std::int64_t>(random() % 20));
      event.event.member = random() % 12;
      all.push_back(event);
      world.charge(now, Hash128{event.key, 1}, event.event);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, AnyReloads, testing::ValuesIn([] {
                           std::vector<Kind> out;
                           for (const Kind& kind : kinds()) {
                             const bool trails =
                                 kind.window == Window::log || kind.window == Window::ring;
                             if (trails && !kind.near && kind.metric != Metric::last)
                               out.push_back(kind);
                           }
                           return out;
                         }()),
                         [](const auto& row) { return std::string(row.param.name); });

std::int64_t inherited(const CounterSpec& from, const CounterSpec& to) {
  Bank bank({std::uint64_t{8} << 20, 1000});
  const CounterId source = bank.open({1, 1}, from).value();
  for (int n = 0; n < 10; ++n)
    bank.charge(source, Hash128{9, 9}, from_ms(kStart + n), {}, nullptr, nullptr);
  const CounterId receiver = bank.open({1, 2}, to).value();
  return bank.peek(receiver, Hash128{9, 9}, from_ms(kStart + 20)).value.integer();
}

TEST(HistoryFacts, AClosedCounterFillsInOnlyWhatAnOpenOneLacks) {
  for (const bool again : {false, true}) {
    Bank bank({std::uint64_t{8} << 20, 1000});
    const CounterSpec day = spec_of(Metric::count, Window::log, 86'400'000);
    const CounterSpec hour = spec_of(Metric::count, Window::log, 3'600'000);
    const CounterId longer = bank.open({1, 1}, day).value();
    const CounterId shorter = bank.open({1, 2}, hour).value();
    const Hash128 both{7, 7}, early{8, 8};
    const auto charge = [&](CounterId id, const Hash128& key, std::int64_t ms) {
      bank.charge(id, key, from_ms(kStart + ms), {}, nullptr, nullptr);
    };
    charge(longer, both, 0);
    charge(shorter, both, 0);
    charge(longer, early, 0);
    const CounterId used[] = {shorter};
    bank.close_unused(used);
    for (int n = 1; n <= 5; ++n) charge(shorter, both, n * 60'000);
    // Opened once more, it lacks those minutes all the same.
    if (again) {
      EXPECT_EQ(bank.open({1, 1}, day).value(), longer);
    }
    const CounterId receiver =
        bank.open({1, 3}, spec_of(Metric::count, Window::ring, 3'600'000)).value();
    const auto value = [&](const Hash128& key) {
      return bank.peek(receiver, key, from_ms(kStart + 600'000)).value.integer();
    };
    EXPECT_EQ(value(both), 6) << again;
    EXPECT_EQ(value(early), 1) << again;
  }
}

TEST(HistoryFacts, OnlyWhatFits) {
  const CounterSpec hour = spec_of(Metric::count, Window::log, 3'600'000);
  EXPECT_EQ(inherited(hour, spec_of(Metric::count, Window::log, 60'000)), 10);
  EXPECT_EQ(inherited(hour, spec_of(Metric::count, Window::ring, 60'000)), 10);
  EXPECT_EQ(inherited(spec_of(Metric::count, Window::log, 60'000), hour), 0)
      << "longer than what is kept";
  EXPECT_EQ(inherited(spec_of(Metric::count, Window::log, 60'000, 3'600'000), hour), 10);
  EXPECT_EQ(inherited(spec_of(Metric::count, Window::ring, 3'600'000),
                      spec_of(Metric::count, Window::log, 60'000)),
            0)
      << "buckets have no exact times";
  EXPECT_EQ(inherited(spec_of(Metric::count, Window::ring, 3'600'000),
                      spec_of(Metric::count, Window::ring, 600'000)),
            0)
      << "a minute is not a part of ten seconds";
  EXPECT_EQ(inherited(spec_of(Metric::count, Window::ring, 600'000, 7'200'000),
                      spec_of(Metric::count, Window::ring, 3'600'000)),
            10);
  EXPECT_EQ(inherited(hour, spec_of(Metric::sum, Window::log, 60'000)), 0) << "another metric";
  EXPECT_EQ(inherited(hour, spec_of(Metric::count, Window::every, 60'000)), 0);
  CounterSpec other = spec_of(Metric::count, Window::log, 60'000);
  other.what = {5, 5};
  EXPECT_EQ(inherited(hour, other), 0) << "another thing";
  CounterSpec none = hour, receiver = other;
  none.what = receiver.what = {};
  EXPECT_EQ(inherited(none, receiver), 0) << "of nothing else's";
}

TEST(HistoryFacts, TheLongestHistoryWinsAndOthersFillIn) {
  Bank bank({std::uint64_t{8} << 20, 1000});
  const auto charge = [&](CounterId id, std::uint64_t key, std::int64_t ms) {
    bank.charge(id, Hash128{key, 9}, from_ms(kStart + ms), {}, nullptr, nullptr);
  };
  const CounterId old = bank.open({1, 1}, spec_of(Metric::count, Window::ring, 3'600'000)).value();
  for (int n = 0; n < 10; ++n) charge(old, 1, n * 60'000);
  // Keeps longer, but could not tell the times of a ring's events: it began with nothing.
  const CounterId young =
      bank.open({1, 2}, spec_of(Metric::count, Window::log, 60'000, 86'400'000)).value();
  charge(old, 1, 600'000);
  charge(young, 1, 600'000);
  charge(young, 2, 600'000);
  CounterSpec spec = spec_of(Metric::count, Window::ring, 1'800'000);
  spec.buckets = 30;  // of a minute, as the old one's
  const CounterId receiver = bank.open({1, 3}, spec).value();
  const TimePoint now = from_ms(kStart + 600'000);
  EXPECT_EQ(bank.peek(receiver, Hash128{1, 9}, now).value, Number(11));
  EXPECT_EQ(bank.peek(receiver, Hash128{2, 9}, now).value, Number(1));
  EXPECT_EQ(bank.peek(old, Hash128{1, 9}, now).value, Number(11)) << "the other keeps its own";
}

TEST(HistoryFacts, ComesWithASnapshotWhereTheWindowHasChangedMeanwhile) {
  for (const bool same : {true, false}) {
    Bank bank({std::uint64_t{8} << 20, 1000}), other({std::uint64_t{8} << 20, 1000});
    const CounterId source =
        bank.open({1, 1}, spec_of(Metric::count, Window::log, 60'000, 3'600'000)).value();
    for (int n = 0; n < 10; ++n)
      bank.charge(source, Hash128{9, 9}, from_ms(kStart + n * 60'000), {}, nullptr, nullptr);
    std::string bytes;
    const TimePoint now = from_ms(kStart + 600'000);
    Bank::Snapshot snapshot(bank, now, now);
    while (snapshot.next(bytes)) {
    }
    const CounterId again =
        same ? other.open({1, 1}, spec_of(Metric::count, Window::log, 60'000, 3'600'000)).value()
             : CounterId{};
    const CounterId half =
        other.open({1, 3}, spec_of(Metric::count, Window::log, 1'800'000)).value();
    const CounterId two =
        other.open({1, 4}, spec_of(Metric::count, Window::ring, 7'200'000)).value();
    ASSERT_TRUE(other.import(bytes, now, now));
    EXPECT_EQ(other.peek(half, Hash128{9, 9}, now).value, Number(10));
    EXPECT_EQ(other.peek(two, Hash128{9, 9}, now).value, Number(0)) << "longer than what was kept";
    if (!same) continue;
    EXPECT_EQ(other.peek(again, Hash128{9, 9}, now).value, Number(0))
        << "its own window is a minute";
    const CounterId later =
        other.open({1, 5}, spec_of(Metric::count, Window::log, 3'600'000)).value();
    EXPECT_EQ(other.peek(later, Hash128{9, 9}, now).value, Number(10))
        << "what is retained came back too";
  }
}

}  // namespace
}  // namespace weir::limiter::history_facts_test
