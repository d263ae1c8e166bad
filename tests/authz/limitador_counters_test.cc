#include "authz/limitador_counters.h"

#include <gtest/gtest.h>

namespace weir::authz::limitador_counters_test {
namespace {

LimitadorCounters::Counter counter(std::string user, TimePoint end) {
  return {"shop", "per-user", {{"user", user}}, {{"user", user}}, end};
}

TEST(LimitadorCounters, KeepTheEndOfAWindowUntilItHasPassed) {
  LimitadorCounters counters;
  const TimePoint start = from_ms(1'000'000);
  counters.note(counter("ann", start + milliseconds{100}), start);
  counters.note(counter("ann", start + milliseconds{150}), start + milliseconds{50});
  counters.note(counter("bob", start + milliseconds{500}), start);
  ASSERT_EQ(counters.of("shop", start).size(), 2U);
  EXPECT_EQ(counters.of("shop", start).front().end, start + milliseconds{100});
  EXPECT_TRUE(counters.of("other", start).empty());
  EXPECT_EQ(counters.end_of(counter("ann", {}), start), start + milliseconds{100});
  EXPECT_EQ(counters.end_of(counter("ann", {}), start + milliseconds{100}), std::nullopt);
  EXPECT_EQ(counters.end_of(counter("eve", {}), start), std::nullopt);
  EXPECT_EQ(counters.of("shop", start + milliseconds{100}).size(), 1U) << "its window has ended";
  counters.note(counter("ann", start + milliseconds{300}), start + milliseconds{200});
  EXPECT_EQ(counters.of("shop", start + milliseconds{200}).front().end, start + milliseconds{300});
}

TEST(LimitadorCounters, AreBounded) {
  LimitadorCounters counters;
  const TimePoint start = from_ms(1'000'000);
  for (std::size_t i = 0; i <= LimitadorCounters::kMost; ++i)
    counters.note(counter(std::to_string(i), start + milliseconds{10}), start);
  EXPECT_EQ(counters.of("shop", start).size(), LimitadorCounters::kMost);
  const TimePoint later = start + milliseconds{10};
  counters.note(counter("new", later + milliseconds{10}), later);
  EXPECT_EQ(counters.of("shop", later).size(), 1U) << "what has ended makes room";
  counters.note(counter(std::string(2'000, 'x'), later + milliseconds{10}), later);
  EXPECT_EQ(counters.of("shop", later).size(), 1U) << "long values are not kept";
}

}  // namespace
}  // namespace weir::authz::limitador_counters_test
