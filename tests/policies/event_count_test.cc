#include <gtest/gtest.h>

#include <string>

#include "tests/policies/world.h"

namespace weir::policies::event_count_test {
namespace {

class EventCount : public ::testing::Test {
 protected:
  static TestRequest post(std::string path, std::string user = "ada") {
    return TestRequest("POST " + path).json("{\"user\": \"" + user + "\"}");
  }
  std::uint64_t events(std::string_view policy) {
    return world.stats.totals("policy", policy).events;
  }

  World world{R"(
events:
  login: {match: POST /login, fields: {user: body.user}}
  failed: {match: POST /login, when: status == 401, fields: {user: body.user}}
  pay: {match: POST /pay, fields: {user: body.user}}
policies:
  - {name: tries, watch: login, key: user, missing: skip, metric: count, window: 1m, then: [{over: 2, do: deny}]}
  - {name: wrong, watch: failed, guard: login, key: ip, metric: count, window: 1m, then: [{over: 9, do: deny}]}
  - {name: pays, watch: pay, guard: login, key: ip, metric: count, window: 1m, then: [{over: 9, do: deny}]}
  - {name: steps, key: user, missing: skip, sequence: [failed, pay], within: 1h, then: [{do: flag}]}
)"};
};

TEST_F(EventCount, IsOfWhatAPolicyWatchesAndCouldKey) {
  EXPECT_EQ(world.send(post("/login")), "pass");
  EXPECT_EQ(events("tries"), 1u);
  EXPECT_EQ(events("pays"), 0u) << "an event that it only guards is not what it watches";
  TestRequest keyless("POST /login");
  EXPECT_EQ(world.send(keyless.json("{}")), "pass");
  EXPECT_EQ(events("tries"), 1u) << "weir_missing_field_total has this one";
  EXPECT_EQ(world.send(post("/pay")), "pass");
  EXPECT_EQ(events("pays"), 1u);
}

TEST_F(EventCount, HasRefusedEventsToo) {
  for (int i = 0; i < 5; ++i) world.send(post("/login"));
  EXPECT_EQ(events("tries"), 5u);
}

TEST_F(EventCount, WaitsForWhatOnlyTheAnswerTells) {
  world.send(post("/login"), 200);
  EXPECT_EQ(events("wrong"), 0u);
  EXPECT_EQ(events("steps"), 0u);
  world.send(post("/login"), 401);
  EXPECT_EQ(events("wrong"), 1u);
  EXPECT_EQ(events("steps"), 1u);
  world.send(post("/pay"));
  EXPECT_EQ(events("steps"), 2u) << "a part of a pattern that needs no answer";
}

}  // namespace
}  // namespace weir::policies::event_count_test
