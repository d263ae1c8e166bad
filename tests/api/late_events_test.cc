// `POST /v1/events` of what happened a while ago: policies with `clock: event`.
#include <gmock/gmock.h>

#include "api_world.h"

namespace weir::api::late_events_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kYaml = R"(
events:
  payment: {source: {json: true, time: {field: paid_at, as: seconds}}}
policies:
  - {name: own, watch: payment, key: card, window: {last: 10s, exact: true}, clock: event, late: 1m,
     then: [{over: 1, do: flag}]}
)";

class LateEvents : public testing::Test {
 protected:
  LateEvents() : api(kYaml) { api.world.now = from_ms(1'800'000'300'000); }
  static std::string payment(int second) {
    return R"({"event":"payment","card":"4242","paid_at":)" +
           std::to_string(1'800'000'000 + second) + "}";
  }
  ApiWorld api;
};

TEST_F(LateEvents, count_when_they_happened_and_in_any_order) {
  EXPECT_EQ(api.verdict(payment(100)), "pass");
  EXPECT_EQ(api.verdict(payment(120)), "pass");
  EXPECT_EQ(api.verdict(payment(109)), "flag") << "100 and 109";
  EXPECT_EQ(api.verdict(payment(111)), "flag") << "109 and 111";
  EXPECT_EQ(api.verdict(payment(90)), "pass");
}

TEST_F(LateEvents, a_query_says_what_comes_too_late) {
  EXPECT_EQ(api.verdict(payment(200)), "pass");
  EXPECT_THAT(api.query(payment(140)), Not(HasSubstr("late")));
  EXPECT_THAT(api.query(payment(139)), HasSubstr("it comes later than `late` allows"));
  EXPECT_EQ(api.verdict(payment(139)), "pass");
  EXPECT_EQ(api.world.stats.totals("policy", "own").late, 1u) << "queries are not counted";
}

TEST_F(LateEvents, a_time_that_has_not_come_is_taken_for_now) {
  EXPECT_EQ(api.verdict(payment(86'400)), "pass");
  EXPECT_EQ(api.verdict(payment(240)), "pass") << "a minute ago";
  EXPECT_THAT(api.query(payment(239)), HasSubstr("later than `late`"));
}

TEST_F(LateEvents, without_a_time_it_happens_now) {
  EXPECT_EQ(api.verdict(payment(299)), "pass");
  EXPECT_EQ(api.verdict(R"({"event":"payment","card":"4242"})"), "flag");
}

}  // namespace
}  // namespace weir::api::late_events_test
