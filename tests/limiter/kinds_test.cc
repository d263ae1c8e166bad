// Every row of the table of kinds against a naive list of events, over random schedules.
#include "limiter/kinds/kinds.h"

#include <gtest/gtest.h>

#include <cmath>
#include <iostream>
#include <map>
#include <random>
#include <string>

#include "limiter/counters/bank.h"
#include "tests/limiter/kind_models.h"
#include "tests/support/seed.h"

namespace weir::limiter::kinds_test {
namespace {

using test::agree, test::kClockSkew, test::kDay, test::NaiveCounter, test::Schedule, test::spelt;

class EveryKind : public testing::TestWithParam<Kind> {
 protected:
  CounterSpec spec(const Schedule& s) const { return test::spec_of(GetParam(), s); }
};

Amount random_amount(const CounterSpec& spec, std::mt19937_64& random) {
  Amount a;
  const bool amounts = spec.metric == Metric::sum || spec.metric == Metric::average ||
                       spec.metric == Metric::minimum || spec.metric == Metric::maximum;
  if (amounts) {
    const auto n = static_cast<std::int64_t>(random() % 20) + 1;
    a.amount = spec.real ? Number::real(static_cast<double>(n) / 4) : Number(n);
  }
  if (amounts && spec.metric != Metric::sum && random() % 4 == 0)
    a.amount = Number(std::int64_t{0}) - a.amount;
  if (spec.metric == Metric::distinct || spec.metric == Metric::exists) a.member = random() % 12;
  return a;
}

/// A value that `last` remembers: the datum's text refers to `text`.
Datum random_datum(std::mt19937_64& random, std::string& text) {
  Datum d;
  d.type = static_cast<Datum::Type>(random() % 4);
  d.boolean = random() % 2 == 0;
  d.number = random() % 2 == 0 ? Number(static_cast<std::int64_t>(random()) >> 3)
                               : Number::real(static_cast<double>(random() % 1000) / 8);
  text.assign(random() % 4 == 0 ? random() % 270 : random() % 20, static_cast<char>(random()));
  d.text = text;
  return d;
}

/// A step that likes edges: of buckets, of windows, and none at all.
std::int64_t random_step(const CounterSpec& spec, const Rule& rule, std::int64_t now,
                         std::mt19937_64& random) {
  const std::int64_t w = spec.window == Window::leaky ? spec.drain.count()
                         : spec.length.count() == 0   ? 31 * kDay
                                                      : spec.length.count();
  std::int64_t to_edge = rule.quantum - now % rule.quantum;
  if (spec.window == Window::calendar)
    to_edge = to_ms(spec.zone->span(spec.unit, from_ms(now)).end) - now;
  if (rule.aligned && spec.window == Window::every) to_edge = w - now % w;
  switch (random() % 12) {
    case 0:
      return 0;
    case 1:
      return 1;
    case 2:
      return to_edge;
    case 3:
      return to_edge - 1;
    case 4:
      return to_edge + 1;
    case 5:
      return random() % 20 == 0 ? w : 0;
    case 6:
      return random() % 20 == 0 ? w - 1 : 0;
    case 7:
      return random() % 20 == 0 ? w + 1 : 0;
    case 8:
      return random() % 40 == 0
                 ? w + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(3 * w))
                 : 0;
    default:
      return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(w / 8 + 2));
  }
}

#ifdef WEIR_SANITIZED
constexpr int kSteps =
    800;  // instrumented, for wrong memory: the plain build looks for wrong numbers
#else
constexpr int kSteps = 3000;
#endif

