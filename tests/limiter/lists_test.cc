#include "limiter/lists/lists.h"

#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <thread>

#include "limiter/lists/static_list.h"
#include "tests/support/seed.h"

namespace weir::limiter::lists_test {
namespace {

using Kind = ListOutcome::Kind;

constexpr TimePoint at(std::int64_t ms) { return from_ms(1'700'000'000'000 + ms); }
constexpr milliseconds kMinute{60'000};
const std::vector<milliseconds> kQuarter{15 * kMinute};

Hash128 key_of(std::uint64_t i) {
  return {(i + 1) * 0x9E37'79B9'7F4A'7C15U, i * 0xD6E8'FEB8'6659'FD93U + 1};
}

Listing listing(const Hash128& key, const std::vector<milliseconds>& durations = kQuarter) {
  Listing l;
  l.key = key;
  l.durations = durations;
  l.policy = "login-per-ip";
  l.value = 11;
  l.limit = 10;
  l.by = "policy";
  return l;
}

TEST(Lists, AnEntryHoldsForItsTermAndNoLonger) {
  ListBank bank;
  const ListId id = bank.open("gray").value();
  EXPECT_FALSE(bank.find(id, key_of(1), at(0)).listed);
  const ListOutcome out = bank.add(id, listing(key_of(1)), at(0));
  EXPECT_EQ(out.kind, Kind::created);
  EXPECT_EQ(out.until, at(900'000));
  EXPECT_TRUE(bank.find(id, key_of(1), at(899'999)).listed);
  EXPECT_EQ(bank.find(id, key_of(1), at(1)).until, at(900'000));
  EXPECT_FALSE(bank.find(id, key_of(1), at(900'000)).listed);
  EXPECT_FALSE(bank.find(id, key_of(2), at(1)).listed);
}

TEST(Lists, ReListingExtendsAndNeverShortens) {
  ListBank bank;
  const ListId id = bank.open("gray").value();
  bank.add(id, listing(key_of(1)), at(0));
  const ListOutcome longer = bank.add(id, listing(key_of(1)), at(60'000));
  EXPECT_EQ(longer.kind, Kind::extended);
  EXPECT_EQ(longer.until, at(960'000));
  const ListOutcome shorter = bank.add(id, listing(key_of(1), {kMinute}), at(61'000));
  EXPECT_EQ(shorter.kind, Kind::kept);
  EXPECT_EQ(shorter.until, at(960'000));
  EXPECT_EQ(shorter.times, 3u);
}

TEST(Lists, AnEscalationRisesWhileTheFormerEntryIsNotForgotten) {
  ListBank bank;
  const ListId id = bank.open("deny").value();
  const std::vector<milliseconds> steps{kMinute, 4 * kMinute, 24 * kMinute};
  Listing l = listing(key_of(1), steps);
  l.forget = milliseconds(600'000);
  EXPECT_EQ(bank.add(id, l, at(0)).until, at(60'000));
  EXPECT_EQ(bank.add(id, l, at(30'000)).level, 0) << "in force: extended, not raised";
  ListOutcome out = bank.add(id, l, at(100'000));
  EXPECT_EQ(out.kind, Kind::created);
  EXPECT_EQ(out.level, 1);
  EXPECT_EQ(out.until, at(340'000));
  EXPECT_EQ(bank.find(id, key_of(1), at(100'001)).level, 1);
  EXPECT_EQ(bank.add(id, l, at(400'000)).level, 2);
  EXPECT_EQ(bank.add(id, l, at(400'000 + 1'440'000)).level, 2) << "the last step stays";
  EXPECT_EQ(bank.add(id, l, at(10'000'000)).level, 0) << "forgotten";
}

TEST(Lists, ARungWithFewerDurationsLeavesTheEscalationOfAnotherAlone) {
  ListBank bank;
  const ListId id = bank.open("deny").value();
  const std::vector<milliseconds> steps{kMinute, 4 * kMinute, 24 * kMinute};
  Listing long_one = listing(key_of(1), steps);
  long_one.forget = 24 * kMinute;
  const std::vector<milliseconds> step{kMinute};
  const Listing short_one = listing(key_of(1), step);
  EXPECT_EQ(bank.add(id, long_one, at(0)).level, 0);
  const ListOutcome once = bank.add(id, short_one, at(100'000));
  EXPECT_EQ(once.level, 0) << "it has but one duration";
  EXPECT_EQ(once.until, at(160'000));
  const ListOutcome third = bank.add(id, long_one, at(200'000));
  EXPECT_EQ(third.level, 2);
  EXPECT_EQ(third.until, at(200'000 + 1'440'000));
  bank.add(id, short_one, at(1'700'000));
  EXPECT_EQ(bank.add(id, long_one, at(1'800'000)).level, 2) << "the highest stays";
}

TEST(Lists, AnEscalationIsRememberedForItsLastDurationWhereNobodySaysHowLong) {
  ListBank bank;
  const ListId id = bank.open("deny").value();
  const std::vector<milliseconds> steps{kMinute, 4 * kMinute};
  const Listing l = listing(key_of(1), steps);
  bank.add(id, l, at(0));
  EXPECT_EQ(bank.add(id, l, at(60'000 + 239'999)).level, 1);
  EXPECT_EQ(bank.add(id, l, at(60'000 + 239'999 + 2 * 240'000)).level, 0) << "forgotten";
  const std::vector<milliseconds> step{kMinute};
  const Listing single = listing(key_of(2), step);
  bank.add(id, single, at(0));
  EXPECT_FALSE(bank.held(id, key_of(2), at(60'000))) << "there is nothing to remember";
}

TEST(Lists, AFullListRefusesNewEntriesAndKeepsThoseInForce) {
  ListBank bank;
  const ListId id = bank.open("gray", 100).value();
  for (std::uint64_t i = 0; i < 150; ++i) {
    EXPECT_EQ(bank.add(id, listing(key_of(i)), at(0)).kind,
              i < 100 ? Kind::created : Kind::refused);
  }
  EXPECT_EQ(bank.refused(id), 50u);
  EXPECT_EQ(bank.add(id, listing(key_of(5)), at(1)).kind, Kind::extended);
  for (std::uint64_t i = 0; i < 100; ++i) EXPECT_TRUE(bank.find(id, key_of(i), at(2)).listed);
  EXPECT_EQ(bank.add(id, listing(key_of(200)), at(900'001)).kind, Kind::created)
      << "ended ones make room";
  EXPECT_EQ(bank.open("gray", 300).value(), id);
  EXPECT_TRUE(bank.find(id, key_of(200), at(900'002)).listed) << "growing loses nobody";
}

TEST(Lists, RemoveGetAndPageShowWhatPeopleNeed) {
  ListBank bank;
  const ListId id = bank.open("gray").value();
  const std::string_view parts[] = {"203.0.113.7", "alice"};
  for (std::uint64_t i = 0; i < 25; ++i) {
    Listing l = listing(key_of(i));
    l.parts = parts;
    bank.add(id, l, at(static_cast<std::int64_t>(i)));
  }
  const ListEntry e = bank.get(id, key_of(3), at(100)).value();
  EXPECT_EQ(e.parts, (std::vector<std::string>{"203.0.113.7", "alice"}));
  EXPECT_EQ(e.since, at(3));
  EXPECT_EQ(e.policy, "login-per-ip");
  EXPECT_EQ(e.value, Number(11));
  EXPECT_EQ(e.times, 1u);
  std::optional<Hash128> after;
  std::size_t seen = 0;
  for (;;) {
    const std::vector<ListEntry> page = bank.page(id, at(100), after, 10);
    seen += page.size();
    if (page.size() < 10) break;
    after = page.back().key;
  }
  EXPECT_EQ(seen, 25u);
  EXPECT_TRUE(bank.remove(id, key_of(3), at(100)));
  EXPECT_FALSE(bank.remove(id, key_of(3), at(100)));
  EXPECT_FALSE(bank.find(id, key_of(3), at(100)).listed);
}

TEST(Lists, PrintableTextIsBoundedAndNeverHalfACharacter) {
  ListBank bank;
  const ListId id = bank.open("gray").value();
  const std::string text = std::string(252, 'a') + "é" + std::string(10'000, 'b');
  const std::string_view parts[] = {text};
  Listing l = listing(key_of(1));
  l.parts = parts;
  bank.add(id, l, at(0));
  EXPECT_EQ(bank.get(id, key_of(1), at(1))->parts[0], std::string(252, 'a') + "…");
}

TEST(Lists, TheJournalAndAnExportBringEverythingBack) {
  ListBank bank;
  bank.enable_journal();
  const ListId id = bank.open("gray").value();
  for (std::uint64_t i = 0; i < 50; ++i) bank.add(id, listing(key_of(i)), at(0));
  bank.remove(id, key_of(7), at(1));
  std::string journal;
  bool lost = true;
  for (const ListChange& change : bank.take_changes(&lost)) ListBank::encode(change, journal);
  EXPECT_FALSE(lost);
  EXPECT_TRUE(bank.take_changes(nullptr).empty());
  bank.remove(id, key_of(8), at(2));
  for (const ListChange& change : bank.take_changes(nullptr)) ListBank::encode(change, journal);
  std::string whole;
  bank.export_all(at(2), whole);
  for (const std::string& bytes : {journal, whole}) {
    ListBank other;
    EXPECT_TRUE(other.import(bytes, at(3)).has_value());
    const ListId same = other.by_name("gray").value();
    EXPECT_EQ(other.page(same, at(3), {}, 100).size(), 48u);
    EXPECT_FALSE(other.find(same, key_of(7), at(3)).listed);
    EXPECT_FALSE(other.find(same, key_of(8), at(3)).listed);
    EXPECT_EQ(other.get(same, key_of(9), at(3))->policy, "login-per-ip");
  }
  // A torn tail loses itself alone; foreign bytes are refused.
  ListBank other;
  EXPECT_EQ(other.import(std::string_view(whole).substr(0, whole.size() - 1), at(3))->records, 47u);
  EXPECT_EQ(other.import("hello", at(3)).error(), Error::malformed);
  ListBank late;
  EXPECT_TRUE(late.import(whole, at(10'000'000)).has_value());
  EXPECT_EQ(late.size(late.by_name("gray").value()), 0u) << "what has ended stays away";
}

TEST(Lists, WhatHeldGoesOnHoldingBeyondALowerMax) {
  ListBank bank;
  const ListId id = bank.open("gray", 3000).value();
  for (std::uint64_t i = 0; i < 3000; ++i) bank.add(id, listing(key_of(i)), at(0));
  std::string whole;
  bank.export_all(at(1), whole);
  ListBank other;
  const ListId same = other.open("gray", 10).value();
  const auto taken = other.import(whole, at(1));
  ASSERT_TRUE(taken);
  EXPECT_EQ(taken->records, 3000u);
  EXPECT_EQ(taken->refused, 0u);
  EXPECT_EQ(other.open("gray", 20).value(), same);
  for (std::uint64_t i = 0; i < 3000; ++i) EXPECT_TRUE(other.find(same, key_of(i), at(2)).listed);
  EXPECT_EQ(other.add(same, listing(key_of(5)), at(2)).kind, Kind::extended);
  EXPECT_EQ(other.add(same, listing(key_of(3000)), at(2)).kind, Kind::refused);
  EXPECT_EQ(other.open("gray", 4000).value(), same);
  EXPECT_EQ(other.add(same, listing(key_of(3000)), at(2)).kind, Kind::created);
  for (std::uint64_t i = 0; i <= 3000; ++i) EXPECT_TRUE(other.find(same, key_of(i), at(3)).listed);
}

TEST(Lists, AnImportSaysWhatItHasNoRoomFor) {
  ListBank bank;
  for (const char* name : {"gray", "list 7"}) {
    const ListId id = bank.open(name).value();
    for (std::uint64_t i = 0; i < 5; ++i) bank.add(id, listing(key_of(i)), at(0));
  }
  std::string whole;
  bank.export_all(at(1), whole);
  ListBank full;
  for (int i = 0; i < 16'384; ++i) ASSERT_TRUE(full.open("list " + std::to_string(i), 1));
  const auto taken = full.import(whole, at(1));
  ASSERT_TRUE(taken);
  EXPECT_EQ(taken->refused, 5u);
  EXPECT_EQ(full.size(full.by_name("list 7").value()), 5u) << "what follows is taken all the same";
}

TEST(Lists, RottenRecordsNeverBreakAnything) {
  const std::uint64_t seed = ::weir::test::new_seed();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  ListBank bank;
  const ListId id = bank.open("gray").value();
  for (std::uint64_t i = 0; i < 5; ++i) bank.add(id, listing(key_of(i)), at(0));
  std::string whole;
  bank.export_all(at(0), whole);
  for (int i = 0; i < 2000; ++i) {
    std::string changed = whole;
    const std::size_t at_byte = random() % changed.size();
    changed[at_byte] ^= static_cast<char>(1 + random() % 255);
    ListBank other;
    const auto taken = other.import(changed, at(0));
    ASSERT_TRUE(taken) << "byte " << at_byte;
    EXPECT_EQ(taken->records, 4u) << "byte " << at_byte;
    EXPECT_EQ(taken->spoilt, at_byte < whole.rfind("WEIR") ? whole.size() / 5 : 0)
        << "byte " << at_byte;
  }
}

TEST(Lists, ReadersNeverSeeAnotherKeysTerm) {
  ListBank bank;
  const ListId id = bank.open("gray", 64).value();
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    std::mt19937_64 random(3);
    for (int i = 0; i < 20'000; ++i) {
      const std::uint64_t k = random() % 128;
      if (random() % 2 == 0) {
        Listing l = listing(key_of(k));
        l.until = at(static_cast<std::int64_t>(1000 + k));
        bank.add(id, l, at(0));
      } else {
        bank.remove(id, key_of(k), at(0));
      }
      if (i == 10'000) bank.open("gray", 200).value();
    }
    stop = true;
  });
  std::mt19937_64 random(4);
  while (!stop) {
    const std::uint64_t k = random() % 128;
    const Listed found = bank.find(id, key_of(k), at(1));
    if (found.listed) {
      ASSERT_EQ(found.until, at(static_cast<std::int64_t>(1000 + k)));
    }
  }
  writer.join();
}

TEST(StaticList, MatchesKeysAndBlocksUntilTheyEnd) {
  StaticList list;
  list.add(key_of(1), {"alice", "", kForever});
  list.add(*Cidr::parse("10.0.0.0/8"), {"10.0.0.0/8", "", kForever});
  list.add(*Cidr::parse("203.0.113.0/24"), {"203.0.113.0/24", "partner", at(1000)});
  list.add(*Cidr::parse("::/0"), {"::/0", "", kForever});
  list.add(*Cidr::parse("2001:db8::1"), {"2001:db8::1", "", kForever});
  list.build();
  const auto found = [&](const char* text, TimePoint now) {
    const Address address = *Address::parse(text);
    const StaticList::Entry* e = list.find(key_of(99), &address, now);
    return e == nullptr ? std::string() : e->text;
  };
  EXPECT_EQ(list.find(key_of(1), nullptr, at(0))->text, "alice");
  EXPECT_EQ(list.find(key_of(2), nullptr, at(0)), nullptr);
  EXPECT_EQ(found("10.1.2.3", at(0)), "10.0.0.0/8");
  EXPECT_EQ(found("::ffff:10.1.2.3", at(0)), "10.0.0.0/8");
  EXPECT_EQ(found("11.1.2.3", at(0)), "") << "::/0 is not an IPv4 block";
  EXPECT_EQ(found("203.0.113.9", at(0)), "203.0.113.0/24");
  EXPECT_EQ(found("203.0.113.9", at(1000)), "");
  EXPECT_NE(found("2001:db8::1", at(0)), "");
}

}  // namespace
}  // namespace weir::limiter::lists_test
