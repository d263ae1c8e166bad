#include "tests/store/pattern_contract.h"

#include <algorithm>
#include <iostream>
#include <random>
#include <sstream>

#include "tests/limiter/naive_patterns.h"
#include "tests/support/seed.h"

namespace weir::store::test {
namespace {

using namespace limiter;

constexpr std::int64_t kPatternStart = 1'700'000'000'000;

PatternSpec random_spec(std::mt19937_64& random) {
  const auto below = [&](std::uint64_t n) { return random() % n; };
  PatternSpec out;
  out.within = milliseconds(1 + below(40));
  out.late = milliseconds(below(30));
  if (below(4) == 0) out.keep = 1 + below(4);
  switch (below(3)) {
    case 0:
      out.kind = PatternSpec::Kind::absence;
      out.tied = below(2) == 0;
      break;
    case 1:
      out.kind = PatternSpec::Kind::pair;
      out.within = milliseconds(0);
      out.before = milliseconds(below(20));
      out.after = milliseconds(below(20));
      break;
    default:
      out.steps = static_cast<std::uint8_t>(2 + below(3));
      out.strict = below(3) == 0;
      out.overlap = below(2) == 0;
  }
  return out;
}

std::string spelt(const PatternMatch& match) {
  std::ostringstream out;
  out << to_ms(match.fires) - kPatternStart << " kind " << int(match.kind) << ':';
  for (unsigned i = 0; i < match.count; ++i) {
    const auto& e = match.events[i];
    out << " [" << int(e.step) << " at " << to_ms(e.ts) - kPatternStart << " line " << e.line
        << ']';
  }
  return out.str() + " \"" + match.payload + "\"";
}
std::vector<std::string> spelt(const PatternMatches& matches) {
  std::vector<std::string> out;
  for (const PatternMatch& match : matches) out.push_back(spelt(match));
  return out;
}

/// One pattern in a store: asks, as one replica would.
class Asked {
 public:
  Asked(World& world, SharedStore& store, const SharedPattern& pattern, std::uint64_t origin,
        bool forgets = true)
      : world_(world), store_(store), pattern_(pattern), id_{origin, 0}, forgets_(forgets) {}

  PatternReply say(SharedVerb verb, const std::string& key, unsigned shard,
                   const PatternEvent& event, TimePoint now, bool again = false) {
    if (!again) ++id_.sequence;
    Ask batch;
    const std::string tag = pattern_.has_deadlines() ? pattern_.tag(shard) : key;
    SharedOp& op = batch.add(verb, {}, tag);
    const PatternAsk what{&pattern_, key, event, forgets_};
    op.pattern = &what;
    op.id = id_;
    op.at = event.ts;
    op.now = now;
    op.again = again;
    batch.run(world_, store_);
    EXPECT_EQ(batch.answers[0].error, SharedError::none);
    return std::move(batch.answers[0].pattern);
  }
  /// Of all shards, in the order of time, then of arrival.
  PatternMatches due(TimePoint watermark, milliseconds lease = milliseconds(0)) {
    return due(watermark, lease, watermark);
  }
  PatternMatches due(TimePoint watermark, milliseconds lease, TimePoint now) {
    PatternMatches out;
    if (!pattern_.has_deadlines()) return out;
    Ask batch;
    const PatternAsk what{&pattern_, {}, {}, forgets_};
    for (unsigned shard = 0; shard < SharedPattern::kShards; ++shard) {
      SharedOp& op = batch.add(SharedVerb::due, {}, pattern_.tag(shard));
      op.pattern = &what;
      op.at = watermark;
      op.now = now;
      op.lifetime = lease;
    }
    batch.run(world_, store_);
    for (SharedReply& reply : batch.answers) {
      EXPECT_EQ(reply.error, SharedError::none);
      EXPECT_GT(reply.pattern.next, now) << "whoever asks again at once finds nothing";
      for (PatternMatch& match : reply.pattern.matches) out.push_back(std::move(match));
    }
    std::sort(out.begin(), out.end(), [](const PatternMatch& a, const PatternMatch& b) {
      return a.fires != b.fires ? a.fires < b.fires : a.order < b.order;
    });
    return out;
  }

