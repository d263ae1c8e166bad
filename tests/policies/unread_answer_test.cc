// The meaning of an unreadable answer for each policy, by its `missing`.
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "tests/policies/world.h"

namespace weir::policies::unread_answer_test {
namespace {

constexpr HeaderField kJson{"content-type", "application/json"};

/// Judges a request and settles it with an answer as a door saw it; gives the effect.
std::string send(World& world, BodyState state, std::string_view body, int status = 200) {
  World::Judged judged = world.judge(TestRequest("POST /pay"));
  if (!judged.judgement) return judged.effect;
  Answer answer{status, {&kJson, 1}, state, body};
  world.driver.answer(*judged.judgement, answer, world.instant());
  world.driver.end(*judged.judgement, world.instant());
  return judged.effect;
}

struct Unread {
  BodyState state;
  std::string_view body;
};
constexpr Unread kUnread[] = {{BodyState::encoded, {}},
                              {BodyState::too_large, {}},
                              {BodyState::broken, {}},
                              {BodyState::complete, "{\"code\": "},
                              {BodyState::complete, "data: 1\n\n"}};

std::string policies(std::string_view metric, std::string_view missing, std::string_view rest) {
  return "events:\n  pay: {match: POST /pay}\n"
         "  declined: {is: pay, when: 'status == 200 && response.body.code != 0'}\n"
         "policies: [{name: p, watch: " +
         std::string(metric) + ", key: ip, missing: " + std::string(missing) + ", window: 1h, " +
         std::string(rest) + "}]\n";
}

/// How many of five requests pass a policy that allows two.
int passed(const std::string& yaml, const Unread& unread, int status = 200) {
  World world(yaml);
  int count = 0;
  for (int i = 0; i < 5; ++i) count += send(world, unread.state, unread.body, status) == "pass";
  return count;
}

TEST(UnreadAnswer, a_condition_follows_missing) {
  const std::string rest = "then: [{over: 2, do: deny}]";
  for (const Unread& unread : kUnread) {
    EXPECT_EQ(passed(policies("declined", "skip", rest), unread), 5);
    EXPECT_EQ(passed(policies("declined", "same", rest), unread), 2);
    EXPECT_EQ(passed(policies("declined", "deny", rest), unread), 2);
    EXPECT_EQ(passed(policies("declined", "deny", rest), unread, 404), 5)
        << "the status alone says that it did not happen";
  }
}

TEST(UnreadAnswer, a_condition_on_a_readable_answer_is_as_ever) {
  const std::string rest = "then: [{over: 2, do: deny}]";
  for (const std::string_view missing : {"skip", "same", "deny"}) {
    EXPECT_EQ(passed(policies("declined", missing, rest), {BodyState::complete, "{\"code\": 0}"}),
              5);
    EXPECT_EQ(passed(policies("declined", missing, rest), {BodyState::complete, "{\"code\": 1}"}),
              2);
    EXPECT_EQ(passed(policies("declined", missing, rest), {BodyState::complete, "{}"}), 2)
        << "a field that is not there is null, and null is not 0";
  }
}

TEST(UnreadAnswer, an_event_of_an_event_that_cannot_be_told_cannot_be_told) {
  const std::string yaml =
      "events:\n  pay: {match: POST /pay}\n"
      "  declined: {is: pay, when: 'response.body.code == 1'}\n"
      "  declined_late: {is: declined, when: 'status == 200'}\n"
      "policies: [{name: p, watch: declined_late, key: ip, missing: deny, window: 1h, "
      "then: [{over: 2, do: deny}]}]\n";
  EXPECT_EQ(passed(yaml, {BodyState::broken, {}}), 2);
  EXPECT_EQ(passed(yaml, {BodyState::broken, {}}, 500), 5);
}

// Policies that count the same share a counter: the result of one must not depend on which of
// them comes first.
TEST(UnreadAnswer, counts_by_the_missing_of_each_policy_in_any_order) {
  const auto policy = [](const char* name, const char* missing) {
    return std::string("  - {name: ") + name + ", watch: declined, key: ip, missing: " + missing +
           ", window: 1h, then: [{over: 2, do: deny}]}\n";
  };
  const std::string events =
      "events:\n  pay: {match: POST /pay}\n"
      "  declined: {is: pay, when: 'response.body.code != 0'}\npolicies:\n";
  for (const bool skip_first : {true, false}) {
    const std::string skip = policy("skips", "skip"), same = policy("counts", "same");
    World world(events + (skip_first ? skip + same : same + skip));
    for (int i = 0; i < 5; ++i) send(world, BodyState::broken, {});
    EXPECT_EQ(
        world.stats.totals("policy", "counts").verdicts[static_cast<std::size_t>(Action::deny)], 3U)
        << skip_first;
    EXPECT_EQ(
        world.stats.totals("policy", "skips").verdicts[static_cast<std::size_t>(Action::deny)], 0U)
        << skip_first;
  }
}

TEST(UnreadAnswer, when_of_a_policy_follows_missing_too) {
  const std::string rest = "when: 'response.body.code == 1', then: [{over: 2, do: deny}]";
  for (const Unread& unread : kUnread) {
    EXPECT_EQ(passed(policies("pay", "skip", rest), unread), 5);
    EXPECT_EQ(passed(policies("pay", "deny", rest), unread), 2);
  }
}

TEST(UnreadAnswer, a_sum_counts_what_was_reserved) {
  const auto rest = [](std::string_view metric) {
    return "metric: " + std::string(metric) + ", reserve: '100', then: [{over: 250, do: deny}]";
  };
  for (const std::string_view missing : {"skip", "same", "deny"}) {
    for (const Unread& unread : kUnread) {
      EXPECT_EQ(passed(policies("pay", missing, rest("sum(response.body.cost)")), unread), 2);
      EXPECT_EQ(passed(policies("pay", missing, rest("sum(int(response.body.cost))")), unread), 2);
    }
    EXPECT_EQ(passed(policies("pay", missing, rest("sum(response.body.cost)")),
                     {BodyState::complete, "{\"cost\": 0}"}),
              5);
  }
}

TEST(UnreadAnswer, an_amount_that_is_not_in_a_readable_answer_follows_missing) {
  const std::string rest =
      "metric: sum(response.body.cost), reserve: '100', then: [{over: 250, do: deny}]";
  for (const std::string_view body : {"{}", "", "{\"cost\": null}", "{\"cost\": \"x\"}"}) {
    EXPECT_EQ(passed(policies("pay", "skip", rest), {BodyState::complete, body}), 5) << body;
    EXPECT_EQ(passed(policies("pay", "deny", rest), {BodyState::complete, body}), 2) << body;
  }
  EXPECT_EQ(passed(policies("pay", "deny", rest), {BodyState::complete, "{\"cost\": -1}"}), 2)
      << "an amount that is refused is missing, too";
}

TEST(UnreadAnswer, what_has_no_estimate_is_nobodys_smallest_value) {
  World world(policies(
      "pay", "deny", "metric: min(response.body.cost), then: [{under: 5, do: graylist, for: 1h}]"));
  send(world, BodyState::complete, "{\"cost\": 9}");
  for (const Unread& unread : kUnread) send(world, unread.state, unread.body);
  World::Judged judged = world.judge(TestRequest("POST /pay"));
  ASSERT_TRUE(judged.judgement);
  world.driver.abort(*judged.judgement, world.instant());
  world.driver.end(*judged.judgement, world.instant());
  EXPECT_EQ(world.lists.size(world.set_->lists[0].id), 0u)
      << "neither they nor a client that hung up left a 0 behind";
  send(world, BodyState::complete, "{\"cost\": 4}");
  EXPECT_EQ(world.lists.size(world.set_->lists[0].id), 1u);
}

TEST(UnreadAnswer, the_reason_is_told_once_somebody_asked) {
  World world(policies("declined", "skip", "then: [{over: 2, do: deny}]"));
  send(world, BodyState::encoded, {});
  EXPECT_EQ(world.driver.unread_answer(), MissReason::encoded);
  send(world, BodyState::too_large, {});
  EXPECT_EQ(world.driver.unread_answer(), MissReason::too_large);
  send(world, BodyState::broken, {});
  EXPECT_EQ(world.driver.unread_answer(), MissReason::unreadable);
  send(world, BodyState::complete, {});
  EXPECT_EQ(world.driver.unread_answer(), MissReason::none) << "an answer without a body is read";
  send(world, BodyState::complete, "{\"code\": 0}");
  EXPECT_EQ(world.driver.unread_answer(), MissReason::none);
}

TEST(UnreadAnswer, the_app_is_asked_for_a_readable_answer_where_it_is_enforced) {
  const auto wants = [](const std::string& yaml, const std::string& line) {
    World world(yaml);
    const World::Judged judged = world.judge(TestRequest(line));
    return judged.judgement && judged.judgement->wants_readable_answer();
  };
  const std::string rest = "then: [{over: 2, do: deny}]";
  const std::string enforced = policies("declined", "skip", rest);
  EXPECT_TRUE(wants(enforced, "POST /pay"));
  EXPECT_FALSE(wants(enforced, "POST /other"));
  EXPECT_FALSE(wants(policies("declined", "skip", "mode: shadow, " + rest), "POST /pay"))
      << "shadow mode changes no byte";
  EXPECT_FALSE(
      wants("events:\n  pay: {match: POST /pay}\n"
            "views: [{name: v, watch: pay, metric: sum(response.body.n), "
            "window: {every: 10s}}]\n",
            "POST /pay"))
      << "nor does a view";
  EXPECT_TRUE(
      wants("events:\n  pay: {match: POST /pay}\n"
            "  fine: {is: pay, when: 'response.body.ok'}\n"
            "policies: [{name: p, watch: pay, key: ip, reset: fine, window: 1h, " +
                rest + "}]\n",
            "POST /pay"));
}

int warnings(const std::string& watch, const std::string& rest) {
  config::Problems problems;
  const std::string yaml =
      "weir: 1\nevents:\n  pay: {match: POST /pay}\n"
      "  declined: {is: pay, when: 'response.body.code == 1'}\n"
      "  late: {is: declined, when: 'status == 200'}\n"
      "policies: [{name: p, watch: " +
      watch + ", key: ip, window: 1h, " + rest + "}]\n";
  const config::Model model = config::parse({{"test.yaml", yaml}}, {}, problems);
  EXPECT_TRUE(compile(model, problems));
  int count = 0;
  for (const auto& problem : problems.all())
    count += problem.message.find("answer that weir cannot read") != std::string::npos;
  return count;
}

TEST(UnreadAnswer, check_warns_where_it_is_a_way_around_a_policy) {
  const std::string deny = "then: [{over: 2, do: deny}]", flag = "then: [{over: 2, do: flag}]";
  EXPECT_EQ(warnings("declined", deny), 1);
  EXPECT_EQ(warnings("late", deny), 1) << "what its parent hangs on, it hangs on";
  EXPECT_EQ(warnings("pay", "when: 'response.body.code == 1', " + deny), 1);
  EXPECT_EQ(warnings("pay", deny), 0);
  EXPECT_EQ(warnings("declined", flag), 0) << "nobody is refused";
  EXPECT_EQ(warnings("declined", "mode: shadow, " + deny), 0);
  for (const char* missing : {"skip", "same", "deny"}) {
    EXPECT_EQ(warnings("declined", "missing: " + std::string(missing) + ", " + deny), 0)
        << "the file says what happens then";
  }
  const std::string sum = "metric: sum(response.body.cost), ";
  EXPECT_EQ(warnings("pay", sum + deny), 1);
  EXPECT_EQ(warnings("pay", sum + "missing: deny, " + deny), 1) << "there is no estimate to count";
  EXPECT_EQ(warnings("pay", sum + "reserve: '500', " + deny), 0);
}

}  // namespace
}  // namespace weir::policies::unread_answer_test
