// Counters that no policy uses come over a restart as they come over a reload; against a naive list
// of events, and against a process that was never restarted.
#include <gtest/gtest.h>

#include <iostream>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "core/calendar.h"
#include "limiter/counters/bank.h"
#include "limiter/kinds/kinds.h"
#include "limiter/lists/lists.h"
#include "limiter/memory/frame.h"
#include "tests/limiter/naive.h"
#include "tests/limiter/reloads.h"
#include "tests/support/seed.h"

namespace weir::limiter::restart_test {
namespace {

constexpr std::int64_t kStart = 1'700'000'000'000;  // 22:13:20 UTC
constexpr std::int64_t kHour = 3'600'000;
constexpr BankLimits kLimits{std::uint64_t{16} << 20, 3000};

CounterSpec spec_of(const Kind& kind, std::int64_t hours = 1) {
  return test::spec_of_hours(kind, hours, "Asia/Shanghai");
}

const Kind& kind_named(std::string_view name) {
  for (const Kind& kind : kinds()) {
    if (kind.name == name) return kind;
  }
  ADD_FAILURE() << name;
  return kinds().front();
}

std::string snapshot_of(const Bank& bank, TimePoint now) {
  std::string out;
  Bank::Snapshot snapshot(bank, now, now);
  while (snapshot.next(out, 4096)) {
  }
  return out;
}

using Specs = std::map<int, CounterSpec>;  // by the names of the policies

/// Processes one after the other, each with the counters of its policies.
struct Site {
  explicit Site(BankLimits with = kLimits) : limits(with), bank(std::make_unique<Bank>(with)) {}

  void use(const Specs& specs) {
    std::map<int, CounterId> next;
    {
      const Bank::Opening opening(*bank);
      for (const auto& [name, spec] : specs)
        next[name] =
            bank->open({1, static_cast<std::uint64_t>(name)}, spec, own_keys[name]).value();
    }
    open = std::move(next);
  }
  void maintain(std::int64_t now) { bank->maintain(from_ms(now), from_ms(now)); }
  void reload(const Specs& specs, std::int64_t now) {
    maintain(now);  // as every second
    use(specs);
    std::vector<CounterId> used;
    for (const auto& [name, id] : open) used.push_back(id);
    bank->close_unused(used);
  }
  /// With these policies in the files.
  void restart(const Specs& specs, std::int64_t now, bool maintained = true) {
    if (maintained) maintain(now);
    const std::string bytes = snapshot_of(*bank, from_ms(now));
    bank = std::make_unique<Bank>(limits);
    use(specs);
    ASSERT_TRUE(bank->import(bytes, from_ms(now), from_ms(now)));
  }
  void charge(std::int64_t ms, const CounterKey& key, const Amount& event) {
    for (const auto& [name, id] : open) bank->charge(id, key, from_ms(ms), event, nullptr, nullptr);
  }
  void charge(int name, std::int64_t ms, const CounterKey& key, const Amount& event) {
    if (open.contains(name)) bank->charge(open[name], key, from_ms(ms), event, nullptr, nullptr);
  }
  Reading read(int name, std::int64_t ms, const CounterKey& key,
               const Amount* event = nullptr) const {
    return bank->peek(open.at(name), key, from_ms(ms), event);
  }
  bool holds(int name) const {
    const std::vector<Hash128> closed = bank->closed();
    return std::find(closed.begin(), closed.end(), Hash128{1, static_cast<std::uint64_t>(name)}) !=
           closed.end();
  }

  BankLimits limits;
  std::map<int, std::size_t> own_keys;
  std::unique_ptr<Bank> bank;
  std::map<int, CounterId> open;
};

/// Events of any kind, as different as matters.
struct Events {
  explicit Events(const Kind& of_kind) : kind(of_kind) {}

  const Kind& kind;
  int n = 0;
  std::string text;
  Datum datum;

