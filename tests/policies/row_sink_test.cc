#include "policies/judgement/row_sink.h"

#include <gmock/gmock.h>

#include "core/words.h"
#include "tests/policies/world.h"

namespace weir::policies::row_sink_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// Writes rows as lines: `p reading request [203.0.113.7] 1`.
class Lines final : public RowSink {
 public:
  std::vector<std::string> all;

  void reading(const Row& row) override { all.push_back(text(row, "reading")); }
  void ruled(const Row& row) override { all.push_back(text(row, "ruled")); }
  void verdict(const Row& row, const Rung& rung, std::size_t index,
               std::optional<Number> limit) override {
    all.push_back(text(row, row_of(rung.action).name) + " rung " + std::to_string(index) +
                  " limit " + (limit ? limit->to_string() : "none"));
  }
  void remembered(const Row& row, const Rung&, std::size_t index,
                  std::optional<Number> limit) override {
    all.push_back(text(row, "remembered") + " rung " + std::to_string(index) + " limit " +
                  (limit ? limit->to_string() : "none"));
  }

 private:
  static std::string text(const Row& row, std::string_view what) {
    std::string out = row.policy->name + " " + std::string(what) + " " + row.event->name + " [";
    for (const Value& part : row.key->parts()) {
      if (!append_canonical(out, part)) out += "null";
    }
    out += "] ";
    if (!append_canonical(out, row.value)) out += "null";
    return out;
  }
};

struct RowSinkTest : testing::Test {
  std::vector<std::string> send(World& world, TestRequest request, int status = 200) {
    lines.all.clear();
    JudgeOptions options;
    options.may_wait = false;
    options.rows = &lines;
    world.start(request.view(world.now), options);
    if (world.last->is_open()) world.answer(*world.last, status);
    return lines.all;
  }
  Lines lines;
};

TEST_F(RowSinkTest, a_counted_event_gives_its_reading_and_the_rung_that_holds) {
  World world(
      "policies: [{name: p, watch: request, key: ip, window: 10m, then: [{over: 1, do: flag}, "
      "{over: 2, do: deny}]}]\n");
  EXPECT_THAT(send(world, {"GET /a"}), ElementsAre("p reading request [203.0.113.7] 1"));
  EXPECT_THAT(send(world, {"GET /a"}),
              ElementsAre("p reading request [203.0.113.7] 2",
                          "p flag request [203.0.113.7] 2 rung 0 limit 1"));
  EXPECT_THAT(send(world, {"GET /a"}),
              ElementsAre("p reading request [203.0.113.7] 3",
                          "p deny request [203.0.113.7] 3 rung 1 limit 2"));
}

TEST_F(RowSinkTest, an_outcome_policy_gives_its_reading_when_it_is_settled) {
  World world(
      "events: {login: {match: POST /login}, failed: {is: login, when: 'status == 401'}}\n"
      "policies: [{name: p, watch: failed, key: ip, window: 10m, then: [{over: 1, do: flag}, "
      "{over: 2, do: deny}]}]\n");
  EXPECT_THAT(send(world, {"POST /login"}, 200), IsEmpty());
  EXPECT_THAT(send(world, {"POST /login"}, 401), ElementsAre("p reading failed [203.0.113.7] 1"));
  // The app gets the flag before the answer is known: it is a verdict whatever the answer.
  EXPECT_THAT(send(world, {"POST /login"}, 200),
              ElementsAre("p flag failed [203.0.113.7] 2 rung 0 limit 1"));
  EXPECT_THAT(send(world, {"POST /login"}, 401),
              ElementsAre("p flag failed [203.0.113.7] 2 rung 0 limit 1",
                          "p reading failed [203.0.113.7] 2"));
  // Refused: there will be no answer.
  EXPECT_THAT(send(world, {"POST /login"}, 200),
              ElementsAre("p reading failed [203.0.113.7] 3",
                          "p deny failed [203.0.113.7] 3 rung 1 limit 2"));
}

/// The counter has counted it: there will be no answer.
TEST_F(RowSinkTest, a_try_that_another_policy_refuses_is_a_reading_where_tries_always_count) {
  const std::string_view events =
      "events: {login: {match: POST /login}, failed: {is: login, when: 'status == 401'}}\n"
      "policies: [{name: p, watch: failed, key: ip, window: 10m, ";
  const std::string_view policies =
      "then: [{over: 9, do: deny}]},\n"
      "  {name: q, watch: login, then: [{if: 'true', do: deny}]}]\n";
  const std::vector<std::string> of_q{"q ruled login [] null",
                                      "q deny login [] null rung 0 limit none"};
  World always(std::string(events) + "charge: always, " + std::string(policies));
  for (const char* reading :
       {"p reading failed [203.0.113.7] 1", "p reading failed [203.0.113.7] 2"})
    EXPECT_THAT(send(always, {"POST /login"}), ElementsAre(reading, of_q[0], of_q[1]));
  World admitted(std::string(events) + std::string(policies));
  EXPECT_THAT(send(admitted, {"POST /login"}), ElementsAre(of_q[0], of_q[1]));
}

