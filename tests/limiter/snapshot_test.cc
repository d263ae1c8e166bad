#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <random>

#include "limiter/counters/bank.h"
#include "limiter/kinds/kinds.h"
#include "tests/support/seed.h"

namespace weir::limiter::snapshot_test {
namespace {

constexpr std::int64_t kNow = 1'700'000'000'000;
constexpr TimePoint at(std::int64_t ms) { return from_ms(kNow + ms); }

struct Counters {
  std::vector<CounterId> ids;
  explicit Counters(Bank& bank) {
    std::uint64_t n = 0;
    for (const Kind& kind : kinds()) {
      CounterSpec spec;
      spec.metric = kind.metric;
      spec.window = kind.window;
      spec.real = kind.real;
      if (kind.near) spec.radius = 1000;
      spec.length = milliseconds(kind.window == Window::log ? 86'400'000 : 60'000);
      spec.events = 7;
      spec.unit = CalendarUnit::day;
      spec.zone = TimeZone::find("Asia/Shanghai");
      spec.capacity = 500;
      spec.drain = milliseconds(7000);
      ids.push_back(bank.open({7, ++n}, spec).value());
    }
  }
};

Hash128 key_of(std::uint64_t i) {
  return {(i + 1) * 0x9E37'79B9'7F4A'7C15U, i * 0xD6E8'FEB8'6659'FD93U};
}

Amount amount_of(const Kind& kind, std::uint64_t i) {
  if (kind.metric == Metric::count || kind.metric == Metric::in_flight) return {};
  static Datum datum;
  static std::string text;
  text.assign(i % 60, static_cast<char>('a' + i % 26));
  datum.type = i % 3 == 0 ? Datum::Type::number : Datum::Type::text;
  datum.number = static_cast<std::int64_t>(i);
  datum.text = text;
  return {
      kind.real ? Number::real(static_cast<double>(i) / 8) : Number(static_cast<std::int64_t>(i)),
      i * i, &datum};
}

std::string spelt(const Reading& r) {
  std::string out = r.has_value ? r.value.to_string() : "none";
  if (r.has_value && r.datum != nullptr) out.append(" ").append(r.datum->text);
  return out;
}

void fill(Bank& bank, const Counters& counters) {
  for (std::uint64_t i = 0; i < 4000; ++i) {
    for (std::size_t k = 0; k < counters.ids.size(); ++k) {
      bank.charge(counters.ids[k], key_of(i % 300), at(static_cast<std::int64_t>(i * 5)),
                  amount_of(kinds()[k], i), nullptr, nullptr);
    }
  }
}

std::string snapshot_of(const Bank& bank, TimePoint now) {
  std::string out;
  Bank::Snapshot snapshot(bank, now, now);
  while (snapshot.next(out, 4096)) {
  }
  return out;
}

TEST(Snapshot, AKeyWithLongTextsComesBackWithTheOthers) {
  CounterSpec last;
  last.metric = Metric::last;
  last.window = Window::log;
  last.length = milliseconds{86'400'000};
  last.keep = 5'000;
  last.late = milliseconds{60'000};
  const auto open = [&](Bank& bank) {
    return std::pair(bank.open({1, 1}, last).value(), bank.open({1, 2}, CounterSpec{}).value());
  };
  Bank bank({std::uint64_t{64} << 20, 1'000});
  const auto [texts, count] = open(bank);
  Datum datum;
  const std::string text(246, 'x');
  datum.type = Datum::Type::text;
  datum.text = text;
  for (int i = 0; i < 2'000; ++i)
    bank.charge(texts, key_of(1), at(i), {Number(std::int64_t{1}), 0, &datum}, nullptr, nullptr);
  bank.charge(count, key_of(2), at(1), {}, nullptr, nullptr);

  Bank other({std::uint64_t{64} << 20, 1'000});
  const auto [texts_there, count_there] = open(other);
  const auto restored = other.import(snapshot_of(bank, at(2'000)), at(2'000), at(2'000));
  ASSERT_TRUE(restored) << restored.error().message();
  EXPECT_EQ(spelt(other.peek(count_there, key_of(2), at(2'000))), "1");
  EXPECT_EQ(spelt(other.peek(texts_there, key_of(1), at(2'000))),
            spelt(bank.peek(texts, key_of(1), at(2'000))));
}

TEST(Snapshot, ComesBackIntoATableOfAnotherSize) {
  Bank bank({std::uint64_t{64} << 20, 40'000});
  const Counters counters(bank);
  fill(bank, counters);
  const std::string bytes = snapshot_of(bank, at(20'000));
  for (const std::uint64_t keys : {std::uint64_t{60'000}, std::uint64_t{200'000}}) {
    Bank other({std::uint64_t{64} << 20, keys});
    const Counters same(other);
    const Result<std::size_t> taken = other.import(bytes, at(21'000), at(21'000));
    ASSERT_TRUE(taken.has_value());
    const auto flies = [](const Kind& kind) { return kind.metric == Metric::in_flight; };
    const auto lasting = kinds().size() - static_cast<std::size_t>(
                                              std::count_if(kinds().begin(), kinds().end(), flies));
    EXPECT_EQ(*taken, 300 * lasting);  // open requests do not survive a restart
    ASSERT_EQ(other.stats().evicted, 0U) << "the table is too small for so many kinds";
    for (std::size_t k = 0; k < kinds().size(); ++k) {
      if (flies(kinds()[k])) continue;
      for (std::uint64_t i = 0; i < 300; ++i) {
        for (const std::int64_t later : {21'000, 30'000, 70'000, 79'000}) {
          if (kinds()[k].window == Window::leaky && kinds()[k].real) {  // drained in two steps
            ASSERT_NEAR(other.peek(same.ids[k], key_of(i), at(later)).value.as_real(),
                        bank.peek(counters.ids[k], key_of(i), at(later)).value.as_real(), 1e-9);
            continue;
          }
          ASSERT_EQ(spelt(other.peek(same.ids[k], key_of(i), at(later))),
                    spelt(bank.peek(counters.ids[k], key_of(i), at(later))))
              << kinds()[k].name << " key " << i << " at " << later;
        }
      }
    }
  }
}

TEST(Snapshot, OfABankWhoseCountersComeAndGoMeanwhileCanBeRead) {
  Bank bank({std::uint64_t{4} << 20, 1000});
  CounterSpec spec;
  const CounterId stays = bank.open({1, 1}, spec).value();
  const CounterId goes = bank.open({1, 2}, spec).value();
  for (const CounterId id : {stays, goes}) bank.charge(id, key_of(1), at(0), {}, nullptr, nullptr);
  std::string bytes;
  Bank::Snapshot snapshot(bank, at(0), at(0));
  ASSERT_TRUE(snapshot.next(bytes, 4096)) << "the definitions";
  const CounterId used[] = {stays};
  bank.close_unused(used);
  bank.maintain(at(0), at(0));
  const milliseconds over = 2 * kWindowMax;
  bank.maintain(at(0) + over, at(0) + over);  // its index is free again
  const CounterId fresh = bank.open({1, 3}, spec).value();
  ASSERT_EQ(fresh.index, goes.index);
  const CounterId further = bank.open({1, 4}, spec).value();
  for (const CounterId id : {fresh, further})
    bank.charge(id, key_of(1), at(0), {}, nullptr, nullptr);
  while (snapshot.next(bytes, 4096)) {
  }
  Bank other({std::uint64_t{4} << 20, 1000});
  const CounterId same = other.open({1, 1}, spec).value();
  const CounterId gone = other.open({1, 2}, spec).value();
  EXPECT_EQ(other.import(bytes, at(1), at(1)).value(), 1u);
  EXPECT_EQ(other.peek(same, key_of(1), at(1)).value, Number(1));
  EXPECT_EQ(other.peek(gone, key_of(1), at(1)).value, Number(0));
}

TEST(Snapshot, KeepsPins) {
  Bank bank({std::uint64_t{64} << 10, 100});
  const CounterId id = bank.open({1, 1}, {}).value();
  bank.charge(id, key_of(1), at(0), {}, nullptr, nullptr);
  bank.pin(id, key_of(1));
  Bank other({std::uint64_t{64} << 10, 100});
  const CounterId same = other.open({1, 1}, {}).value();
  ASSERT_EQ(other.import(snapshot_of(bank, at(1)), at(1), at(1)).value(), 1u);
  for (std::uint64_t i = 2; i < 5000; ++i)
    other.charge(same, key_of(i), at(2), {}, nullptr, nullptr);
  ASSERT_GT(other.stats().evicted, 0u);
  EXPECT_EQ(other.peek(same, key_of(1), at(3)).value, Number(1)) << "a flood evicts no pinned key";
}

TEST(Snapshot, SkipsWhatExpiredMeanwhileAndWhatIsNotOpen) {
  Bank bank({std::uint64_t{4} << 20, 1000});
  CounterSpec spec;
  const CounterId id = bank.open({1, 1}, spec).value();
  const CounterId gone = bank.open({1, 2}, spec).value();
  bank.charge(id, {1, 1}, at(0), {}, nullptr, nullptr);
  bank.charge(gone, {1, 1}, at(0), {}, nullptr, nullptr);
  bank.charge(id, {2, 2}, at(50'000), {}, nullptr, nullptr);
  const std::string bytes = snapshot_of(bank, at(50'000));
  Bank other({std::uint64_t{4} << 20, 1000});
  const CounterId same = other.open({1, 1}, spec).value();
  EXPECT_EQ(other.import(bytes, at(100'000), at(100'000)).value(), 1u);
  EXPECT_EQ(other.peek(same, {2, 2}, at(100'000)).value, Number(1));
  EXPECT_EQ(other.import(bytes, at(100'000), at(100'000)).value(), 0u)
      << "what counts already stays";
}

TEST(Snapshot, MovesBackWithAClockThatWasSetBack) {
  Bank bank({std::uint64_t{4} << 20, 1000});
  CounterSpec spec;
  const CounterId id = bank.open({1, 1}, spec).value();
  bank.charge(id, {1, 1}, at(0), {}, nullptr, nullptr);
  const std::string bytes = snapshot_of(bank, at(10'000));
  Bank other({std::uint64_t{4} << 20, 1000});
  const CounterId same = other.open({1, 1}, spec).value();
  const TimePoint day_before = at(-86'400'000);
  EXPECT_EQ(other.import(bytes, day_before, day_before).value(), 1u);
  EXPECT_EQ(other.peek(same, {1, 1}, day_before).value, Number(1));
  EXPECT_EQ(other.peek(same, {1, 1}, day_before + milliseconds(52'000)).value, Number(0));
}

TEST(Snapshot, TornOrRottenBytesChangeNothing) {
  const std::uint64_t seed = ::weir::test::new_seed();
  std::cout << "seed " << seed << '\n';
  std::mt19937_64 random(seed);
  Bank bank({std::uint64_t{4} << 20, 1000});
  const Counters counters(bank);
  for (std::size_t k = 0; k < counters.ids.size(); ++k) {
    for (std::uint64_t i = 1; i < 30; ++i) {
      bank.charge(counters.ids[k], key_of(i % 5), at(0), amount_of(kinds()[k], i), nullptr,
                  nullptr);
    }
  }
  const std::string bytes = snapshot_of(bank, at(0));
  Bank other({std::uint64_t{4} << 20, 1000});
  const Counters same(other);
  for (std::size_t n = 0; n < bytes.size(); n += 1 + random() % 7) {
    EXPECT_EQ(other.import(std::string_view(bytes).substr(0, n), at(0), at(0)).error(),
              Error::malformed)
        << n;
  }
  for (int i = 0; i < 3000; ++i) {
    std::string changed = bytes;
    changed[random() % changed.size()] ^= static_cast<char>(1 + random() % 255);
    EXPECT_EQ(other.import(changed, at(0), at(0)).error(), Error::malformed);
  }
  EXPECT_EQ(other.stats().keys, 0u);
  EXPECT_TRUE(other.import(bytes, at(0), at(0)).has_value());
}

}  // namespace
}  // namespace weir::limiter::snapshot_test
