// The contract of every store with replicas that exchange their counts.
#include <random>

#include "tests/store/contract.h"

namespace weir::store::test {
namespace {

using limiter::CounterSpec;
using limiter::SharedCounter;
using limiter::SharedId;
using limiter::SharedOp;
using limiter::SharedPart;
using limiter::SharedVerb;
using limiter::Window;

std::uint64_t fresh_exchange() {
  static std::mt19937_64 random(std::random_device{}());
  return random();
}

void what_a_replica_has_open_is_said_anew(World& world, SharedStore& store) {
  const std::int64_t t = 1'700'000'000'000;
  CounterSpec spec;
  spec.metric = Metric::in_flight;
  spec.window = Window::none;
  spec.real = true;
  const SharedCounter counter({fresh_exchange(), 1}, spec);
  SharedPart part;
  part.counter = &counter;
  const SharedId a{fresh_exchange(), 1}, b{fresh_exchange(), 1};
  const auto ask = [&](SharedVerb verb, const SharedId& who, std::int64_t n, std::int64_t at) {
    Ask one;
    SharedOp& op = one.add(verb, {part}, "open");
    op.event.amount = Number(n);
    op.now = from_ms(at);
    op.lifetime = milliseconds(10'000);
    op.id = who;
    one.run(world, store);
    return one.answers[0].parts[0].reading.value;
  };
  const auto say = [&](const SharedId& who, std::int64_t n, std::int64_t at) {
    return ask(SharedVerb::add, who, n, at);
  };
  const auto read = [&](std::int64_t at) {
    return ask(SharedVerb::read, {fresh_exchange(), 1}, 1, at);
  };
  EXPECT_EQ(say(a, 3, t), Number(3));
  EXPECT_EQ(say(b, 40'000, t + 1), Number(40'003));
  EXPECT_EQ(say(a, 5, t + 2), Number(40'005)) << "in the place of the three";
  EXPECT_EQ(say(b, 2, t + 4), Number(7));
  EXPECT_EQ(read(t + 5), Number(7));
  EXPECT_EQ(say(a, 1, t + 9'000), Number(3));
  EXPECT_EQ(read(t + 10'004), Number(1)) << "the other has died";
  ask(SharedVerb::take_back, a, 1, t + 10'005);
  EXPECT_EQ(read(t + 10'006), Number(0));
}

void a_window_says_which_event_opened_it(World& world, SharedStore& store) {
  const std::int64_t t = 1'700'000'000'000;
  for (const Metric metric : {Metric::count, Metric::sum}) {
    CounterSpec spec;
    spec.metric = metric;
    spec.window = Window::every_first;
    spec.length = milliseconds(10'000);
    const SharedCounter counter({fresh_exchange(), 1}, spec);
    SharedPart part;
    part.counter = &counter;
    std::uint64_t events = 0;
    const auto began = [&](SharedVerb verb, std::int64_t at) {
      Ask ask;
      SharedOp& op = ask.add(verb, {part}, "first");
      op.now = from_ms(at);
      op.id = {fresh_exchange(), ++events};
      op.again = verb == SharedVerb::add;
      ask.run(world, store);
      return to_ms(ask.answers[0].parts[0].began);
    };
    EXPECT_EQ(began(SharedVerb::read, t), 0) << "nothing has";
    for (const std::int64_t after : {0, 4'000}) EXPECT_EQ(began(SharedVerb::add, t + after), t);
    EXPECT_EQ(began(SharedVerb::read, t + 9'999), t);
    EXPECT_EQ(began(SharedVerb::read, t + 10'000), 0);
    EXPECT_EQ(began(SharedVerb::add, t + 12'000), t + 12'000);
    began(SharedVerb::reset, t + 12'001);
    EXPECT_EQ(began(SharedVerb::read, t + 12'002), 0) << "emptied";
  }
}

}  // namespace

void what_exchanges_rest_on(World& world, SharedStore& store) {
  what_a_replica_has_open_is_said_anew(world, store);
  a_window_says_which_event_opened_it(world, store);
}

}  // namespace weir::store::test
