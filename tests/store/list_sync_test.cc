// Replicas that share a list, against a model of the store: random schedules with lost calls, lost
// answers, outages, flushes, fail-overs that lose the latest writes, restarts and crooked clocks.
#include "store/lists/list_sync.h"

#include <gtest/gtest.h>

#include <memory>
#include <random>

#include "tests/store/list_model.h"
#include "tests/support/seed.h"

namespace weir::store::list_sync_test {
namespace {

using limiter::ListBank;
using limiter::ListEntry;
using limiter::Listing;
using limiter::ListOutcome;
using test::ListModel;

constexpr milliseconds kMinute{60'000};

Hash128 key(std::uint64_t n) { return {n * 0x9E3779B97F4A7C15ULL, n}; }

/// A process: its lists, its side of the exchange, and a clock of its own.
struct Replica {
  Replica(std::uint64_t number, milliseconds ahead, std::size_t max = 100'000)
      : clock(ahead), bank(std::make_unique<ListBank>()) {
    list = bank->open("gray", max).value();
    sync = std::make_unique<ListSync>(*bank, list, max, ListOrigin::of(number), number);
    bank->share(list, true);
  }
  TimePoint at(TimePoint now) const { return now + clock; }
  ListOutcome add(std::uint64_t n, milliseconds term, TimePoint now) {
    Listing listing;
    listing.key = key(n);
    listing.durations = {&term, 1};
    listing.policy = "p";
    const std::string text = "k" + std::to_string(n);
    const std::string_view part = text;
    listing.parts = {&part, 1};
    return bank->add(list, listing, at(now));
  }
  bool remove(std::uint64_t n, TimePoint now) { return bank->remove(list, key(n), at(now)); }
  /// Until when, by the true clock; nothing: it is not listed.
  std::optional<TimePoint> until(std::uint64_t n, TimePoint now) const {
    const auto listed = bank->find(list, key(n), at(now));
    return listed.listed ? std::optional(listed.until - clock) : std::nullopt;
  }

  milliseconds clock;
  std::unique_ptr<ListBank> bank;
  limiter::ListId list;
  std::unique_ptr<ListSync> sync;
};

/// Time, the store, and the faults between it and the replicas.
struct World {
  enum class Fate : std::uint8_t { good, not_sent, not_heard };

  /// Lets time pass in steps of 5 ms, each replica calling when it is due.
  void run(milliseconds length) {
    for (const TimePoint end = now + length; now < end; now += milliseconds{5}) {
      for (const auto& replica : replicas) turn(*replica);
    }
  }
  void turn(Replica& replica) {
    ListSync& sync = *replica.sync;
    const TimePoint here = replica.at(now);
    sync.gather(here);
    if (sync.due() > here) return;
    std::string words;
    sync.ask(words, here);
    const Fate fate = up ? next_fate() : Fate::not_sent;
    if (fate == Fate::not_sent) return sync.failed(here);
    ++calls;
    const Reply reply = store.call(words, static_cast<double>(to_ms(now + store_clock)) * 1000 + 1);
    if (fate == Fate::not_heard) return sync.failed(here);
    ASSERT_TRUE(sync.answered(reply, here));
  }
  Fate next_fate() {
    if (losses == 0 || random() % 100 >= losses) return Fate::good;
    return random() % 2 == 0 ? Fate::not_sent : Fate::not_heard;
  }
  Replica& add(milliseconds ahead = milliseconds{0}) {
    return *replicas.emplace_back(std::make_unique<Replica>(++number, ahead));
  }
  std::size_t listed(std::uint64_t n) const {
    std::size_t count = 0;
    for (const auto& replica : replicas) count += replica->until(n, now) ? 1U : 0U;
    return count;
  }

  TimePoint now = from_ms(1'700'000'000'000);
  milliseconds store_clock{0};
  ListModel store;
  bool up = true;
  unsigned losses = 0;  // of 100 calls
  std::mt19937_64 random{1};
  std::uint64_t number = 0;
  std::vector<std::unique_ptr<Replica>> replicas;
  std::uint64_t calls = 0;
};

TEST(ListSync, AnEntryIsInForceEverywhereWithinASecond) {
  World world;
  Replica& first = world.add();
  for (int i = 0; i < 4; ++i) world.add();
  world.run(milliseconds{30'000});  // idle: the slowest polls
  for (std::uint64_t n = 1; n <= 20; ++n) {
    first.add(n, kMinute, world.now);
    world.run(milliseconds{1'000});
    EXPECT_EQ(world.listed(n), 5U);
    world.run(milliseconds{static_cast<std::int64_t>(world.random() % 15'000)});
  }
  const auto entry = world.replicas[3]->bank->get(world.replicas[3]->list, key(20), world.now);
  ASSERT_TRUE(entry);
  EXPECT_EQ(entry->policy, "p");
  EXPECT_EQ(entry->parts, std::vector<std::string>{"k20"});
}

TEST(ListSync, ARemovalIsHeardWithinASecondToo) {
  World world;
  for (int i = 0; i < 3; ++i) world.add();
  world.replicas[0]->add(1, kMinute * 60, world.now);
  world.run(milliseconds{30'000});
  ASSERT_EQ(world.listed(1), 3U);
  EXPECT_TRUE(world.replicas[2]->remove(1, world.now));
  world.run(milliseconds{1'000});
  EXPECT_EQ(world.listed(1), 0U);
  world.replicas[1]->add(1, kMinute, world.now);  // again, and for less
  world.run(milliseconds{1'000});
  EXPECT_EQ(world.listed(1), 3U);
  EXPECT_LE(*world.replicas[0]->until(1, world.now), world.now + kMinute);
}

TEST(ListSync, RemovedAndListedAnewForLessBeforeAnybodyHeard) {
  World world;
  Replica& first = world.add();
  Replica& second = world.add();
  first.add(1, kMinute * 60, world.now);
  world.run(milliseconds{2'000});
  first.remove(1, world.now);
  first.add(1, kMinute, world.now);
  const TimePoint until = world.now + kMinute;
  world.run(milliseconds{1'000});
  EXPECT_EQ(first.until(1, world.now), until);
  EXPECT_EQ(second.until(1, world.now), until);
}

/// A listing that comes after a removal holds everywhere within a second, also where its replica
/// has not heard of the removal and takes the key for listed: for as long, for longer or for less.
TEST(ListSync, AListingAfterARemovalThatItHasNotHeardOfHoldsEverywhere) {
  for (const milliseconds term : {kMinute * 60, kMinute * 90, kMinute}) {
    for (const milliseconds gap : {milliseconds{0}, milliseconds{5}, milliseconds{50}}) {
      for (const bool away : {false, true}) {
        SCOPED_TRACE(std::to_string(term.count()) + " after " + std::to_string(gap.count()) +
                     (away ? " away" : ""));
        World world;
        Replica& first = world.add();
        Replica& second = world.add();
        world.add();
        first.add(1, kMinute * 60, world.now);
        world.run(milliseconds{30'000});
        world.up = !away;
        first.remove(1, world.now);
        world.run(gap);
        world.now += milliseconds{1};  // after the removal, not with it
        second.add(1, term, world.now);
        const TimePoint until = *second.until(1, world.now);
        EXPECT_GE(until, world.now + term);
        if (away) world.run(milliseconds{500});
        world.up = true;
        world.run(milliseconds{away ? 5'000 : 1'000});
        for (const auto& replica : world.replicas) EXPECT_EQ(replica->until(1, world.now), until);
      }
    }
  }
}

/// As above, where a third replica lists the key for less after the removal.
TEST(ListSync, AnExtensionIsSentInTimeForATermThatOthersMadeShorter) {
  World world;
  Replica& first = world.add();
  Replica& second = world.add();
  first.add(1, kMinute * 60, world.now);
  world.run(milliseconds{30'000});
  first.remove(1, world.now);
  first.add(1, milliseconds{8'000}, world.now);
  second.add(1, kMinute * 90, world.now + milliseconds{2});  // due in a minute
  const TimePoint until = *second.until(1, world.now);
  for (int i = 0; i < 200; ++i) {
    world.run(milliseconds{100});
    ASSERT_EQ(world.listed(1), 2U) << i;
  }
  EXPECT_EQ(first.until(1, world.now), until);
}

/// Entries of others for which a replica had no room come once it has some: because its `max` was
/// raised, or because entries ended.
TEST(ListSync, EntriesWithoutRoomAreFetchedOnceThereIsSome) {
  World world;
  Replica& first = *world.replicas.emplace_back(std::make_unique<Replica>(1, milliseconds{0}, 3));
  Replica& second = *world.replicas.emplace_back(std::make_unique<Replica>(2, milliseconds{0}, 9));
  world.number = 2;
  for (std::uint64_t n = 1; n <= 3; ++n)
    first.add(n, n == 1 ? milliseconds{100'000} : kMinute * 60, world.now);
  world.run(milliseconds{2'000});
  for (std::uint64_t n = 4; n <= 7; ++n) second.add(n, kMinute * 60, world.now);
  world.run(milliseconds{90'000});
  for (std::uint64_t n = 4; n <= 7; ++n) EXPECT_FALSE(first.until(n, world.now)) << n;
  const std::uint64_t rounds = first.sync->stats().rounds;
  world.run(milliseconds{5'000});
  EXPECT_EQ(first.sync->stats().rounds, rounds) << "no round while there is no room";
  world.run(milliseconds{10'000});  // the first entry has ended
  EXPECT_EQ(first.until(4, world.now).has_value() + first.until(5, world.now).has_value() +
                first.until(6, world.now).has_value() + first.until(7, world.now).has_value(),
            1);
  EXPECT_EQ(first.bank->open("gray", 9).value().index, first.list.index);
  first.sync->set_max(9);
  world.run(milliseconds{2'000});
  for (std::uint64_t n = 4; n <= 7; ++n) EXPECT_TRUE(first.until(n, world.now)) << n;
}

TEST(ListSync, OneReplicaMadeTheEntry) {
  World world;
  for (int i = 0; i < 3; ++i) world.add();
  world.run(milliseconds{3'000});
  for (std::uint64_t n = 1; n <= 10; ++n) {  // at all of them in the same moment
    for (const auto& replica : world.replicas) replica->add(n, kMinute, world.now);
    world.run(milliseconds{1'500});
    int made = 0;
    for (const auto& replica : world.replicas) {
      const auto maker = replica->sync->maker(key(n));
      EXPECT_NE(maker, ListSync::Maker::not_known_yet);
      made += maker == ListSync::Maker::here ? 1 : 0;
    }
    EXPECT_EQ(made, 1);
  }
}

TEST(ListSync, TheMakerIsKnownAlsoWhenTheAnswerWasLost) {
  World world;
  Replica& first = world.add();
  Replica& second = world.add();
  world.run(milliseconds{1'000});
  world.losses = 60;
  first.add(1, kMinute, world.now);
  world.run(milliseconds{15'000});
  world.losses = 0;
  world.run(milliseconds{1'000});
  EXPECT_EQ(first.sync->maker(key(1)), ListSync::Maker::here);
  EXPECT_EQ(second.sync->maker(key(1)), ListSync::Maker::elsewhere);
}

TEST(ListSync, LongerTermsAreToldInTimeButSeldom) {
  World world;
  Replica& first = world.add();
  Replica& second = world.add();
  first.add(1, milliseconds{900'000}, world.now);
  world.run(milliseconds{1'000});
  const std::uint64_t before = first.sync->stats().sent;
  for (int i = 0; i < 600; ++i) {  // a listed key at ten requests a second
    first.add(1, milliseconds{900'000}, world.now);
    world.run(milliseconds{100});
  }
  EXPECT_LE(first.sync->stats().sent - before, 2U);
  const std::uint64_t calls = world.calls;
  world.run(milliseconds{880'000});  // the first term has ended long ago, the extended one has not
  EXPECT_EQ(world.listed(1), 2U);
  EXPECT_EQ(*second.until(1, world.now), *first.until(1, world.now));
  EXPECT_LE(world.calls - calls, 2U * 900'000U / 690U) << "idle polls";
  // A short term is sent before it ends elsewhere.
  first.add(2, milliseconds{1'200}, world.now);
  world.run(milliseconds{900});
  first.add(2, milliseconds{1'200}, world.now);
  world.run(milliseconds{500});
  EXPECT_TRUE(second.until(2, world.now));
}

TEST(ListSync, ALateReplicaLearnsAllAndARestartedOneBringsWhatItHas) {
  World world;
  Replica& first = world.add();
  for (std::uint64_t n = 0; n < 1'000; ++n) first.add(n, kMinute, world.now);
  world.run(milliseconds{2'000});
  Replica& late = world.add();
  world.run(milliseconds{1'000});
  for (std::uint64_t n = 0; n < 1'000; ++n) ASSERT_TRUE(late.until(n, world.now)) << n;
  // The store has forgotten everything, and so has the process that knew it first.
  std::string saved;
  late.bank->export_all(world.now, saved);
  world.replicas.clear();
  world.store.data = {};
  world.run(milliseconds{1'000});
  Replica& again = world.add();
  ASSERT_TRUE(again.bank->import(saved, world.now));
  Replica& fresh = world.add();
  world.run(milliseconds{1'500});
  for (std::uint64_t n = 0; n < 1'000; ++n) ASSERT_TRUE(fresh.until(n, world.now)) << n;
}

TEST(ListSync, AFlushedStoreIsFilledAgainWithEntriesAndTombstones) {
  World world;
  Replica& first = world.add();
  Replica& away = world.add();
  for (std::uint64_t n = 0; n < 300; ++n) first.add(n, kMinute * 10, world.now);
  world.run(milliseconds{2'000});
  auto gone = std::move(world.replicas[1]);
  world.replicas.pop_back();
  first.remove(7, world.now);
  world.run(milliseconds{1'000});
  world.store.data = {};  // FLUSHALL
  world.run(milliseconds{2'000});
  EXPECT_EQ(world.store.data.records.size(), 300U);
  world.replicas.push_back(std::move(gone));  // which still has what was removed meanwhile
  away.sync->doubt();
  world.run(milliseconds{2'000});
  EXPECT_EQ(world.listed(7), 0U);
  EXPECT_EQ(world.listed(8), 2U);
}

TEST(ListSync, WhatHappenedWhileTheStoreWasAwayIsMergedWhenItComes) {
  World world;
  Replica& first = world.add(milliseconds{-40'000});
  Replica& second = world.add(milliseconds{90'000});
  first.add(1, kMinute * 30, world.now);
  first.add(2, kMinute * 30, world.now);
  world.run(milliseconds{1'000});
  world.up = false;
  world.run(milliseconds{10'000});
  first.add(3, kMinute * 30, world.now);
  second.remove(1, world.now);
  world.run(milliseconds{1'000});
  first.add(1, kMinute * 30, world.now);  // longer, and after the removal that it knows nothing of
  first.remove(2, world.now);
  second.add(4, kMinute * 5, world.now);
  world.run(milliseconds{600'000});
  EXPECT_FALSE(second.until(3, world.now));
  world.up = true;
  world.run(milliseconds{2'000});
  EXPECT_EQ(world.listed(1), 2U);
  EXPECT_EQ(world.listed(2), 0U);
  EXPECT_EQ(world.listed(3), 2U);
  EXPECT_EQ(world.listed(4), 0U) << "over";
}

TEST(ListSync, AFailOverThatLosesTheLatestWritesLosesNoEntry) {
  World world;
  Replica& first = world.add();
  Replica& second = world.add();
  first.add(1, kMinute * 10, world.now);
  first.add(2, kMinute * 10, world.now);
  world.run(milliseconds{2'000});
  const ListModel::Data promoted = world.store.data;
  second.add(3, kMinute * 10, world.now);
  first.remove(2, world.now);
  world.run(milliseconds{2'000});
  world.store.data = promoted;
  first.add(4, kMinute * 10, world.now);
  for (const auto& replica : world.replicas) replica->sync->doubt();
  world.run(milliseconds{2'000});
  Replica& late = world.add();
  world.run(milliseconds{1'000});
  for (const std::uint64_t n : {1U, 3U, 4U}) EXPECT_EQ(world.listed(n), 3U) << n;
  EXPECT_EQ(world.listed(2), 0U);
  EXPECT_TRUE(late.until(3, world.now));
}

TEST(ListSync, ClocksNeedNotAgreeAndMayStep) {
  World world;
  world.store_clock = milliseconds{-3'600'000};
  Replica& first = world.add(milliseconds{7'200'000});
  Replica& second = world.add(milliseconds{-100'000});
  first.add(1, kMinute * 2, world.now);
  const TimePoint until = world.now + kMinute * 2;
  world.run(milliseconds{2'000});
  EXPECT_EQ(second.until(1, world.now), until);
  second.clock += milliseconds{10'000};  // it now runs ahead of what it measured
  world.run(milliseconds{5'000});
  second.add(2, kMinute, world.now);
  const TimePoint end = world.now + kMinute;
  world.run(milliseconds{1'000});
  EXPECT_EQ(first.until(2, world.now), end);
}

TEST(ListSync, AFullListOfTheStoreRefusesAndTheReplicaKeepsItsOwn) {
  World world;
  auto& first = *world.replicas.emplace_back(std::make_unique<Replica>(1, milliseconds{0}, 1));
  constexpr std::size_t kRoom = 2 * 1 + 1024;
  const auto name = [](std::size_t n) {
    return std::string(8, '\0') + std::to_string(10'000'000 + n);
  };
  for (std::size_t n = 0; n < kRoom; ++n)  // others', in force
    world.store.data.records[name(n)].until = static_cast<double>(to_ms(world.now + 60 * kMinute));
  world.store.data.epoch = std::string(16, 'e');
  first.add(1, 60 * kMinute, world.now);
  world.run(milliseconds{1'000});
  EXPECT_TRUE(first.until(1, world.now));
  EXPECT_EQ(first.sync->stats().refused, 1U);
  EXPECT_EQ(first.sync->stats().pending, 0U);

  world.run(3 * ListSync::kRefusedAgain + milliseconds{5'000});
  EXPECT_EQ(first.sync->stats().refused, 1U) << "it is sent again, and is the same entry";
  world.store.data.records.erase(name(7));
  world.run(ListSync::kRefusedAgain + milliseconds{2'000});
  EXPECT_EQ(world.store.data.records.size(), kRoom);
  EXPECT_EQ(first.sync->stats().refused, 1U);
  Replica& second = world.add();
  world.run(milliseconds{2'000});
  EXPECT_TRUE(second.until(1, world.now));
}

/// A listing whose end has passed when it arrives is not written, so no tombstone gives way to it.
TEST(ListSync, NothingGivesWayToWhatIsNotWritten) {
  ListModel store;
  const double now = 1'700'000'000'000;
  ListQuestion question;
  question.origin = ListOrigin::of(1);
  question.fresh.fill('e');
  question.changes_most = 8;
  question.keys_most = 1;
  const auto call = [&](const ListOp& op) {
    std::string words;
    append_question(words, question);
    append_op(words, op);
    ListAnswer answer;
    EXPECT_TRUE(read_answer(store.call(words, now * 1000), 1, answer));
    return answer.results.at(0);
  };
  ListOp removal, over;
  removal.key = key(1);
  removal.removed = static_cast<std::int64_t>(now);
  EXPECT_TRUE(call(removal).changed);
  over.key = key(2);
  over.listed = static_cast<std::int64_t>(now) - 60'000;
  over.until = over.needed = static_cast<std::int64_t>(now) - 1;
  const ListResult result = call(over);
  EXPECT_FALSE(result.changed);
  EXPECT_FALSE(result.full);
  EXPECT_EQ(store.data.records.size(), 1U);
  over.until = over.needed = static_cast<std::int64_t>(now) + 60'000;
  EXPECT_TRUE(call(over).changed);
}

TEST(ListSync, ForeignRecordsAndAnswersDoNoHarm) {
  World world;
  Replica& first = world.add();
  world.run(milliseconds{500});
  ListModel::Record bad;
  bad.until = 9e15;
  bad.maker = "12345678";
  bad.entry = "no entry";
  world.store.data.epoch = std::string(16, 'e');
  world.store.data.records[std::string(16, 'x')] = bad;
  world.store.data.order[1] = std::string(16, 'x');
  bad.until = std::nan("");
  world.store.data.records[std::string(16, 'y')] = bad;
  world.store.data.order[2] = std::string(16, 'y');
  world.store.data.last = 2;
  world.run(milliseconds{2'000});
  EXPECT_EQ(first.bank->size(first.list), 0U);
  std::string words;
  first.sync->ask(words, world.now);
  Reply odd;
  odd.add(Reply::Type::array);
  odd.add_text(Reply::Type::string, "what?");
  EXPECT_FALSE(first.sync->answered(odd, world.now));
  first.add(1, kMinute, world.now);
  world.run(milliseconds{3'000});
  EXPECT_EQ(world.store.data.records.size(), 3U);
}

/// The expected result of all changes, in the order of true time: the last change of a key
/// counts.
struct Truth {
  struct Key {
    std::optional<TimePoint> until;  // nothing: removed
    TimePoint latest{};              // the latest end that it was given
    TimePoint changed{};
  };
  std::map<std::uint64_t, Key> keys;
};

void random_schedule(std::uint64_t seed) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  World world;
  world.random.seed(seed);
  const auto pick = [&](std::uint64_t n) { return world.random() % n; };
  world.store_clock = milliseconds{static_cast<std::int64_t>(pick(100'000))};
  const std::size_t count = 2 + pick(4);
  for (std::size_t i = 0; i < count; ++i) {
    world.add(milliseconds{static_cast<std::int64_t>(pick(20'000)) - 10'000});
  }
  Truth truth;
  ListModel::Data promoted;
  TimePoint saved = world.now;
  for (int step = 0; step < 400; ++step) {
    Replica& replica = *world.replicas[pick(count)];
    const std::uint64_t n = pick(25);
    Truth::Key& known = truth.keys[n];
    switch (pick(24)) {
      case 0:
        world.up = !world.up;
        break;
      case 1:
        world.losses = static_cast<unsigned>(pick(3)) * 20;
        break;
      case 2:
        if (pick(4) == 0) world.store.data = {};
        break;
      case 3:  // loses at most a minute, and all replicas see the connection break
        if (world.now - saved < milliseconds{40'000} && promoted.epoch == world.store.data.epoch) {
          world.store.data = promoted;
          for (const auto& each : world.replicas) each->sync->doubt();
        }
        break;
      case 4:
        promoted = world.store.data;
        saved = world.now;
        break;
      case 5: {  // a restart with what its state directory has
        replica.sync->gather(replica.at(world.now));
        if (replica.sync->stats().pending != 0) break;
        std::string state;
        replica.bank->export_all(replica.at(world.now), state);
        auto again = std::make_unique<Replica>(++world.number, replica.clock);
        if (!state.empty()) {
          EXPECT_TRUE(again->bank->import(state, again->at(world.now)));
        }
        for (auto& each : world.replicas) {
          if (each.get() == &replica) each = std::move(again);
        }
        break;
      }
      case 6:
      case 7:
      case 8:
      case 9:
        // Changes within the clocks' error of each other have no order.
        if (world.now - known.changed < milliseconds{100}) break;
        if (replica.remove(n, world.now)) known = {std::nullopt, known.latest, world.now};
        break;
      default: {
        if (world.now - known.changed < milliseconds{100}) break;
        const milliseconds term{static_cast<std::int64_t>(1'000'000 + pick(1'000'000))};
        replica.add(n, term, world.now);
        known.until = std::max(known.until.value_or(TimePoint{}), world.now + term);
        known.latest = std::max(known.latest, world.now + term);
        known.changed = world.now;
      }
    }
    world.run(milliseconds{static_cast<std::int64_t>(pick(2'000))});
  }
  world.up = true;
  world.losses = 0;
  world.run(kMinute + milliseconds{5'000});  // longer terms are sent by then
  for (const auto& [n, expected] : truth.keys) {
    for (std::size_t i = 0; i < count; ++i) {
      const auto until = world.replicas[i]->until(n, world.now);
      ASSERT_EQ(until.has_value(), expected.until.has_value() && *expected.until > world.now)
          << "key " << n << " at replica " << i;
      const auto first = world.replicas[0]->until(n, world.now);
      if (until) {
        ASSERT_LE(std::abs((*until - *first).count()), 2'000) << n;
        // Longer only where a removal came between listings that the store heard of in another
        // order.
        ASSERT_GE(*until, *expected.until - milliseconds{2'000}) << n << " at " << i;
        ASSERT_LE(*until, expected.latest + milliseconds{2'000}) << n << " at " << i;
      }
    }
  }
  for (const auto& replica : world.replicas) ASSERT_EQ(replica->sync->stats().pending, 0U);
}

TEST(ListSync, RandomSchedulesEndInWhatHappenedLast) {
  std::uint64_t seed = ::weir::test::new_seed();
  for (int i = 0; i < 40; ++i, ++seed) {
    random_schedule(seed);
    if (testing::Test::HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace weir::store::list_sync_test
