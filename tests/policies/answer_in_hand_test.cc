// An answer that is known when its request is judged (Options::answer) changes no outcome: the
// two ways of settling say and count the same, event by event.
#include <gtest/gtest.h>

#include <random>

#include "core/words.h"
#include "tests/policies/row_lines.h"
#include "tests/policies/world.h"

namespace weir::policies::answer_in_hand_test {
namespace {

constexpr const char* kPolicies = R"(
events:
  login: {match: POST /login, fields: {user: query.user}}
  ok: {is: login, when: status == 200}
  failed: {is: login, when: 'status in [401, 403]'}
  missed: {is: request, when: status == 404}
policies:
  - {name: count, watch: missed, key: ip, window: 1m, then: [{over: 3, do: flag}]}
  - {name: refuses, watch: failed, key: ip, window: {last: 1m, exact: true}, then: [{over: 2, do: deny}]}
  - {name: always, watch: failed, key: user, window: 1m, charge: always, then: [{over: 2, do: deny}]}
  - {name: members, watch: failed, key: ip, window: 1m, metric: distinct(user), then: [{over: 2, do: flag}, {over: 3, do: deny}]}
  - {name: shadow, watch: missed, key: ip, window: 1m, mode: shadow, then: [{over: 1, do: deny}]}
  - {name: leaky, watch: failed, key: ip, window: {leaky: 3, drain: 5s}, then: [{do: flag}]}
  - {name: seen, watch: failed, key: ip, window: 1m, metric: exists(user), then: [{at: 1, do: flag}]}
  - {name: late, watch: request, when: 'method == "POST" && status == 200', key: ip, window: 1m, then: [{over: 4, do: flag}]}
  - {name: bans, watch: failed, key: ip, window: 1m, then: [{over: 3, do: graylist, for: 10s}]}
  - {name: certain, watch: request, key: ip, window: 1m, then: [{over: 40, do: deny}]}
)";
constexpr const char* kResets = R"(
  - {name: resets, watch: failed, key: ip, reset: ok, window: 1m, then: [{over: 1, do: deny}]}
)";

/// The result of one event: its verdict and its rows.
std::string send(World& world, TestRequest& request, int status, bool in_hand) {
  RowLines lines;
  Answer answer;
  answer.status = status;
  JudgeOptions options;
  options.may_wait = false;
  options.rows = &lines;
  if (in_hand) options.answer = &answer;
  const Verdict& verdict = world.start(request.view(world.now), options);
  lines.all += row_of(verdict.effect).name;
  if (!world.last->is_open()) return lines.all;
  world.driver.answer(*world.last, answer, world.instant());
  world.driver.end(*world.last, world.instant());
  return lines.all;
}

void compare(const std::string& policies, unsigned seed) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  World one(policies), other(policies);
  std::mt19937 random(seed);
  const auto pick = [&](unsigned n) { return static_cast<int>(random() % n); };
  for (int i = 0; i < 2000; ++i) {
    one.now = other.now += milliseconds{pick(4000)};
    const std::string line = pick(3) != 0 ? "POST /login?user=u" + std::to_string(pick(5))
                                          : "GET /" + std::to_string(pick(3));
    TestRequest request(line, "10.0.0." + std::to_string(1 + pick(3)));
    constexpr int kStatus[] = {200, 200, 401, 403, 404, 500};
    const int status = kStatus[pick(6)];
    ASSERT_EQ(send(one, request, status, true), send(other, request, status, false))
        << "event " << i << ": " << line << ", " << status;
  }
}

TEST(AnswerInHand, ChangesNoOutcome) {
  for (unsigned seed = 1; seed <= 5; ++seed) compare(kPolicies, seed);
}

TEST(AnswerInHand, AlsoWhereAnswersDoMoreThanCount) {
  for (unsigned seed = 1; seed <= 3; ++seed) compare(std::string(kPolicies) + kResets, seed);
}

TEST(AnswerInHand, ReservesNothingForWhatTheAnswerDecides) {
  World world(kPolicies);
  TestRequest request("POST /login?user=ann");
  Answer answer;
  answer.status = 500;
  JudgeOptions options;
  options.answer = &answer;
  world.start(request.view(world.now), options);
  const Policy& policy = *world.set_->find_policy("refuses");
  for (const PlannedPolicy& planned : world.plan().policies) {
    if (planned.policy != policy.index) continue;
    const auto& plan = world.plan();
    const PlannedCounter& counter = plan.counters[plan.counter_refs[planned.first_counter]];
    EXPECT_TRUE(planned.reserves);
    EXPECT_FALSE(counter.counted());
    EXPECT_EQ(counter.reading.value, Number(1)) << "judged as if it were reserved";
    return;
  }
  FAIL() << "the policy is not in the plan";
}

}  // namespace
}  // namespace weir::policies::answer_in_hand_test