TEST_F(RowSinkTest, an_answer_over_a_limit_is_no_verdict_on_its_request) {
  World world(
      "events: {chat: {match: POST /chat}}\n"
      "policies: [{name: p, watch: chat, key: ip, metric: 'sum(response.body.cost)', "
      "window: 10m, then: [{over: 4, do: flag}, {over: 9, do: deny, for: 1h}]}]\n");
  const auto costs = [&](const char* cost) {
    lines.all.clear();
    JudgeOptions options;
    options.may_wait = false;
    options.rows = &lines;
    TestRequest request("POST /chat");
    world.start(request.view(world.now), options);
    if (world.last->is_open())
      world.answer(*world.last, 200, std::string(R"({"cost":)") + cost + "}");
    return lines.all;
  };
  EXPECT_THAT(costs("5"), ElementsAre("p reading chat [203.0.113.7] 5"));
  EXPECT_THAT(costs("9"), ElementsAre("p flag chat [203.0.113.7] 5 rung 0 limit 4",
                                      "p reading chat [203.0.113.7] 14",
                                      "p remembered chat [203.0.113.7] 14 rung 1 limit 9"))
      << "the answer bans; the request has passed";
  EXPECT_THAT(costs("0"), IsEmpty()) << "banned";
}

TEST_F(RowSinkTest, a_guard_gives_no_verdict_on_what_it_only_watches) {
  World world(
      "events: {try: {match: POST /try}, buy: {match: POST /buy}}\n"
      "policies: [{name: p, watch: try, guard: buy, key: ip, window: 10m, "
      "then: [{over: 0, do: flag}, {over: 1, do: deny, for: 1h}]}]\n");
  EXPECT_THAT(send(world, {"POST /try"}), ElementsAre("p reading try [203.0.113.7] 1"));
  EXPECT_THAT(send(world, {"POST /buy"}), ElementsAre("p reading buy [203.0.113.7] 1",
                                                      "p flag buy [203.0.113.7] 1 rung 0 limit 0"));
  EXPECT_THAT(send(world, {"POST /try"}),
              ElementsAre("p reading try [203.0.113.7] 2",
                          "p remembered try [203.0.113.7] 2 rung 1 limit 1"));
  EXPECT_THAT(send(world, {"POST /buy"}), IsEmpty()) << "banned";
}

TEST_F(RowSinkTest, no_rows_where_when_is_false_or_the_own_ban_refuses) {
  World world(
      "policies: [{name: p, watch: request, when: 'method == \"POST\"', key: ip, window: 10m, "
      "then: [{over: 1, do: deny, for: 1h}]}]\n");
  EXPECT_THAT(send(world, {"GET /a"}), IsEmpty());
  EXPECT_EQ(send(world, {"POST /a"}).size(), 1u);
  EXPECT_EQ(send(world, {"POST /a"}).size(), 2u);
  EXPECT_THAT(send(world, {"POST /a"}), IsEmpty());
}

TEST_F(RowSinkTest, shadow_rungs_give_rows_where_no_enforced_one_holds) {
  World world(
      "policies: [{name: p, watch: request, window: 10m, then: [{over: 0, do: flag, mode: shadow}, "
      "{over: 1, do: flag}]},\n"
      "  {name: q, watch: request, mode: shadow, window: 10m, then: [{over: 1, do: deny}]}]\n");
  EXPECT_THAT(send(world, {"GET /a"}),
              ElementsAre("p reading request [] 1", "p flag request [] 1 rung 0 limit 0",
                          "q reading request [] 1"));
  EXPECT_THAT(send(world, {"GET /a"}),
              ElementsAre("p reading request [] 2", "p flag request [] 2 rung 1 limit 1",
                          "q reading request [] 2", "q deny request [] 2 rung 0 limit 1"));
}

TEST_F(RowSinkTest, missing_key_parts_are_null_and_rules_have_no_reading) {
  World world(
      "fields: {a: header.x_a}\npolicies: [{name: p, watch: request, key: [ip, a], missing: same, "
      "window: 10m, then: [{over: 0, do: flag}]},\n"
      "  {name: rule, watch: request, key: ip, then: [{if: 'method == \"GET\"', do: flag}]}]\n");
  EXPECT_THAT(send(world, {"GET /a"}),
              ElementsAre("p reading request [203.0.113.7null] 1",
                          "p flag request [203.0.113.7null] 1 rung 0 limit 0",
                          "rule ruled request [203.0.113.7] null",
                          "rule flag request [203.0.113.7] null rung 0 limit none"));
  EXPECT_THAT(send(world, {"POST /a"}), testing::Contains("rule ruled request [203.0.113.7] null"));
}

TEST_F(RowSinkTest, a_rule_over_metrics_tells_of_every_event_that_it_judges) {
  World world(
      "policies: [{name: p, watch: request, key: ip, metrics: {all: {watch: request, metric: "
      "count, "
      "window: 10m}, bad: {watch: request, when: 'status == 404', metric: count, window: 10m}}, "
      "then: [{if: 'all > 1 && bad > 0', do: flag}]}]\n");
  EXPECT_THAT(send(world, {"GET /a"}),
              testing::IsSupersetOf(
                  {"p.all reading request [203.0.113.7] 1", "p ruled request [203.0.113.7] null"}));
  const std::vector<std::string> second = send(world, {"GET /a"}, 404);
  EXPECT_EQ(std::count(second.begin(), second.end(), "p ruled request [203.0.113.7] null"), 1);
}

}  // namespace
}  // namespace weir::policies::row_sink_test
