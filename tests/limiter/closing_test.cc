#include <gtest/gtest.h>

#include <vector>

#include "limiter/counters/bank.h"
#include "limiter/lists/lists.h"

/// Counters that no policy set uses any more make room for those that one does.
namespace weir::limiter::closing_test {
namespace {

constexpr std::int64_t kNow = 1'700'000'000'000;
constexpr std::int64_t kMinute = 60'000;
constexpr TimePoint at(std::int64_t ms) { return from_ms(kNow + ms); }
const Amount kOne{};

Hash128 key_of(std::uint64_t i) {
  std::uint64_t h = (i + 1) * 0x9E37'79B9'7F4A'7C15U;
  h = (h ^ (h >> 30)) * 0xBF58'476D'1CE4'E5B9U;
  return {h ^ (h >> 27), h * 0xD6E8'FEB8'6659'FD93U};
}

CounterSpec count_over(std::int64_t length, std::uint64_t what = 0) {
  CounterSpec spec;
  spec.metric = Metric::count;
  spec.window = Window::ring;
  spec.length = milliseconds(length);
  spec.what = {what, what};
  return spec;
}

Number counted(Bank& bank, CounterId id, std::uint64_t key) {
  return bank.peek(id, key_of(key), at(0)).value;
}

void close_all_but(Bank& bank, std::vector<CounterId> used) { bank.close_unused(used); }

}  // namespace

// A policy with `keys: 1000000, window: 24h` is edited again and again.
TEST(ClosedCounters, GiveTheirTablesToTheNextOne) {
  Bank bank({std::uint64_t{256} << 20, 1'000'000});
  for (std::uint64_t edit = 1; edit <= 20; ++edit) {
    const auto id = bank.open({edit, 1}, count_over(24 * 60 * kMinute), 1'000'000);
    ASSERT_TRUE(id) << "edit " << edit << ": " << id.error().message();
    bank.charge(*id, key_of(edit), at(0), kOne, nullptr, nullptr);
    close_all_but(bank, {*id});
  }
}

TEST(ClosedCounters, AreGivenUpInTheOrderInWhichTheyWereClosed) {
  Bank bank({std::uint64_t{16} << 20, 1'000});
  const CounterSpec spec = count_over(24 * 60 * kMinute);
  const auto table = [&](std::uint64_t identity) {
    const CounterId id = bank.open({identity, 1}, spec, 100'000).value();
    bank.charge(id, key_of(1), at(0), kOne, nullptr, nullptr);
    return id;
  };
  const CounterId first = table(1), second = table(2), third = table(3);
  close_all_but(bank, {first, third});
  close_all_but(bank, {third});
  table(4);  // takes the room of the one that was closed first
  EXPECT_EQ(counted(bank, bank.open({1, 1}, spec, 100'000).value(), 1), Number(1))
      << "closed last, and still there";
  EXPECT_EQ(counted(bank, third, 1), Number(1)) << "open";
  EXPECT_FALSE(bank.charge(second, key_of(1), at(0), kOne, nullptr, nullptr).stored)
      << "a stale id stores nothing";
  EXPECT_EQ(bank.open({5, 1}, spec, 1'000'000).error(), Error::too_large) << "open ones are kept";
  EXPECT_EQ(counted(bank, third, 1), Number(1));
}

TEST(ClosedCounters, GiveTheirPlacesToNewOnes) {
  Bank bank({std::uint64_t{16} << 20, 10'000});
  const CounterSpec spec = count_over(24 * 60 * kMinute);
  const CounterId kept = bank.open({1, 1}, spec).value();
  bank.charge(kept, key_of(7), at(0), kOne, nullptr, nullptr);
  for (std::uint64_t reload = 0; reload < 10; ++reload) {
    std::vector<CounterId> used{kept};
    for (std::uint64_t i = 0; i < 2'000; ++i) {
      const auto id = bank.open({2 + i, 2 + reload}, spec);
      ASSERT_TRUE(id) << "reload " << reload << ", counter " << i;
      EXPECT_EQ(counted(bank, *id, i), Number(0)) << "what another one left there is gone";
      bank.charge(*id, key_of(i), at(0), kOne, nullptr, nullptr);
      used.push_back(*id);
    }
    close_all_but(bank, used);
  }
  EXPECT_EQ(counted(bank, kept, 7), Number(1));
}

// Two thousand policies have been replaced; ten minutes later their counters go.
TEST(ClosedCounters, AreTakenOutOfTheTableBySlices) {
  Bank bank({std::uint64_t{64} << 20, 1'000'000});
  constexpr std::uint64_t kCounters = 2'000, kKeys = 400'000;
  std::vector<CounterId> ids;
  for (std::uint64_t i = 0; i < kCounters; ++i)
    ids.push_back(bank.open({i, 1}, count_over(kMinute)).value());
  for (std::uint64_t i = 0; i < kKeys; ++i)
    bank.charge(ids[i % kCounters], key_of(i), at(0), kOne, nullptr, nullptr);
  const CounterId other = bank.open({1, 2}, count_over(24 * 60 * kMinute)).value();
  bank.charge(other, key_of(1), at(0), kOne, nullptr, nullptr);
  close_all_but(bank, {other});
  bank.maintain(at(0), at(0));
  std::uint64_t keys = bank.stats().keys;
  int slices = 0;
  for (; bank.stats().keys > 1; ++slices) {
    ASSERT_LT(slices, 100);
    bank.maintain(at(11 * kMinute + slices * 1'000), at(11 * kMinute + slices * 1'000));
    const std::uint64_t now = bank.stats().keys;
    EXPECT_LE(keys - now, 200'000U) << "in one call";  // 20,000 buckets of eight
    keys = now;
  }
  EXPECT_GT(slices, 2);
  EXPECT_EQ(counted(bank, other, 1), Number(1));
}

// Many counters begin with what others kept: the tables are gone through once for all of them.
TEST(Heirs, OfOneOpeningAllBeginWithWhatWasKept) {
  Bank bank({std::uint64_t{16} << 20, 100'000});
  CounterSpec old = count_over(60 * kMinute);
  old.window = Window::log;
  constexpr std::uint64_t kCounters = 300;
  std::vector<CounterId> before;
  for (std::uint64_t i = 0; i < kCounters; ++i) {
    old.what = {i + 1, 9};
    before.push_back(bank.open({i, 1}, old).value());
    for (std::uint64_t n = 0; n <= i % 3; ++n)
      bank.charge(before.back(), key_of(i), at(0), kOne, nullptr, nullptr);
  }
  std::vector<CounterId> after;
  {
    const Bank::Opening together(bank);
    for (std::uint64_t i = 0; i < kCounters; ++i) {
      CounterSpec shorter = old;
      shorter.what = {i + 1, 9};
      shorter.length = milliseconds(30 * kMinute);
      after.push_back(bank.open({i, 2}, shorter).value());
    }
  }
  for (std::uint64_t i = 0; i < kCounters; ++i)
    EXPECT_EQ(counted(bank, after[i], i), Number(static_cast<std::int64_t>(i % 3 + 1))) << i;
}

// A policy with a list of its own is renamed with every edit.
TEST(ClosedLists, GiveTheirNamesBack) {
  ListBank bank;
  const ListId kept = bank.open("kept", 10).value();
  Listing listing;
  listing.key = key_of(1);
  bank.add(kept, listing, at(0));
  ListId stale;
  for (int edit = 0; edit < 20'000; ++edit) {
    const auto id = bank.open("list " + std::to_string(edit), 10);
    ASSERT_TRUE(id) << "edit " << edit << ": " << id.error().message();
    if (edit == 0) stale = *id;
    if (edit % 100 == 0) bank.close_unused(std::vector<ListId>{kept, *id});
  }
  EXPECT_TRUE(bank.find(kept, key_of(1), at(0)).listed);
  EXPECT_EQ(bank.add(stale, listing, at(0)).kind, ListOutcome::Kind::refused);
  EXPECT_FALSE(bank.find(stale, key_of(1), at(0)).listed) << "of another list by now";
}

TEST(ClosedLists, KeepTheirEntriesUntilTheyEnd) {
  ListBank bank;
  const ListId banned = bank.open("banned", 10).value();
  Listing listing;
  listing.key = key_of(1);
  listing.until = at(60 * kMinute);
  bank.add(banned, listing, at(0));
  bank.close_unused({});
  for (int i = 0; i < 20'000; ++i) {
    ASSERT_TRUE(bank.open("list " + std::to_string(i), 10)) << i;
    if (i % 1'000 == 0) bank.close_unused({});
  }
  bank.close_unused({});
  bank.maintain(at(0));
  bank.maintain(at(30 * kMinute));
  ASSERT_TRUE(bank.by_name("banned"));
  EXPECT_TRUE(bank.find(bank.open("banned", 10).value(), key_of(1), at(30 * kMinute)).listed);
  bank.close_unused({});
  bank.maintain(at(30 * kMinute));
  bank.maintain(at(61 * kMinute));
  EXPECT_FALSE(bank.by_name("banned")) << "nothing is on it, and nobody uses it";
}

}  // namespace weir::limiter::closing_test
