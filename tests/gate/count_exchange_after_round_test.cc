// Changes of a key whose exchange has just ended, as where the verdict on a request comes from
// Redis while its counters of `sync` wait.
#include <gtest/gtest.h>

#include <string>

#include "tests/gate/fleet.h"

namespace weir::gate::count_exchange_after_round_test {
namespace {

constexpr milliseconds kInterval{200};
constexpr Hash128 kKey{7, 7};

/// Lets three intervals pass: time for every exchange that is queued. Nothing touches the key.
void exchange(Fleet& fleet) {
  for (milliseconds gone{0}; gone < 3 * kInterval; gone += milliseconds{5})
    fleet.step(milliseconds{5});
}

/// The reading of replica 1, which asks the store.
limiter::Reading told(Fleet& fleet) {
  exchange(fleet);
  fleet[1].touch(kKey, fleet.now);
  exchange(fleet);
  return fleet[1].reading(kKey, fleet.now);
}

/// A request whose key was touched when it came, and exchanged before its verdict.
struct Requests {
  explicit Requests(const limiter::CounterSpec& spec) : fleet(2, spec, kInterval) { arrive(); }
  void arrive() {
    fleet[0].touch(kKey, fleet.now);
    exchange(fleet);
    ASSERT_FALSE(fleet[0].synced().has_queued());
  }
  limiter::Undo charge(const limiter::Amount& event) {
    limiter::Undo undo;
    fleet[0].synced().charge(fleet[0].counter, kKey, fleet.now, event, nullptr, true, &undo);
    return undo;
  }
  void settle(const limiter::Amount& event) {
    limiter::Undo undo;
    Replica& here = fleet[0];
    here.synced().reserve(here.counter, kKey, fleet.now, event, nullptr, true, &undo);
    exchange(fleet);
    here.synced().settle(here.counter, kKey, fleet.now, fleet.now, event, undo, true);
  }
  Fleet fleet;
};

constexpr Metric kMetrics[] = {Metric::count,   Metric::sum,     Metric::distinct,
                               Metric::maximum, Metric::minimum, Metric::average};

limiter::Amount event_of(Metric metric) {
  limiter::Amount event;
  if (metric == Metric::distinct) event.member = 99;
  if (metric != Metric::distinct && metric != Metric::count) event.amount = Number{5};
  return event;
}

std::int64_t reading_of(Metric metric) { return event_of(metric).amount.integer(); }

TEST(ExchangeAfterRound, AChargeIsToldThoughNothingTouchesTheKeyAgain) {
  for (const Metric metric : kMetrics) {
    SCOPED_TRACE(static_cast<int>(metric));
    Requests requests(spec_of(Window::every, metric));
    requests.charge(event_of(metric));
    EXPECT_TRUE(requests.fleet[0].synced().has_queued());
    EXPECT_EQ(told(requests.fleet).value.as_real(), static_cast<double>(reading_of(metric)));
  }
}

TEST(ExchangeAfterRound, AnOutcomeIsToldThoughNothingTouchesTheKeyAgain) {
  for (const Metric metric : kMetrics) {
    SCOPED_TRACE(static_cast<int>(metric));
    limiter::CounterSpec spec = spec_of(Window::every, metric);
    spec.outcome = true;
    Requests requests(spec);
    requests.settle(event_of(metric));
    EXPECT_EQ(told(requests.fleet).value.as_real(), static_cast<double>(reading_of(metric)));
  }
}

TEST(ExchangeAfterRound, AnAmountThatIsTakenBackIsTold) {
  Requests requests(spec_of(Window::every, Metric::sum));
  const limiter::Undo undo = requests.charge(event_of(Metric::sum));
  ASSERT_EQ(told(requests.fleet).value.as_real(), 5);
  requests.fleet[0].synced().uncharge(requests.fleet[0].counter, kKey, undo);
  EXPECT_EQ(told(requests.fleet).value.as_real(), 0);
}

TEST(ExchangeAfterRound, AResetIsTold) {
  for (const Metric metric : kMetrics) {
    SCOPED_TRACE(static_cast<int>(metric));
    Requests requests(spec_of(Window::every, metric));
    requests.charge(event_of(metric));
    told(requests.fleet);
    requests.fleet[0].synced().reset(requests.fleet[0].counter, kKey, requests.fleet.now);
    const limiter::Reading reading = told(requests.fleet);
    EXPECT_TRUE(!reading.has_value || reading.value.is_zero());
  }
}

TEST(ExchangeAfterRound, TheEndOfTheProcessSendsWhatWasCharged) {
  for (const Metric metric : kMetrics) {
    SCOPED_TRACE(static_cast<int>(metric));
    Requests requests(spec_of(Window::every, metric));
    requests.charge(event_of(metric));
    requests.fleet[0].exchange.flush(requests.fleet.now);
    requests.fleet.now += milliseconds{5};
    requests.fleet[0].line.deliver();
    EXPECT_FALSE(requests.fleet[0].exchange.is_busy());
    requests.fleet[1].touch(kKey, requests.fleet.now);
    exchange(requests.fleet);
    EXPECT_EQ(requests.fleet[1].reading(kKey, requests.fleet.now).value.as_real(),
              static_cast<double>(reading_of(metric)));
  }
}

}  // namespace
}  // namespace weir::gate::count_exchange_after_round_test
