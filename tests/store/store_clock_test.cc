#include "store/redis/store_clock.h"

#include "core/ticks.h"
#include "tests/store/world.h"
#include "tests/support/redis_server.h"

namespace weir::store::store_clock_test {
namespace {

using limiter::PatternAsk;
using limiter::PatternSpec;
using limiter::SharedError;
using limiter::SharedPattern;
using limiter::SharedVerb;
using std::chrono::seconds;

constexpr TimePoint kShown = from_ms(1'700'000'000'000);

TEST(StoreClock, KnowsNothingUntilItIsTold) {
  StoreClock clock;
  EXPECT_FALSE(clock.at(seconds(5)));
  clock.learn(kShown, seconds(5));
  EXPECT_EQ(clock.at(seconds(5)), kShown);
  EXPECT_EQ(clock.at(seconds(7)), kShown + seconds(2));
  clock.forget();
  EXPECT_FALSE(clock.at(seconds(7)));
}

TEST(StoreClock, BelievesTheQuickestAnswer) {
  StoreClock clock;
  clock.learn(kShown, seconds(5));
  clock.learn(kShown + seconds(1), seconds(9));  // three seconds on its way
  EXPECT_EQ(clock.at(seconds(9)), kShown + seconds(4));
  clock.learn(kShown + seconds(6), seconds(10));  // set forward, or the first was slow
  EXPECT_EQ(clock.at(seconds(10)), kShown + seconds(6));
}

TEST(StoreClock, FollowsAServerWhoseClockWasSetBack) {
  StoreClock clock;
  clock.learn(kShown, seconds(0));
  TimePoint shown = kShown - seconds(60);
  for (int s = 1; s <= 30; ++s) clock.learn(shown + seconds(s), seconds(s));
  EXPECT_EQ(clock.at(seconds(30)), shown + seconds(30));
}

/// An order and its payment, each sent while the server is stopped: the order lies in the socket
/// and is executed when the server runs again, the payment is sent on the next connection.
TEST(StoreClock, AnEventThatLayInASocketKeepsItsTime) {
  weir::test::RedisServer redis;
  test::World world;
  Settings settings = test::unix_settings(redis.path());
  settings.timeout = milliseconds(200);
  const auto store = test::connected(world, settings);
  PatternSpec spec;
  spec.kind = PatternSpec::Kind::pair;
  spec.before = spec.after = milliseconds(300);
  const SharedPattern pattern({0xABCD, 7}, spec);
  std::uint64_t sequence = 0;
  const auto tell = [&](SharedVerb verb, unsigned side, TimePoint at) {
    test::Ask ask;
    const PatternAsk what{
        &pattern, "k", {at, 1, static_cast<std::uint8_t>(1U << side), true, {}}, true};
    limiter::SharedOp& op = ask.add(verb, {}, pattern.tag(0));
    op.pattern = &what;
    op.id = {7, ++sequence};
    op.at = at;
    ask.run(world, *store, milliseconds(1'000));
    return ask.answers[0];
  };
  ASSERT_EQ(tell(SharedVerb::look, 0, Clock::wall()).error, SharedError::none);
  redis.pause();
  const TimePoint ordered = Clock::wall();
  EXPECT_NE(tell(SharedVerb::add, 0, ordered).error, SharedError::none);
  world.until([&] { return Clock::wall() > ordered + milliseconds(700); });
  redis.resume();
  ASSERT_TRUE(world.until([&] { return store->stats().up; }));
  const auto paid = tell(SharedVerb::add, 1, ordered + milliseconds(100));
  ASSERT_EQ(paid.error, SharedError::none);
  EXPECT_EQ(paid.pattern.matched, 1U) << "the order counts as made when it was sent";
}

}  // namespace
}  // namespace weir::store::store_clock_test