 private:
  World& world_;
  SharedStore& store_;
  const SharedPattern& pattern_;
  SharedId id_;
  bool forgets_;
};

void one_schedule(World& world, SharedStore& store, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto below = [&](std::uint64_t n) { return random() % n; };
  const PatternSpec spec = random_spec(random);
  const SharedPattern pattern({seed, 0x9A77}, spec);
  const bool forgets = below(2) == 0;
  Asked shared(world, store, pattern, seed, forgets);
  PatternBank local({std::uint64_t{8} << 20, 1, forgets});
  const PatternId id = *local.open({seed, 1}, spec);
  const std::string about = "seed " + std::to_string(seed) + ", kind " +
                            std::to_string(int(spec.kind)) + ", keep " + std::to_string(spec.keep) +
                            (forgets ? "" : ", which forgets nothing");
  struct Heard {
    std::vector<PatternEvent> events;
    std::vector<std::string> rows;
  };
  std::map<std::string, Heard> heard;
  TimePoint now = from_ms(kPatternStart);
  std::deque<std::string> payloads;
  for (std::uint64_t line = 1; line <= 60; ++line) {
    now += milliseconds(below(3) == 0 ? 0 : below(12));
    if (below(3) == 0) {
      const TimePoint watermark = now - milliseconds(1);
      PatternMatches expected;
      local.advance(watermark, expected);
      ASSERT_EQ(spelt(shared.due(watermark)), spelt(expected)) << about << ", line " << line;
    }
    const std::string key = "k" + std::to_string(below(3));
    const unsigned shard = static_cast<unsigned>(key.back() - '0') % 2;
    PatternEvent event;
    event.ts =
        now -
        milliseconds(below(4) == 0 ? below(static_cast<std::uint64_t>(spec.late.count()) + 1) : 0);
    event.line = line;
    event.steps = static_cast<std::uint8_t>(below(1U << spec.steps));
    event.among = below(2) == 0;
    payloads.push_back("of " + key + " " + std::to_string(line));
    event.payload = payloads.back();
    const Hash128 hash{static_cast<std::uint64_t>(key.back()), seed};
    if (spec.kind == PatternSpec::Kind::sequence) {  // the store forgets when it looks
      PatternMatches none;
      local.advance(now - milliseconds(1), none);
    }
    const PatternView view = local.peek(id, hash, event);
    PatternMatches would;
    local.refuse(id, hash, event, would);
    const PatternReply looked = shared.say(SharedVerb::look, key, shard, event, now);
    EXPECT_EQ(looked.view.completes, view.completes) << about << ", line " << line;
    EXPECT_EQ(looked.view.open, view.open) << about << ", line " << line;
    EXPECT_EQ(looked.view.furthest, view.furthest) << about << ", line " << line;
    EXPECT_EQ(spelt(looked.matches), spelt(would)) << about << ", line " << line;
    const std::uint64_t dropped = local.stats().dropped;
    PatternMatches expected;
    local.feed(id, hash, event, expected);
    const PatternReply fed = shared.say(SharedVerb::add, key, shard, event, now);
    ASSERT_EQ(spelt(fed.matches), spelt(expected)) << about << ", line " << line;
    EXPECT_EQ(fed.matched, expected.size());
    EXPECT_EQ(fed.dropped, local.stats().dropped - dropped) << about << ", line " << line;
    heard[key].events.push_back(event);
    for (const PatternMatch& match : fed.matches) {
      std::vector<std::uint64_t> lines;
      for (unsigned i = 0; i < match.count; ++i) lines.push_back(match.events[i].line);
      std::ostringstream row;
      for (const std::uint64_t at : lines) row << at << ' ';
      heard[key].rows.push_back(row.str());
    }
  }
  if (spec.kind != PatternSpec::Kind::sequence || spec.keep != 1000) return;
  for (const auto& [key, what] : heard) {  // and as a list of every event says
    std::vector<std::string> expected;
    for (const naive::Row& row : naive::sequence(spec, what.events)) {
      std::ostringstream out;
      for (const std::uint64_t at : std::get<2>(row)) out << at << ' ';
      expected.push_back(out.str());
    }
    ASSERT_EQ(what.rows, expected) << about << ", key " << key;
  }
}

}  // namespace

void patterns_are_those_of_the_local_bank(World& world, SharedStore& store, int rounds) {
  const std::uint64_t seed = ::weir::test::new_seed();
  std::cout << "seed " << seed << '\n';
  for (int round = 0; round < rounds && !::testing::Test::HasFatalFailure(); ++round) {
    one_schedule(world, store, seed + static_cast<std::uint64_t>(round));
  }
}

void an_event_that_is_sent_again_counts_once(World& world, SharedStore& store) {
  PatternSpec spec;
  spec.within = milliseconds(1'000);
  const SharedPattern twice({77, std::random_device()()}, spec);
  Asked sequence(world, store, twice, 5);
  const TimePoint now = from_ms(kPatternStart);
  PatternEvent a{now, 1, 1, false, {}}, b{now, 2, 2, false, {}};
  sequence.say(SharedVerb::add, "k", 0, a, now);
  EXPECT_EQ(sequence.say(SharedVerb::add, "k", 0, a, now, true).matched, 0U);
  EXPECT_EQ(sequence.say(SharedVerb::look, "k", 0, b, now).view.open, 1U);
  EXPECT_EQ(sequence.say(SharedVerb::add, "k", 0, b, now).matched, 1U);
  EXPECT_EQ(sequence.say(SharedVerb::add, "k", 0, b, now, true).matched, 1U) << "it says so again";
  EXPECT_EQ(sequence.say(SharedVerb::add, "k", 0, b, now).matched, 0U) << "another one";

  spec.kind = PatternSpec::Kind::absence;
  const SharedPattern unpaid({78, std::random_device()()}, spec);
  Asked absence(world, store, unpaid, 6);
  a.payload = "who waits";
  absence.say(SharedVerb::add, "k", 3, a, now);
  absence.say(SharedVerb::add, "k", 3, a, now, true);
  const PatternMatches fired = absence.due(now + milliseconds(1'000));
  ASSERT_EQ(fired.size(), 1U);
  EXPECT_EQ(fired[0].payload, "who waits");
  EXPECT_EQ(fired[0].key, "k");
  EXPECT_EQ(fired[0].fires, now + milliseconds(1'000));
  EXPECT_TRUE(absence.due(now + milliseconds(9'000)).empty());
}

void what_is_lent_comes_back_unless_it_is_seen_to(World& world, SharedStore& store) {
  PatternSpec spec;
  spec.kind = PatternSpec::Kind::absence;
  spec.within = milliseconds(1'000);
  const SharedPattern unpaid({79, std::random_device()()}, spec);
  Asked absence(world, store, unpaid, 7);
  const TimePoint now = from_ms(kPatternStart);
  const auto wait = [&](const std::string& key, TimePoint at) {
    PatternEvent a{at, 1, 1, false, {}};
    a.payload = key;
    absence.say(SharedVerb::add, key, 0, a, at);
  };
  wait("dies", now);
  wait("acts", now);
  const TimePoint due = now + milliseconds(1'000);
  constexpr milliseconds kLease(10'000);
  EXPECT_EQ(absence.due(due, kLease).size(), 2U);
  EXPECT_TRUE(absence.due(due + milliseconds(1), kLease).empty()) << "somebody is at it";
  wait("acts", due + milliseconds(2));  // of another time
  absence.say(SharedVerb::done, "acts", 0, {due + kLease, 0, 0, false, {}}, due);
  const PatternMatches again = absence.due(due + kLease, kLease);
  std::vector<std::string> keys;
  for (const PatternMatch& match : again) keys.push_back(match.payload);
  std::sort(keys.begin(), keys.end());
  EXPECT_EQ(keys, (std::vector<std::string>{"acts", "dies"})) << "the new one, and what was lent";
}

void two_leases_of_one_key_are_two(World& world, SharedStore& store) {
  PatternSpec spec;
  spec.within = milliseconds(1'000);
  constexpr milliseconds kLease(10'000);
  for (const PatternSpec::Kind kind : {PatternSpec::Kind::absence, PatternSpec::Kind::pair}) {
    spec.kind = kind;
    spec.after = spec.before = milliseconds(1'000);
    const SharedPattern pattern({80 + static_cast<std::uint64_t>(kind), std::random_device()()},
                                spec);
    Asked asked(world, store, pattern, 8);
    const TimePoint now = from_ms(kPatternStart);
    const auto wait = [&](const std::string& name, TimePoint at) {
      PatternEvent a{at, 1, 1, false, {}};
      a.payload = name;
      asked.say(SharedVerb::add, "k", 0, a, at);
    };
    const auto payloads_at = [&](TimePoint watermark, TimePoint at) {
      std::vector<std::string> out;
      for (const PatternMatch& match : asked.due(watermark, kLease, at))
        out.push_back(match.payload);
      return out;
    };
    const auto payloads = [&](TimePoint watermark) { return payloads_at(watermark, watermark); };
    using Payloads = std::vector<std::string>;
    wait("first", now);
    wait("second", now + milliseconds(3'000));
    const TimePoint one = now + milliseconds(1'000), two = now + milliseconds(4'000);
    EXPECT_EQ(payloads(one), Payloads{"first"});  // the caller dies
    EXPECT_TRUE(payloads_at(two, one).empty())
        << "another replica asks in the same millisecond: its lease would have the same name";
    EXPECT_EQ(payloads(two), Payloads{"second"});
    asked.say(SharedVerb::done, "k", 0, {two + kLease, 0, 0, false, {}}, two);
    EXPECT_TRUE(payloads(one + kLease - milliseconds(1)).empty());
    EXPECT_EQ(payloads(one + kLease), Payloads{"first"})
        << "neither removed by what ended the other lease, nor lent for longer by it";
    asked.say(SharedVerb::done, "k", 0, {one + 2 * kLease, 0, 0, false, {}}, one + kLease);
    EXPECT_TRUE(payloads(one + 3 * kLease).empty());
  }
}

void whole_pattern_contract(World& world, SharedStore& store, int rounds) {
  patterns_are_those_of_the_local_bank(world, store, rounds);
  an_event_that_is_sent_again_counts_once(world, store);
}

}  // namespace weir::store::test