void run_schedule(const CounterSpec& spec, const Schedule& schedule, std::uint64_t seed) {
  SCOPED_TRACE(std::string(schedule.name) + ", seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  Bank bank({std::uint64_t{8} << 20, 1000});
  const CounterId id = bank.open({7, seed}, spec).value();
  const Hash128 key{random(), random()};
  const Rule rule = Rule::of(spec);
  NaiveCounter naive(spec);
  // (A bucket that drains a little later forgets its members later: no bound on distinct ones.)
  const bool clock_runs_evenly =
      (spec.window == Window::leaky && spec.metric == Metric::distinct) ||
      spec.window == Window::every || spec.window == Window::every_first ||
      spec.window == Window::calendar;
  const bool leaky = spec.window == Window::leaky;
  const bool counts =
      spec.metric == Metric::count || spec.metric == Metric::sum || spec.metric == Metric::distinct;
  std::int64_t latest = schedule.start;
  std::int64_t last_change = 0;
  int next_id = 1;
  std::map<int, std::pair<Undo, Amount>> open;

  for (int step = 0; step < kSteps; ++step) {
    latest += random_step(spec, rule, latest, random);
    // Another worker's clock may be some ms behind.
    const std::int64_t now = std::max<std::int64_t>(
        0, latest - (clock_runs_evenly || random() % 4 != 0
                         ? 0
                         : static_cast<std::int64_t>(random() % (kClockSkew + 1))));
    const TimePoint t = from_ms(now);
    Amount amount = random_amount(spec, random);
    std::string text;
    const Datum datum = random_datum(random, text);
    if (spec.metric == Metric::last) amount.datum = &datum;
    const bool reserved_too = !open.empty();

    const NaiveCounter::Value expected = naive.value(now, &amount, true);
    const Reading before = bank.peek(id, key, t, &amount);
    ASSERT_TRUE(agree(spec, before, before.value, expected))
        << "step " << step << " at " << now << ": " << spelt(spec, before) << " for "
        << spelt(expected);
    const NaiveCounter::Value settled = naive.value(now, &amount, false);
    if (settled.number && spec.metric != Metric::last) {
      ASSERT_TRUE(agree(spec, before, before.settled, settled))
          << "step " << step << ": settled " << before.settled.to_string() << " for "
          << spelt(settled);
    }
    const Reading without = bank.peek(id, key, t);
    ASSERT_TRUE(agree(spec, without, without.value, naive.value(now, nullptr, true)))
        << "step " << step << " without: " << spelt(spec, without) << " for "
        << spelt(naive.value(now, nullptr, true));
    const bool trailing = spec.window == Window::ring || spec.window == Window::log;
    if (!reserved_too && trailing && counts && now >= last_change) {  // of docs/accuracy.md
      const double w = static_cast<double>(spec.length.count());
      const double slack = spec.window == Window::ring ? w / spec.buckets : 0;
      ASSERT_LE(naive.truth(now, w, &amount), before.value);
      ASSERT_LE(before.value, naive.truth(now, w + slack, &amount));
    }

    const std::uint64_t what = random() % 10;
    const auto changed = [&] {
      naive.prune(now);
      last_change = std::max(last_change, now);
    };
    if (what < 5) {
      const Ceiling ceiling{Number(static_cast<std::int64_t>(random() % 30)), random() % 2 == 0};
      const bool limited = random() % 2 == 0;
      const bool over = limited && before.has_value && ceiling.broken_by(before.value);
      Undo undo;
      const Reading r = bank.charge(id, key, t, amount, limited ? &ceiling : nullptr, &undo);
      ASSERT_TRUE(agree(spec, r, r.value, expected));
      ASSERT_EQ(r.refused, over);
      ASSERT_EQ(r.stored, !over);
      changed();
      const int this_id = next_id++;
      if (r.stored) naive.charge(now, now, amount, this_id, spelt(datum));
      if (random() % 5 == 0 && r.stored) {
        bank.uncharge(id, key, undo);
        naive.uncharge(this_id);
      }
    } else if (what < 7 && spec.outcome) {
      const Ceiling ceiling{Number(static_cast<std::int64_t>(random() % 40)), false};
      const bool over = before.has_value && ceiling.broken_by(before.value);
      Undo undo;
      const Reading r = bank.reserve(id, key, t, amount, &ceiling, &undo);
      ASSERT_EQ(r.refused, over);
      ASSERT_EQ(r.in_flight, open.size());
      changed();
      if (r.stored) {
        naive.reserve(now, amount, next_id);
        open[next_id++] = {undo, amount};
      }
    } else if (what < 9 && !open.empty()) {
      auto it = std::next(open.begin(), static_cast<std::ptrdiff_t>(random() % open.size()));
      const bool matched = random() % 2 == 0;
      auto [undo, event] = it->second;
      if (spec.metric == Metric::last) event.datum = &datum;
      // A bucket settles late as if poured at its time; the model of that is in leaky_test.cc.
      const TimePoint event_time = leaky ? t : undo.at;
      if (!matched && random() % 2 == 0) {
        bank.uncharge(id, key, undo);
        naive.settle(it->first, now, now, false);
      } else {
        const Reading r = bank.settle(id, key, event_time, t, event, undo, matched);
        changed();
        // The level before capping: the bucket with the event.
        const NaiveCounter::Value poured = naive.value(now, &event, false);
        naive.settle(it->first, to_ms(event_time), now, matched, spelt(datum));
        const NaiveCounter::Value after =
            leaky && matched ? poured : naive.value(now, nullptr, false);
        ASSERT_TRUE(agree(spec, r, r.settled, after))
            << "step " << step << ": " << spelt(spec, r) << " for " << spelt(after);
        ASSERT_EQ(r.value, r.settled);
        ASSERT_EQ(r.in_flight, open.size() - 1);
      }
      open.erase(it);
    } else if (random() % 30 == 0) {
      bank.reset(id, key);
      naive.reset();
    }
  }
  for (const auto& [this_id, token] : open) bank.uncharge(id, key, token.first);
  bank.reset(id, key);
  EXPECT_EQ(bank.stats().keys, 0u) << "a key that holds nothing keeps a slot";
  EXPECT_EQ(bank.stats().memory_used, 0u) << "a block was lost";
}

TEST_P(EveryKind, AgreesWithANaiveListOfEvents) {
  if (GetParam().metric == Metric::in_flight) return;
  const std::int64_t wrap = std::int64_t{400} << 32;  // where 32-bit stamps of ms begin again
  const Schedule schedules[] = {
      {"a minute in 60 buckets", 1'700'000'000'000, 60'000, 60, false},
      {"a minute, with outcomes", 1'700'000'000'123, 60'000, 60, true},
      {"a second in 60 buckets", 1'700'000'000'000, 1000, 60, true},
      {"seven ms in three buckets", 1'700'000'000'000, 7, 3, false},
      {"one ms", 1'700'000'000'000, 1, 60, true},
      {"an hour in 3600 buckets", 1'700'000'000'000, 3'600'000, 3600, false},
      {"one bucket", 1'700'000'000'000, 10'000, 1, true},
      {"a minute over the wrap of the stamps", wrap - 100'000, 60'000, 60, true},
      {"31 days over the wrap of the stamps", wrap - 20 * kDay, 31 * kDay, 60, true},
      {"31 days in 3600 buckets", wrap - 20 * kDay, 31 * kDay, 3600, false},
      {"the epoch", 0, 60'000, 60, true},
      {"a minute of a retained hour", 1'700'000'000'123, 60'000, 60, true, 3'600'000},
      {"a second of a retained minute, in two buckets", 1'700'000'000'123, 1000, 2, false, 60'000},
  };
  const std::uint64_t seed = ::weir::test::new_seed();
  std::cout << GetParam().name << ": seed " << seed << '\n';
  for (const Schedule& s : schedules) {
    for (std::uint64_t n = 0; n < 3; ++n) {
      run_schedule(spec(s), s, seed + n);
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(EveryKind, HasANameAndHelpAndIsFoundByItsSpec) {
  EXPECT_FALSE(GetParam().help.empty());
  EXPECT_EQ(find_kind(spec({"", 0, 1000, 10, false}))->name, GetParam().name);
}

TEST_P(EveryKind, AKeyThatIsNotThereReadsNothingAndCostsNoSlot) {
  Bank bank({std::uint64_t{8} << 20, 1000});
  const CounterId id = bank.open({1, 1}, spec({"", 0, 1000, 10, false})).value();
  EXPECT_EQ(bank.peek(id, {5, 5}, from_ms(5000)).value, Number(0));
  const Metric metric = GetParam().metric;
  const bool earlier = metric == Metric::exists || metric == Metric::last;
  EXPECT_EQ(bank.peek(id, {5, 5}, from_ms(5000)).has_value,
            metric != Metric::average && metric != Metric::minimum && metric != Metric::maximum &&
                metric != Metric::last);
  const Amount one{GetParam().real ? Number::real(1) : Number(1), 3};
  EXPECT_EQ(bank.peek(id, {5, 5}, from_ms(5000), &one).value, Number(std::int64_t{!earlier}));
  EXPECT_EQ(bank.stats().keys, 0u);
  if (earlier) return;
  const Ceiling zero{Number(0), false};
  const Reading r = bank.charge(id, {5, 5}, from_ms(5000), one, &zero, nullptr);
  EXPECT_TRUE(r.refused);
  EXPECT_FALSE(r.stored);
  EXPECT_EQ(bank.stats().keys, 0u);
}

TEST_P(EveryKind, UndoRestoresExactly) {
  Bank bank({std::uint64_t{8} << 20, 1000});
  CounterSpec s = spec({"", 0, 1000, 10, false});
  s.keep = 8;
  const CounterId id = bank.open({1, 1}, s).value();
  const Hash128 key{5, 5};
  for (int n = 0; n < 40; ++n) {  // through every form of storage, and beyond `keep`
    const TimePoint now = from_ms(100'000 + n * 7);
    const std::string text(static_cast<std::size_t>(n * 6), 'x');
    Datum datum;
    datum.type = Datum::Type::text;
    datum.text = text;
    Amount amount{GetParam().real ? Number::real(0.1 * n + 0.7) : Number(n % 5 + 1),
                  static_cast<std::uint64_t>(n), &datum};
    if (GetParam().metric == Metric::count) amount.amount = 1;
    const auto look = [&](std::int64_t later) {
      return spelt(s, bank.peek(id, key, now + milliseconds(later), &amount));
    };
    const std::string before = look(0), before_later = look(800);
    Undo undo;
    bank.charge(id, key, now, amount, nullptr, &undo);
    bank.uncharge(id, key, undo);
    EXPECT_EQ(look(0), before) << n;
    EXPECT_EQ(look(800), before_later) << n << ": what only shows as time passes";
    bank.charge(id, key, now, amount, nullptr, nullptr);
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, EveryKind, testing::ValuesIn(kinds().begin(), kinds().end()),
                         [](const auto& row) { return std::string(row.param.name); });

TEST(Kinds, RefuseWhatIsOutOfRangeOrNotBuilt) {
  CounterSpec spec;
  EXPECT_NE(find_kind(spec), nullptr);
  spec.length = milliseconds(0);
  EXPECT_EQ(find_kind(spec), nullptr);
  spec.length = kWindowMax + milliseconds(1);
  EXPECT_EQ(find_kind(spec), nullptr);
  spec = {};
  spec.buckets = kBucketsMax + 1;
  EXPECT_EQ(find_kind(spec), nullptr);
  spec = {};
  spec.keep = 0;
  EXPECT_EQ(find_kind(spec), nullptr);
  spec = {};
  spec.metric = Metric::distinct;  // in a ring
  EXPECT_EQ(find_kind(spec), nullptr);
}

TEST(Windows, ARingsQuantumKeepsTheInequalityForEveryLength) {
  for (std::int64_t w = 1; w < 4000; w += w < 200 ? 1 : 37) {
    for (unsigned n : {1u, 2u, 3u, 7u, 10u, 60u, 100u, 3600u}) {
      const std::int64_t g = Rule::ring_quantum(w, n);
      const std::int64_t span = (w + g - 1) / g;
      EXPECT_GE(span * g, w);  // nothing younger than W is left out
      EXPECT_LT(static_cast<double>((span + 1) * g - 1),
                static_cast<double>(w) + static_cast<double>(w) / n)
          << w << "/" << n;
    }
  }
}

}  // namespace
}  // namespace weir::limiter::kinds_test
