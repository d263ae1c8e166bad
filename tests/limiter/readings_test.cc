#include <gtest/gtest.h>

#include <map>

#include "limiter/counters/bank.h"
#include "limiter/kinds/kinds.h"

namespace weir::limiter::readings_test {
namespace {

constexpr TimePoint kNow = from_ms(1'700'000'000'000);

Hash128 key_of(std::uint64_t i) {
  return {(i + 1) * 0x9E37'79B9'7F4A'7C15U, i * 0xD6E8'FEB8'6659'FD93U};
}

CounterSpec last_minute() {
  CounterSpec spec;
  spec.metric = Metric::count;
  spec.window = Window::ring;
  spec.length = milliseconds{60'000};
  return spec;
}

std::map<std::int64_t, int> readings_of(const Bank& bank, CounterId id, TimePoint now,
                                        int* pieces) {
  std::map<std::int64_t, int> out;
  Bank::Readings readings(bank, id, now);
  std::vector<Number> piece;
  for (bool more = true; more;) {
    more = readings.next(piece);
    EXPECT_LE(piece.size(), static_cast<std::size_t>(8 * Bank::Readings::kBuckets));
    for (const Number& each : piece) ++out[each.integer()];
    piece.clear();
    if (pieces != nullptr) ++*pieces;
  }
  return out;
}

}  // namespace

TEST(Readings, AreThoseOfOneCounterAndOfNoOther) {
  Bank bank(BankLimits{std::uint64_t{64} << 20, 100'000});
  const CounterId one = bank.open({1, 1}, last_minute()).value();
  const CounterId other = bank.open({1, 2}, last_minute()).value();
  for (std::uint64_t key = 0; key < 30'000; ++key) {
    for (std::uint64_t n = 0; n <= key % 3; ++n)
      bank.charge(one, {key_of(key)}, kNow, {}, nullptr, nullptr);
    bank.charge(other, {key_of(key)}, kNow, {}, nullptr, nullptr);
  }
  int pieces = 0;
  const std::map<std::int64_t, int> wanted{{1, 10'000}, {2, 10'000}, {3, 10'000}};
  EXPECT_EQ(readings_of(bank, one, kNow, &pieces), wanted);
  EXPECT_GT(pieces, 3);
  const std::map<std::int64_t, int> ones{{1, 30'000}};
  EXPECT_EQ(readings_of(bank, other, kNow, nullptr), ones);
  // Expired counts are not readings, and reading changes nothing.
  EXPECT_TRUE(readings_of(bank, one, kNow + milliseconds{200'000}, nullptr).empty());
  EXPECT_EQ(readings_of(bank, one, kNow, nullptr), wanted);
}

TEST(Readings, OfACounterThatIsNotThereAreNone) {
  Bank bank(BankLimits{std::uint64_t{16} << 20, 1'000});
  EXPECT_TRUE(readings_of(bank, CounterId{}, kNow, nullptr).empty());
}

TEST(Readings, OfSumsAreWhatTheWindowHolds) {
  Bank bank(BankLimits{std::uint64_t{64} << 20, 100'000});
  for (const bool real : {false, true}) {
    CounterSpec spec = last_minute();
    spec.metric = Metric::sum;
    spec.real = real;
    const CounterId id = bank.open({2, real ? 1U : 0U}, spec).value();
    const auto add = [&](std::uint64_t key, std::int64_t amount, TimePoint at) {
      Amount event;
      event.amount = real ? Number::real(static_cast<double>(amount)) : Number(amount);
      bank.charge(id, {key_of(key)}, at, event, nullptr, nullptr);
    };
    for (std::uint64_t key = 0; key < 9'000; ++key) {
      add(key, 7, kNow);
      if (key % 3 == 0) add(key, 5, kNow + milliseconds{30'000});
    }
    const auto sums = [&](std::int64_t later) {
      std::map<double, int> out;
      Bank::Readings readings(bank, id, kNow + milliseconds{later});
      std::vector<Number> piece;
      while (readings.next(piece)) {
      }
      for (const Number& each : piece) ++out[each.as_real()];
      return out;
    };
    EXPECT_EQ(sums(30'000), (std::map<double, int>{{7, 6'000}, {12, 3'000}})) << real;
    EXPECT_EQ(sums(80'000), (std::map<double, int>{{5, 3'000}})) << real;
    EXPECT_TRUE(sums(200'000).empty()) << real;
    EXPECT_EQ(sums(30'000), (std::map<double, int>{{7, 6'000}, {12, 3'000}})) << real;
  }
}

}  // namespace weir::limiter::readings_test