  Amount next() { return of(n++); }
  Amount of(int i) {
    Amount event;
    if (takes_amount(kind.metric))
      event.amount = kind.real ? Number::real(0.5 + i % 5) : Number(1 + i % 5);
    event.member = static_cast<std::uint64_t>(i % 11);
    text = "datum " + std::to_string(i);
    datum.type = Datum::Type::text;
    datum.text = text;
    event.datum = &datum;
    return event;
  }
};

std::string spelt(const Reading& r) {
  if (!r.has_value) return "none";
  return r.datum != nullptr ? std::string(r.datum->text) : r.value.to_string();
}
std::string spelt(const test::NaiveCounter::Value& value) {
  return value.number ? value.number->to_string() : value.datum.empty() ? "none" : value.datum;
}

const Hash128 kKey{9, 9};

class Restart : public testing::TestWithParam<Kind> {};

/// Disabled, or taken out of the file, and back after a restart: its counts are there.
TEST_P(Restart, LosesNothingOfAPolicyThatIsNotInForce) {
  const CounterSpec spec = spec_of(GetParam());
  CounterSpec other = spec_of(kind_named("count_log"));
  other.what = {7, 7};
  // When the policy leaves, and when it comes back: by a reload, or with the restart.
  for (const bool leaves_before : {true, false}) {
    for (const bool back_at_once : {true, false}) {
      if (!leaves_before && back_at_once) continue;  // it never left
      SCOPED_TRACE(leaves_before ? "leaves before" : "leaves with the restart");
      SCOPED_TRACE(back_at_once ? "comes back with it" : "comes back after");
      Site site;
      Events events(GetParam());
      test::NaiveCounter naive(spec);
      std::int64_t now = kStart;
      const auto seven = [&] {
        for (int i = 0; i < 7; ++i) {
          now += 1000;
          const Amount event = events.next();
          site.charge(1, now, kKey, event);
          site.charge(2, now, kKey, {});
          if (site.open.contains(1)) naive.charge(now, now, event, events.n, events.text);
        }
      };
      const auto expect_same = [&] {
        const Amount event = events.of(3);
        const bool asks = GetParam().metric == Metric::exists;
        const Reading read = site.read(1, now, kKey, asks ? &event : nullptr);
        const auto truth = naive.value(now, asks ? &event : nullptr, false);
        if (GetParam().window == Window::leaky) {  // drained in two steps, or in one
          EXPECT_NEAR(read.value.as_real(), truth.number->as_real(), 1e-6);
        } else {
          EXPECT_EQ(spelt(read), spelt(truth));
        }
      };
      site.reload({{1, spec}, {2, other}}, now);
      seven();
      seven();
      expect_same();
      if (leaves_before) site.reload({{2, other}}, now);
      seven();
      site.restart(back_at_once ? Specs{{1, spec}, {2, other}} : Specs{{2, other}}, now);
      if (!back_at_once) {
        EXPECT_TRUE(site.holds(1));
        now += 600'000;
        seven();
        site.restart({{2, other}}, now);  // and once more
        site.reload({{1, spec}, {2, other}}, now);
      }
      expect_same();
      seven();
      expect_same();
      EXPECT_EQ(site.read(2, now, kKey).value, Number(events.n)) << "the other one counts all";
    }
  }
}

/// A window that is changed and changed back: a restart in between, or instead of a reload, changes
/// no reading.
TEST_P(Restart, OfChangedWindowsIsAsAReload) {
  const Kind& a = GetParam();
  for (const Kind& b : kinds()) {
    if (a.metric != b.metric || a.real != b.real || a.near || b.near) continue;
    SCOPED_TRACE(std::string(a.name) + ", changed to " + std::string(b.name) + " and back");
    const Specs to{{1, spec_of(a, 1)}}, fro{{2, spec_of(b, 2)}};
    for (int where = 0; where < 32; ++where) {
      Site site, always;
      Events events(a);
      std::int64_t now = kStart;
      const auto seven = [&] {
        for (int i = 0; i < 7; ++i) {
          now += 1000;
          const Amount event = events.next();
          for (Site* const each : {&site, &always}) each->charge(now, kKey, event);
        }
      };
      const auto change = [&](const Specs& specs, bool by_restart) {
        if (by_restart) {
          site.restart(specs, now);
        } else {
          site.reload(specs, now);
        }
        always.reload(specs, now);
      };
      change(to, false);
      seven();
      if ((where & 1) != 0) site.restart(to, now);
      change(fro, (where & 2) != 0);
      seven();
      if ((where & 4) != 0) site.restart(fro, now);
      change(to, (where & 8) != 0);
      if ((where & 16) != 0) site.restart(to, now);
      for (int round = 0; round < 2; ++round) {
        const Amount event = events.of(3);
        const Amount* const asked = a.metric == Metric::exists ? &event : nullptr;
        const Reading one = site.read(1, now, kKey, asked);
        const std::string told = spelt(one);
        const double value = one.value.as_real();
        const Reading other = always.read(1, now, kKey, asked);
        if (a.window == Window::leaky) {
          EXPECT_NEAR(value, other.value.as_real(), 1e-6) << where;
        } else {
          EXPECT_EQ(told, spelt(other)) << where;
        }
        seven();
      }
    }
  }
}

std::vector<Kind> lasting_kinds() {
  std::vector<Kind> out;
  for (const Kind& kind : kinds()) {
    if (kind.metric != Metric::in_flight) out.push_back(kind);
  }
  return out;
}
INSTANTIATE_TEST_SUITE_P(Kinds, Restart, testing::ValuesIn(lasting_kinds()),
                         [](const auto& row) { return std::string(row.param.name); });

/// Any policies, any reloads, any restarts.
TEST(Restarts, AtAnyTimeChangeNothing) {
  const std::uint64_t seed = ::weir::test::new_seed();
  std::cout << "seed " << seed << '\n';
  std::mt19937_64 random(seed);
  const std::vector<Kind> all = lasting_kinds();
  for (int run = 0; run < 150; ++run) {
    const Metric metric = all[random() % all.size()].metric;
    Specs specs;
    for (int name = 1; name <= 5;) {
      const Kind& kind = all[random() % all.size()];
      if (kind.metric != metric || kind.real || kind.near || kind.window == Window::leaky) continue;
      CounterSpec spec = spec_of(kind, 1 + static_cast<std::int64_t>(random() % 3));
      if (random() % 4 == 0) spec.what = {8, 8};
      specs[name++] = spec;
    }
    Site site, always;
    Events events(kind_named("last_log"));
    std::int64_t now = kStart;
    std::string story;
    for (const auto& [name, spec] : specs)
      story += std::to_string(name) + ": " + std::string(find_kind(spec)->name) + " " +
               std::to_string(spec.length.count()) + " " + std::to_string(spec.what.lo) + "\n";
    for (int step = 0; step < 60; ++step) {
      Specs some;
      for (const auto& [name, spec] : specs) {
        if (random() % 2 == 0) some[name] = spec;
      }
      now += 1000 - now % 1000;  // a reload tells no parts of a second apart
      if (step == 0 || random() % 3 == 0) {
        always.reload(some, now);
        story += std::to_string(step) + " " + std::to_string(now - kStart) + ":";
        for (const auto& [name, spec] : some) story += " " + std::to_string(name);
        if (random() % 2 == 0) {
          story += " restart";
          site.restart(some, now);
        } else {
          site.reload(some, now);
        }
        story += "\n";
      } else if (random() % 5 == 0) {
        Specs same;
        for (const auto& [name, id] : site.open) same[name] = specs[name];
        site.restart(same, now);
      }
      for (Site* const each : {&site, &always}) each->maintain(now);
      for (int i = 0; i < 8; ++i) {
        now += static_cast<std::int64_t>(random() % 100'000);
        const CounterKey key(Hash128{random() % 3, 5});
        const Amount event = events.next();
        for (Site* const each : {&site, &always}) {
          each->maintain(now);
          each->charge(now, key, event);
        }
      }
      for (const auto& [name, id] : site.open) {
        for (std::uint64_t key = 0; key < 3; ++key) {
          const Amount event = events.of(3);
          const std::string told = spelt(site.read(name, now, Hash128{key, 5}, &event));
          ASSERT_EQ(told, spelt(always.read(name, now, Hash128{key, 5}, &event)))
              << run << " " << step << " " << name << " key " << key << "\n"
              << story;
        }
      }
    }
  }
}

TEST(Restarts, DoNotPutOffWhenClosedCountersAreGivenUp) {
  const CounterSpec spec = spec_of(kind_named("count_log"));
  for (const std::int64_t restarted_after : {0L, 1'800'000L, kHour + 60'000}) {
    Site site;
    site.reload({{1, spec}}, kStart);
    site.charge(kStart, kKey, {});
    site.reload({}, kStart);
    if (restarted_after != 0) site.maintain(kStart + 1'000);
    site.restart({}, kStart + restarted_after, false);
    EXPECT_TRUE(site.holds(1));
    if (restarted_after < kHour) {
      site.maintain(kStart + kHour);
      EXPECT_TRUE(site.holds(1));
    }
    site.maintain(kStart + kHour + 10'000);
    EXPECT_FALSE(site.holds(1)) << restarted_after;
  }
}

TEST(Restarts, KeepTheOrderInWhichClosedCountersAreGivenUp) {
  Site site({std::uint64_t{16} << 20, 1'000});
  const CounterSpec spec = spec_of(kind_named("count_log"), 24);
  for (int name = 1; name <= 4; ++name) site.own_keys[name] = 100'000;
  site.reload({{1, spec}, {2, spec}, {3, spec}}, kStart);
  site.charge(kStart, kKey, {});
  site.reload({{1, spec}, {3, spec}}, kStart);
  site.reload({{3, spec}}, kStart);
  site.restart({{3, spec}}, kStart);
  EXPECT_TRUE(site.holds(1) && site.holds(2));
  site.use({{3, spec}, {4, spec}});
  EXPECT_FALSE(site.holds(2)) << "closed first";
  EXPECT_TRUE(site.holds(1));
  EXPECT_EQ(site.read(3, kStart, kKey).value, Number(1));
  // Where there is no room for all, the one that was closed last is there.
  site.restart({{3, spec}, {4, spec}}, kStart);
  EXPECT_TRUE(site.holds(1));
  site.reload({{4, spec}}, kStart);
  site.restart({{4, spec}, {2, spec}}, kStart);
  EXPECT_TRUE(site.holds(3));
  EXPECT_FALSE(site.holds(1));
}

/// Where the table has become smaller, closed counters get what the others leave.
TEST(Restarts, GiveClosedCountersNoRoomThatOthersNeed) {
  const CounterSpec spec = spec_of(kind_named("count_log"));
  Site site;
  site.reload({{1, spec}, {2, spec}}, kStart);
  for (std::uint64_t key = 0; key < 1'000; ++key)
    site.charge(kStart, Hash128{key * 0x9E37'79B9'7F4A'7C15U, key}, {});
  site.reload({{2, spec}}, kStart);
  site.limits.keys = 1'000;
  site.restart({{2, spec}}, kStart);
  const BankStats stats = site.bank->stats();
  EXPECT_EQ(stats.evicted, 0U);
  EXPECT_GT(stats.keys, 1'000U);
  EXPECT_LT(stats.keys, 2'000U);
  for (std::uint64_t key = 0; key < 1'000; ++key)
    ASSERT_EQ(site.read(2, kStart, Hash128{key * 0x9E37'79B9'7F4A'7C15U, key}).value, Number(1));
}

/// In the shape that earlier builds wrote: the open counters alone.
std::string as_before(std::string_view bytes, const std::vector<CounterSpec>& specs) {
  std::string out;
  while (const auto frame = take_frame(bytes)) {
    if (frame->kind != 'C') {
      append_frame(out, frame->kind, frame->payload);
      continue;
    }
    std::string begin;
    put(begin, kStart);
    put(begin, kStart);
    put(begin, static_cast<std::uint32_t>(specs.size()));
    for (std::size_t i = 0; i < specs.size(); ++i) {
      const Rule rule = Rule::of(specs[i]);
      put(begin, static_cast<std::uint16_t>(i));
      put(begin, std::uint64_t{1});
      put(begin, std::uint64_t{i + 1});
      put(begin, static_cast<std::uint8_t>(specs[i].metric));
      put(begin, static_cast<std::uint8_t>(specs[i].window));
      put(begin, static_cast<std::uint8_t>(specs[i].real));
      put(begin, static_cast<std::uint32_t>(rule.quantum));
      put(begin, rule.length);
      put(begin, specs[i].what.lo);
      put(begin, specs[i].what.hi);
      put(begin, rule.span + 1);
    }
    append_frame(out, 'B', begin);
  }
  return out;
}

TEST(Restarts, ReadWhatEarlierBuildsWrote) {
  const CounterSpec log = spec_of(kind_named("count_log"), 2);
  const CounterSpec every = spec_of(kind_named("count_every"));
  Site site;
  site.reload({{1, log}, {2, every}}, kStart);
  for (int i = 0; i < 7; ++i) site.charge(kStart, kKey, {});
  const std::string bytes = as_before(snapshot_of(*site.bank, from_ms(kStart)), {log, every});
  Site next;
  next.use({{1, log}, {2, every}, {3, spec_of(kind_named("count_log"))}});
  ASSERT_EQ(next.bank->import(bytes, from_ms(kStart), from_ms(kStart)).value(), 3U);
  EXPECT_EQ(next.read(1, kStart, kKey).value, Number(7));
  EXPECT_EQ(next.read(2, kStart, kKey).value, Number(7));
  EXPECT_EQ(next.read(3, kStart, kKey).value, Number(7)) << "the receiver of the log";
  Site none;
  none.use({{1, log}});
  EXPECT_EQ(none.bank->import(bytes, from_ms(kStart), from_ms(kStart)).value(), 1U);
  EXPECT_TRUE(none.bank->closed().empty());
  for (std::size_t n = 0; n < bytes.size(); ++n)
    EXPECT_FALSE(
        none.bank->import(std::string_view(bytes).substr(0, n), from_ms(kStart), from_ms(kStart)))
        << n;
}

/// Sums that are right and contents that are not: refused, and nothing changes.
TEST(Restarts, RefuseWhatMakesNoSense) {
  const CounterSpec log = spec_of(kind_named("count_log"));
  Site site;
  site.reload({{1, log}, {2, log}}, kStart);
  site.charge(kStart, kKey, {});
  site.reload({{2, log}}, kStart);
  const std::string bytes = snapshot_of(*site.bank, from_ms(kStart));
  std::string_view rest = bytes;
  const std::string begin(take_frame(rest)->payload);
  std::size_t refused = 0;
  for (std::size_t at = 0; at < begin.size(); ++at) {
    for (const int flip : {1, 4, 128, 255}) {
      std::string payload = begin;
      payload[at] = static_cast<char>(payload[at] ^ flip);
      std::string changed;
      append_frame(changed, 'C', payload);
      changed.append(rest);
      Site next;
      next.use({{2, log}});
      const auto taken = next.bank->import(changed, from_ms(kStart), from_ms(kStart));
      if (taken) {  // another counter than it was, which is no obstacle
        next.reload({{1, log}, {2, log}}, kStart);
        continue;
      }
      ++refused;
      EXPECT_EQ(taken.error(), Error::malformed);
      EXPECT_EQ(next.bank->stats().keys, 0U);
      EXPECT_TRUE(next.bank->closed().empty());
    }
  }
  EXPECT_GT(refused, 100U);
  for (std::size_t n = 0; n < bytes.size(); ++n) {
    Site next;
    next.use({{2, log}});
    EXPECT_FALSE(
        next.bank->import(std::string_view(bytes).substr(0, n), from_ms(kStart), from_ms(kStart)));
    EXPECT_EQ(next.bank->stats().keys, 0U);
  }
}

TEST(Restarts, MoveClosedCountersBackWithAClockThatWasSetBack) {
  const CounterSpec log = spec_of(kind_named("count_log"));
  Site site;
  site.reload({{1, log}}, kStart);
  site.charge(kStart, kKey, {});
  site.reload({}, kStart);
  const std::string bytes = snapshot_of(*site.bank, from_ms(kStart));
  const std::int64_t before = kStart - 24 * kHour;
  Site next;
  ASSERT_EQ(next.bank->import(bytes, from_ms(before), from_ms(before)).value(), 1U);
  next.reload({{1, log}}, before);
  EXPECT_EQ(next.read(1, before, kKey).value, Number(1));
  EXPECT_EQ(next.read(1, before + kHour, kKey).value, Number(0));
}

TEST(Restarts, KeepTheEntriesOfListsThatNobodyUses) {
  ListBank before;
  Listing listing;
  listing.key = kKey;
  before.add(before.open("banned", 10).value(), listing, from_ms(kStart));
  before.close_unused({});
  std::string records;
  before.export_all(from_ms(kStart), records);
  ListBank after;
  ASSERT_TRUE(after.import(records, from_ms(kStart)));
  after.close_unused({});
  records.clear();
  after.export_all(from_ms(kStart), records);
  ListBank again;
  ASSERT_TRUE(again.import(records, from_ms(kStart)));
  EXPECT_TRUE(again.find(again.open("banned", 10).value(), kKey, from_ms(kStart)).listed);
}

}  // namespace
}  // namespace weir::limiter::restart_test
