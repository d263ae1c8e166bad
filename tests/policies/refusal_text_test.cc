// The body for a refused caller: that of the file, or the words of `tell`.
#include <gtest/gtest.h>

#include <string>

#include "tests/policies/world.h"

namespace weir::policies::refusal_text_test {
namespace {

std::string policy(const std::string& rung) {
  return "policies: [{name: p, watch: request, key: ip, window: 1h, then: [{at: 1, do: deny" +
         rung + "}]}]\n";
}

TEST(RefusalText, is_the_body_of_the_rung_whatever_tell_says) {
  for (const char* tell : {"", ", tell: retry", ", tell: full", ", tell: nothing"}) {
    World world(policy(", body: '{\"slow\":\"down\"}', content_type: application/json" +
                       std::string(tell)));
    TestRequest request("GET /");
    const World::Judged judged = world.judge(request);
    EXPECT_EQ(judged.body, "{\"slow\":\"down\"}") << tell;
    const bool silent = std::string(tell).find("nothing") != std::string::npos;
    EXPECT_EQ(judged.response.find("Retry-After") == std::string::npos, silent) << tell;
    const bool full = std::string(tell).find("full") != std::string::npos;
    EXPECT_EQ(judged.response.find("RateLimit: ") != std::string::npos, full) << tell;
  }
}

TEST(RefusalText, is_the_same_of_the_ban_that_follows) {
  World world(policy(", for: 1h, body: 'Later.'"));
  EXPECT_EQ(world.judge(TestRequest("GET /")).body, "Later.");
  const World::Judged banned = world.judge(TestRequest("GET /"));
  EXPECT_EQ(banned.status, 403);
  EXPECT_EQ(banned.body, "Later.");
}

TEST(RefusalText, is_the_body_of_a_list_that_denies) {
  World world(
      "lists: {l: {of: ip, kind: deny, body: Gone., content_type: text/html, entries: "
      "[203.0.113.7]}}\n");
  const World::Judged judged = world.judge(TestRequest("GET /"));
  EXPECT_EQ(judged.status, 403);
  EXPECT_EQ(judged.body, "Gone.");
}

TEST(RefusalText, has_a_type) {
  World world(policy(", body: Later."));
  TestRequest request("GET /");
  world.judge(request);
  EXPECT_EQ(world.set_->policies.front().rungs.front().content_type, "text/plain; charset=utf-8");
}

TEST(RefusalText, of_a_request_that_cannot_be_read_tells_as_the_policy_does) {
  const auto refused = [](const std::string& tell) {
    World world(
        "fields: {'user': 'body[\"odd \\\"name\"]'}\n"
        "policies: [{name: p, watch: request, key: user, window: 1h, then: [{over: 1, do: deny" +
        tell + "}]}]\n");
    return world.judge(TestRequest("POST /").json("{")).body;
  };
  EXPECT_EQ(refused(", tell: nothing"), "");
  for (const char* tell : {"", ", tell: retry", ", tell: full"}) {
    const std::string body = refused(tell);
    EXPECT_NE(body.find("\"status\":400,\"detail\":\"A field of the request cannot be read"),
              std::string::npos)
        << body;
    const bool full = std::string(tell).find("full") != std::string::npos;
    EXPECT_EQ(body.find("\"policy\":\"p\",\"field\":\"user\"") != std::string::npos, full) << body;
  }
}

}  // namespace
}  // namespace weir::policies::refusal_text_test
