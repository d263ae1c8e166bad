// A step of a pattern whose condition depends on an unreadable field: neither true nor false.
#include <gtest/gtest.h>

#include "tests/policies/world.h"

namespace weir::policies::pattern_unread_test {
namespace {

TestRequest order(const std::string& body) { return TestRequest("POST /order").json(body); }
const char* const kClean = R"({"kind":"gold"})";
const char* const kOther = R"({"kind":"tin"})";
const char* const kTwice = R"({"kind":"tin","KIND":"gold"})";

/// `policy`: its rung and its other keys.
std::string with(const std::string& policy) {
  return R"(
events: {order: {match: POST /order}, pay: {match: POST /pay}}
policies:
  - {name: p, sequence: [{event: order, when: 'body.kind == "gold"'}, pay], key: ip, within: 1m, )" +
         policy + "}\n";
}

TEST(PatternUnread, is_refused_where_the_policy_refuses) {
  World world(with("then: [{do: deny}]"));
  auto judged = world.judge(order(kTwice));
  EXPECT_EQ(judged.effect, "defect");
  EXPECT_EQ(judged.status, 400);
  EXPECT_EQ(world.send(order(kOther)), "pass");
  EXPECT_EQ(world.send(TestRequest("POST /pay")), "pass") << "tin is not a step";
  EXPECT_EQ(world.send(order(kClean)), "pass");
  EXPECT_EQ(world.send(TestRequest("POST /pay")), "deny");
}

TEST(PatternUnread, is_no_step_where_the_policy_only_flags_and_skips) {
  World world(with("then: [{do: flag}]"));
  EXPECT_EQ(world.send(order(kTwice)), "pass");
  EXPECT_EQ(world.send(TestRequest("POST /pay")), "pass");
  EXPECT_EQ(world.send(order(kClean)), "pass");
  EXPECT_EQ(world.send(TestRequest("POST /pay")), "flag");
}

TEST(PatternUnread, is_a_step_where_missing_is_same) {
  World world(with("missing: same, then: [{do: flag}]"));
  EXPECT_EQ(world.send(order(kTwice)), "pass");
  EXPECT_EQ(world.send(TestRequest("POST /pay")), "flag");
}

TEST(PatternUnread, is_refused_where_missing_is_deny) {
  World world(with("missing: deny, then: [{do: flag}]"));
  EXPECT_EQ(world.judge(order(kTwice)).effect, "defect");
}

TEST(PatternUnread, in_shadow_mode_lets_pass_and_counts) {
  World world(with("mode: shadow, then: [{do: deny}]"));
  EXPECT_EQ(world.send(order(kTwice)), "pass");
  EXPECT_EQ(world.send(TestRequest("POST /pay")), "pass");
}

TEST(PatternUnread, of_the_whole_policy_follows_the_same_rule) {
  World world(R"(
events: {order: {match: POST /order}, pay: {match: POST /pay}}
policies:
  - {name: p, sequence: [order, pay], when: 'query.kind == "gold"', key: ip, within: 1m, then: [{do: deny}]}
)");
  EXPECT_EQ(world.judge(TestRequest("POST /order?kind=tin&kind=gold")).effect, "defect");
  EXPECT_EQ(world.send(TestRequest("POST /order?kind=gold")), "pass");
  EXPECT_EQ(world.judge(TestRequest("POST /pay?kind=gold")).effect, "deny");
}

}  // namespace
}  // namespace weir::policies::pattern_unread_test
