#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/policies/world.h"

// The memory of a policy: list entries rest on what has settled, or on a refusal of its own.
namespace weir::policies::memory_rules_test {
namespace {

std::size_t listed(const World& world, const char* name) {
  const List* const list = world.set_->find_list(name);
  EXPECT_NE(list, nullptr) << name;
  return list == nullptr ? 0 : world.lists.size(list->id);
}

TestRequest tried(const char* block = "0") {
  return std::move(TestRequest("POST /try").header("x-block", block));
}

std::string guarded(const char* mode, const char* window, const char* deny) {
  return std::string(R"(
events:
  try: {match: POST /try}
  buy: {match: POST /buy}
policies:
  - {name: block, watch: try, when: 'header.x_block == "1"', then: [{if: 'true', do: deny}]}
  - {name: p, watch: try, guard: buy, key: ip, window: )") +
         window + ", mode: " + mode + ", then: [{over: 3, do: " + deny + "}]}\n";
}

TEST(MemoryRules, APolicyBansNobodyForARequestThatItDoesNotGuard) {
  for (const char* const window : {"1h", "{last: 1h, exact: true}", "{every: 1h}"}) {
    World world(guarded("enforce", window, "deny, for: 1h"));
    for (int i = 0; i < 3; ++i) EXPECT_EQ(world.send(tried()), "pass");
    EXPECT_EQ(world.send(tried("1")), "deny") << "by the other policy";
    EXPECT_EQ(listed(world, "p:deny"), 0u) << "3 of 3: what was refused is not counted";
    EXPECT_EQ(world.send(TestRequest("POST /buy")), "pass");
    EXPECT_EQ(world.send(tried()), "pass") << "the fourth try is not what the policy guards";
    EXPECT_EQ(listed(world, "p:deny"), 1u) << "and is counted: 4 of 3";
    EXPECT_EQ(world.send(TestRequest("POST /buy")), "deny");
  }
}

TEST(MemoryRules, AShadowPolicyCountsWhatItDoesNotGuard) {
  World world(guarded("shadow", "1h", "deny"));
  for (int i = 0; i < 5; ++i) EXPECT_EQ(world.send(tried()), "pass");
  world.judge(TestRequest("POST /buy"));
  ASSERT_FALSE(world.plan().counters.empty());
  EXPECT_EQ(world.plan().counters[0].reading.value, Number(5))
      << "it would refuse none of the tries, so all of them are counted";
}

TEST(MemoryRules, AGuardListsNobodyForReservationsOfOthers) {
  World world(R"(
events:
  login: {match: POST /login}
  failed: {is: login, when: 'status == 401'}
  buy: {match: POST /buy}
policies:
  - {name: p, watch: failed, guard: buy, key: ip, window: 1h, then: [{over: 2, do: deny, for: 1h}]}
)");
  std::vector<World::Judged> open;
  for (int i = 0; i < 3; ++i) open.push_back(world.judge(TestRequest("POST /login")));
  EXPECT_EQ(world.judge(TestRequest("POST /buy")).effect, "wait") << "for the logins under way";
  EXPECT_EQ(world.judge(TestRequest("POST /buy"), false).effect, "deny") << "it waits no longer";
  EXPECT_EQ(listed(world, "p:deny"), 0u);
  for (auto& judged : open) {
    ASSERT_TRUE(judged.judgement);
    world.answer(*judged.judgement, 200);
  }
  EXPECT_EQ(world.send(TestRequest("POST /buy")), "pass");
}

TEST(MemoryRules, AShadowPolicyListsNobodyForReservations) {
  for (const char* const rung :
       {"{over: 2, do: deny, for: 1h}", "{over: 2, do: challenge, for: 1h}",
        "{over: 2, do: graylist, for: 1h}"}) {
    SCOPED_TRACE(rung);
    World world(std::string(R"(
events:
  login: {match: POST /login}
  failed: {is: login, when: 'status == 401'}
policies:
  - {name: p, watch: failed, key: ip, window: 1h, mode: shadow, then: [)") +
                rung + "]}\n");
    const std::string list = world.set_->lists.front().name;
    std::vector<World::Judged> open;
    for (int i = 0; i < 5; ++i) open.push_back(world.judge(TestRequest("POST /login")));
    EXPECT_EQ(listed(world, list.c_str()), 0u) << "five logins under way have failed in nothing";
    for (auto& judged : open) {
      ASSERT_EQ(judged.effect, "pass");
      if (judged.judgement) world.answer(*judged.judgement, 200);
    }
    EXPECT_EQ(listed(world, list.c_str()), 0u) << "and all of them were right";
    for (int i = 0; i < 2; ++i) EXPECT_EQ(world.send(TestRequest("POST /login"), 401), "pass");
    EXPECT_EQ(listed(world, list.c_str()), 0u) << "2 of 2";
    EXPECT_EQ(world.send(TestRequest("POST /login"), 401), "pass");
    EXPECT_EQ(listed(world, list.c_str()), 1u) << "settled failures list, as they would enforced";
  }
}

}  // namespace
}  // namespace weir::policies::memory_rules_test
