// An operation that is sent again takes effect once, whatever became of the first attempt: the
// server refused it, the connection broke before it was executed, or after.
#include <algorithm>
#include <cmath>
#include <iostream>
#include <random>

#include "tests/store/faulty_peer.h"
#include "tests/store/world.h"
#include "tests/support/seed.h"

namespace weir::store::resent_test {
namespace {

using limiter::SharedCounter;
using limiter::SharedError;
using limiter::SharedForm;
using limiter::SharedOp;
using limiter::SharedPart;
using limiter::SharedReply;
using limiter::SharedVerb;
using limiter::Window;
using test::Ask;
using test::Fault;
using test::FaultyPeer;
using test::World;
using weir::test::RedisServer;

constexpr milliseconds kPatience{20'000};
constexpr Fault kFaults[] = {Fault::refused, Fault::lost_before, Fault::lost_after};

/// One counter of each kind that knows outcomes, with them. Else: those that don't, and those of
/// totals as replicas exchange them.
std::deque<SharedCounter> counters_that_remember(bool outcomes) {
  std::deque<SharedCounter> out;
  for (const limiter::Kind& kind : limiter::kinds()) {
    limiter::CounterSpec spec;
    spec.metric = kind.metric;
    spec.window = kind.window;
    spec.real = kind.real;
    if (kind.near) spec.radius = 1'000;
    spec.events = 5;
    spec.capacity = 9;
    spec.drain = milliseconds(100'000'000);
    spec.length = milliseconds(3'600'000);
    spec.unit = CalendarUnit::month;
    spec.zone = TimeZone::find("UTC");
    const bool knows = kind.metric != Metric::last;
    const bool total = kind.shared == SharedForm::fixed || kind.shared == SharedForm::ring;
    if (outcomes ? !knows : knows && !total) continue;
    spec.outcome = outcomes;
    // Unsent by replicas, most totals go out as plain operations first.
    out.emplace_back(Hash128{1000 + out.size(), outcomes}, spec, !outcomes && total);
  }
  return out;
}

/// One of each form that does not remember its events.
std::deque<SharedCounter> counters_that_do_not() {
  std::deque<SharedCounter> out;
  for (const Window window : {Window::every, Window::ring, Window::log}) {
    limiter::CounterSpec spec;
    spec.metric = window == Window::log ? Metric::count : Metric::sum;
    spec.window = window;
    spec.length = milliseconds(3'600'000);
    out.emplace_back(Hash128{2000 + out.size(), 5}, spec);
  }
  limiter::CounterSpec spec;
  spec.metric = Metric::sum;
  spec.window = Window::every;
  spec.length = milliseconds(3'600'000);
  out.push_back(SharedCounter::decimal({2000 + out.size(), 5}, spec));
  return out;
}

/// Does the same to all counters at once, each operation on a key of its own.
class Counters {
 public:
  Counters(World& world, std::deque<SharedCounter> counters)
      : world_(world), counters_(std::move(counters)) {
    datum_.type = limiter::Datum::Type::text;
    datum_.text = "seen";
  }

  std::size_t size() const noexcept { return counters_.size(); }
  const SharedCounter& operator[](std::size_t i) const noexcept { return counters_[i]; }

  /// `event` names the event; `of`: the replies to what it counted or reserved before.
  std::vector<SharedReply> run(RedisStore& store, SharedVerb verb, const std::string& key,
                               std::uint64_t event, const std::vector<SharedReply>& of = {}) {
    Ask ask;
    for (std::size_t i = 0; i < counters_.size(); ++i) {
      SharedPart part;
      part.counter = &counters_[i];
      if (!of.empty()) part.undo = of[i].parts[0].undo;
      SharedOp& op = ask.add(verb, {part}, key + std::to_string(i));
      op.event.amount = part.counter->spec.metric == Metric::count ? 2 : 3;
      op.event.member = 0x1122334455667788U + event;
      op.event.datum = &datum_;
      op.lifetime = milliseconds(60'000);
      op.id = {79, 1000 * event + i};
      if (!of.empty()) op.at = of[i].at;
    }
    ask.patient = true;
    ask.run(world_, store, kPatience);
    return std::move(ask.answers);
  }
  std::vector<SharedReply> read(RedisStore& store, const std::string& key) {
    return run(store, SharedVerb::read, key, 0);
  }

 private:
  World& world_;
  std::deque<SharedCounter> counters_;
  limiter::Datum datum_;
};

std::string spelt(const SharedReply& reply) {
  limiter::Reading r = reply.parts[0].reading;
  for (Number* number : {&r.value, &r.settled}) {  // buckets drain meanwhile
    if (number->is_real()) *number = Number::real(std::round(number->as_real() * 100) / 100);
  }
  return std::string(row_of(reply.error).name) + (reply.admitted ? " in " : " out ") +
         (r.has_value ? r.value.to_string() : "none") + " " + r.settled.to_string() + " " +
         std::to_string(r.in_flight);
}

bool needs_outcomes(SharedVerb verb) {
  return verb == SharedVerb::reserve || verb == SharedVerb::settle || verb == SharedVerb::release;
}

/// The history of an event before the operation that is sent again.
struct Case {
  std::string_view name;
  std::vector<SharedVerb> before;
  SharedVerb verb;
  bool is_renewal = false;  ///< its answer is not read
};
const std::vector<Case>& cases() {
  using enum SharedVerb;
  static const std::vector<Case> all = {
      {"add", {}, add},
      {"take back", {add}, take_back},
      {"reset", {add}, reset},
      {"look", {}, look},
      {"read", {add}, read},
      {"reserve", {}, reserve},
      {"renew", {reserve}, reserve, true},
      {"settle", {reserve}, settle},
      {"settle what has not been reserved", {}, settle},
      {"release", {reserve}, release},
      {"take back what is settled", {reserve, settle}, take_back},
  };
  return all;
}

/// Of the kinds with outcomes, or without.
class Resent : public ::testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Outcomes, Resent, ::testing::Bool());

TEST_P(Resent, WhatIsSentAgainCountsOnce) {
  RedisServer redis;
  FaultyPeer peer(redis);
  World world;
  const auto direct = test::connected(world, test::unix_settings(redis.path()));
  const auto faulty = test::connected(world, test::unix_settings(peer.path()));
  Counters counters(world, counters_that_remember(GetParam()));
  std::uint64_t event = 0;
  for (const Case& each : cases()) {
    const bool needs = needs_outcomes(each.verb) ||
                       std::any_of(each.before.begin(), each.before.end(), needs_outcomes);
    if (needs && !GetParam()) continue;
    for (const Fault fault : kFaults) {
      ++event;
      const std::string mark = std::string(each.name) + ", " + std::string(name_of(fault));
      const auto prepare = [&](const std::string& key) {
        counters.run(*direct, SharedVerb::add, key, 999);  // something else was there before
        std::vector<SharedReply> last;
        for (const SharedVerb verb : each.before) {
          auto replies = counters.run(*direct, verb, key, event, last);
          if (last.empty()) last = std::move(replies);
        }
        return last;
      };
      const std::string one = "one" + std::to_string(event), two = "two" + std::to_string(event);
      const auto of_one = prepare(one), of_two = prepare(two);
      const auto expected = counters.run(*direct, each.verb, one, event, of_one);
      const std::uint64_t resent = faulty->stats().resent;
      peer.arm(fault);
      const auto sent = counters.run(*faulty, each.verb, two, event, of_two);
      EXPECT_TRUE(peer.has_happened());
      EXPECT_GE(faulty->stats().resent, resent + counters.size()) << mark;
      const auto after_one = counters.read(*direct, one), after_two = counters.read(*direct, two);
      for (std::size_t i = 0; i < counters.size(); ++i) {
        const std::string about = mark + ", " + std::string(counters[i].kind->name);
        if (!each.is_renewal) {
          EXPECT_EQ(spelt(sent[i]), spelt(expected[i])) << about;
        }
        EXPECT_EQ(spelt(after_two[i]), spelt(after_one[i])) << about;
      }
    }
  }
}

/// The number of a replica replaces the one before, which is of the same name.
TEST(ResentGauge, ANumberThatIsSentAgainReplacesTheOneBefore) {
  RedisServer redis;
  FaultyPeer peer(redis);
  World world;
  const auto faulty = test::connected(world, test::unix_settings(peer.path()));
  limiter::CounterSpec spec;
  spec.metric = Metric::in_flight;
  spec.window = Window::none;
  spec.real = true;
  const SharedCounter counter({3000, 5}, spec);
  ASSERT_EQ(counter.form, SharedForm::gauges);
  std::int64_t open = 3;
  for (const Fault fault : {Fault::none, Fault::refused, Fault::lost_before, Fault::lost_after}) {
    Ask ask;
    SharedPart part;
    part.counter = &counter;
    SharedOp& op = ask.add(SharedVerb::add, {part}, "k");
    op.event.amount = ++open;
    op.lifetime = milliseconds(60'000);
    op.id = {97, 1};
    ask.patient = true;
    peer.arm(fault);
    ask.run(world, *faulty, kPatience);
    EXPECT_EQ(ask.answers[0].parts[0].reading.value.integer(), open) << name_of(fault);
    op.verb = SharedVerb::read;
    ask.run(world, *faulty, kPatience);
    EXPECT_EQ(ask.answers[0].parts[0].reading.value.integer(), open) << name_of(fault);
  }
}

/// Nobody knows whether it was executed: it counts, or is undone, once or not at all.
TEST(ResentUnknown, WhatTheStoreDoesNotRememberTakesEffectOnceAtMost) {
  RedisServer redis;
  FaultyPeer peer(redis);
  World world;
  const auto direct = test::connected(world, test::unix_settings(redis.path()));
  const auto faulty = test::connected(world, test::unix_settings(peer.path()));
  Counters counters(world, counters_that_do_not());
  std::uint64_t event = 0;
  for (const SharedVerb verb : {SharedVerb::add, SharedVerb::take_back}) {
    const bool adds = verb == SharedVerb::add;
    for (const Fault fault : kFaults) {
      ++event;
      const std::string key = "k" + std::to_string(event);
      counters.run(*direct, SharedVerb::add, key, 998);
      counters.run(*direct, SharedVerb::add, key, 999);
      std::vector<SharedReply> of;
      if (!adds) of = counters.run(*direct, SharedVerb::add, key, event);
      const auto before = counters.read(*direct, key);
      const std::uint64_t resent = faulty->stats().resent;
      peer.arm(fault);
      const auto sent = counters.run(*faulty, verb, key, event, of);
      EXPECT_TRUE(peer.has_happened());
      const bool decided_once = adds && fault != Fault::refused;
      EXPECT_EQ(faulty->stats().resent, resent + (decided_once ? 0 : counters.size()));
      const auto after = counters.read(*direct, key);
      for (std::size_t i = 0; i < counters.size(); ++i) {
        const std::string about = std::string(adds ? "add, " : "take back, ") +
                                  std::string(name_of(fault)) + ", form " +
                                  std::to_string(static_cast<int>(counters[i].form));
        EXPECT_EQ(sent[i].error, decided_once ? SharedError::lost : SharedError::none) << about;
        const std::int64_t amount = counters[i].spec.metric == Metric::count ? 2 : 3;
        const std::int64_t once = fault == Fault::lost_before ? 0 : adds ? amount : -amount;
        EXPECT_EQ(after[i].parts[0].reading.value.integer(),
                  before[i].parts[0].reading.value.integer() + once)
            << about;
      }
    }
  }
}

/// Events begin, are renewed, end and are undone in any order, and any of that meets any fault. The
/// same happens to other keys without faults, and all readings agree.
TEST_P(Resent, RandomSchedulesOfFaultsChangeNoReading) {
  const std::uint64_t seed = ::weir::test::new_seed();
  std::cout << "seed " << seed << '\n';
  std::mt19937_64 random(seed);
  const auto below = [&](std::uint64_t n) { return random() % n; };
  RedisServer redis;
  FaultyPeer peer(redis);
  World world;
  const auto direct = test::connected(world, test::unix_settings(redis.path()));
  const auto faulty = test::connected(world, test::unix_settings(peer.path()));
  Counters counters(world, counters_that_remember(GetParam()));
  struct Event {
    std::uint64_t number;
    bool reserved;
    std::size_t counted;                // how many were before it
    std::vector<SharedReply> one, two;  // its counts or reservations
  };
  constexpr std::size_t kRemembered = 4;  // events of a key (scripts/prelude.lua)
  std::size_t counted = 0;
  std::vector<Event> open;
  constexpr int kSteps = 60;
  for (int step = 1; step <= kSteps && !::testing::Test::HasFailure(); ++step) {
    SharedVerb verb = GetParam() && below(2) == 0 ? SharedVerb::reserve : SharedVerb::add;
    Event event{static_cast<std::uint64_t>(step), verb == SharedVerb::reserve, counted, {}, {}};
    std::erase_if(open, [&](const Event& each) {
      return !each.reserved && each.counted + kRemembered <= counted;
    });
    const bool begins = open.empty() || below(3) == 0;
    if (!begins) {
      const auto at = open.begin() + static_cast<std::ptrdiff_t>(below(open.size()));
      event = std::move(*at);
      open.erase(at);
      constexpr SharedVerb kEnds[] = {SharedVerb::reserve, SharedVerb::settle, SharedVerb::release};
      verb = event.reserved ? kEnds[below(3)] : SharedVerb::take_back;
    }
    // The answer to an event that is sent again says another time than it was counted at: an undo
    // may leave it counted (docs/redis.md).
    const bool may_fail = verb != SharedVerb::add;
    const Fault fault = may_fail && below(2) == 0 ? kFaults[below(3)] : Fault::none;
    auto one = counters.run(*direct, verb, "one", event.number, event.one);
    peer.arm(fault);
    auto two = counters.run(*faulty, verb, "two", event.number, event.two);
    const auto after_one = counters.read(*direct, "one"), after_two = counters.read(*direct, "two");
    for (std::size_t i = 0; i < counters.size(); ++i) {
      EXPECT_EQ(spelt(after_two[i]), spelt(after_one[i]))
          << "seed " << seed << ", step " << step << ", verb " << static_cast<int>(verb) << " of "
          << event.number << ", " << name_of(fault) << ", " << counters[i].kind->name;
    }
    if (verb == SharedVerb::add || verb == SharedVerb::settle) ++counted;
    const bool goes_on = begins || verb == SharedVerb::reserve;
    if (begins) {
      event.one = std::move(one);
      event.two = std::move(two);
    }
    if (goes_on) open.push_back(std::move(event));
  }
}

}  // namespace
}  // namespace weir::store::resent_test
