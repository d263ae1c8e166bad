#include <gmock/gmock.h>

#include <optional>
#include <sstream>

#include "tests/replay/world.h"

namespace weir::replay::patterns_test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

/// Orders that are not paid within 10 s, and a page view count every 5 s beside them.
constexpr const char* kOrders =
    "events:\n"
    "  order: {source: {csv: [id, what, ts], time: {field: ts, as: seconds}}}\n"
    "  made: {is: order, when: 'what == \"make\"'}\n"
    "  paid: {is: order, when: 'what == \"pay\"'}\n"
    "lists:\n  unpaid: {of: id, kind: gray}\n"
    "policies:\n"
    "  - {name: late, sequence: [made, no paid], within: 10s, key: id, then: [{do: graylist, list: "
    "unpaid, for: 1d}]}\n"
    "  - {name: double, sequence: [paid, paid], within: 10s, key: id, then: [{do: flag}]}\n"
    "views:\n"
    "  - {name: rate, watch: order, metric: count, window: {every: 5s}}\n";

std::vector<std::string> lines_of(const std::string& ndjson,
                                  std::initializer_list<const char*> types) {
  std::vector<std::string> out;
  std::istringstream in(ndjson);
  for (std::string line; std::getline(in, line);) {
    for (const char* type : types) {
      if (line.find("{\"type\":\"" + std::string(type) + "\"") == 0) out.push_back(line);
    }
  }
  return out;
}

struct ReplayPatterns : testing::Test {
  ScratchFiles files;
  Plan plan_of(const std::string& rows) {
    Plan plan;
    plan.sources = {{"order", files.write("orders.csv", rows)}};
    return plan;
  }
};

TEST_F(ReplayPatterns, timers_fire_between_windows_in_the_order_of_time) {
  // One step of the watermark, from 2 s to 20 s, passes the deadlines of a (11 s) and b (12 s) and
  // the ends of the windows at 5 s, 15 s and 20 s (that at 10 s saw nothing).
  const Replayed out =
      replay_files(kOrders, plan_of("a,make,1\nb,make,2\nc,make,12\nc,pay,12\nd,make,20\n"));
  EXPECT_THAT(
      lines_of(out.ndjson, {"pattern", "view"}),
      ElementsAre(
          R"({"type":"view","view":"rate","start":0,"end":5000,"complete":true,"total":2,"rows":[[2]]})",
          R"({"type":"pattern","policy":"late","key":["a"],"ts":11000,"kind":"timeout","events":[{"event":"made","line":1,"ts":1000}]})",
          R"({"type":"pattern","policy":"late","key":["b"],"ts":12000,"kind":"timeout","events":[{"event":"made","line":2,"ts":2000}]})",
          R"({"type":"view","view":"rate","start":10000,"end":15000,"complete":true,"total":2,"rows":[[2]]})"));
  EXPECT_THAT(
      out.ndjson,
      HasSubstr(
          R"("late":{"events":2,"keys":2,"keys_hit":2,"verdicts":0,"rungs":[0],"matched":0,"timeout":2,"unmatched":0})"));
  EXPECT_EQ(out.report.policies[0].summary(), "2 timeouts of 2 keys");
  EXPECT_EQ(out.report.policies[0].hardest.front().key, "a");
}

TEST_F(ReplayPatterns, what_is_pending_needs_flush_and_keeps_its_deadline) {
  Plan plan = plan_of("a,make,1\n");
  EXPECT_THAT(lines_of(replay_files(kOrders, plan).ndjson, {"pattern"}), ElementsAre());
  plan.flush = true;
  EXPECT_THAT(lines_of(replay_files(kOrders, plan).ndjson, {"pattern"}),
              ElementsAre(HasSubstr(R"("ts":11000,"kind":"timeout")")));
}

TEST_F(ReplayPatterns, a_match_stands_after_the_verdict_of_the_row_that_completes_it) {
  const Replayed out = replay_files(kOrders, plan_of("a,pay,1\na,pay,3\n"));
  EXPECT_THAT(
      lines_of(out.ndjson, {"verdict", "pattern"}),
      ElementsAre(
          R"({"type":"verdict","policy":"double","event":"paid","line":2,"ts":3000,"key":["a"],"value":2,"do":"flag","rung":0,"limit":null})",
          R"({"type":"pattern","policy":"double","key":["a"],"ts":3000,"kind":"matched","events":[{"event":"paid","line":1,"ts":1000},{"event":"paid","line":2,"ts":3000}]})"));
}

TEST_F(ReplayPatterns, lateness_sorts_before_deadlines_are_looked_at) {
  // The payment follows a row that passes the deadline, but its own time is earlier.
  const std::string rows = "a,make,1\nb,make,30\na,pay,5\n";
  Plan plan = plan_of(rows);
  EXPECT_THAT(lines_of(replay_files(kOrders, plan).ndjson, {"pattern"}),
              ElementsAre(HasSubstr("\"key\":[\"a\"]")));
  plan.lateness = milliseconds{60'000};
  EXPECT_THAT(lines_of(replay_files(kOrders, plan).ndjson, {"pattern"}), ElementsAre());
}

TEST_F(ReplayPatterns, rows_held_at_the_end_see_the_timers_before_them) {
  // A recording: all its rows lie within the lateness, and the verdicts are those of the traffic.
  constexpr const char* kBans =
      "events:\n"
      "  order: {source: {csv: [id, what, ts], time: {field: ts, as: seconds}}}\n"
      "  made: {is: order, when: 'what == \"make\"'}\n"
      "  paid: {is: order, when: 'what == \"pay\"'}\n"
      "policies:\n"
      "  - {name: late, sequence: [made, no paid], within: 3s, key: id, then: [{do: deny, for: "
      "1h}]}\n";
  const auto seen = [&](std::optional<milliseconds> lateness) {
    Plan plan = plan_of("a,make,1\na,make,10\nb,make,11\nb,make,12\n");
    plan.lateness = lateness;
    return lines_of(replay_files(kBans, plan).ndjson, {"verdict", "pattern", "listed"});
  };
  const auto as_it_came = seen(std::nullopt);
  EXPECT_THAT(as_it_came, Contains(HasSubstr(R"({"type":"listed")")));
  EXPECT_EQ(seen(milliseconds{1'000}), as_it_came);
  EXPECT_EQ(seen(milliseconds{60'000}), as_it_came);
}

TEST_F(ReplayPatterns, what_is_due_when_a_late_row_begins_it_fires_at_once) {
  const Replayed out = replay_files(kOrders, plan_of("x,other,100\na,make,1\na,pay,2\nb,make,3\n"));
  EXPECT_THAT(
      lines_of(out.ndjson, {"pattern"}),
      ElementsAre(
          R"({"type":"pattern","policy":"late","key":["a"],"ts":11000,"kind":"timeout","events":[{"event":"made","line":2,"ts":1000}]})",
          R"({"type":"pattern","policy":"late","key":["b"],"ts":13000,"kind":"timeout","events":[{"event":"made","line":4,"ts":3000}]})"));
}

TEST_F(ReplayPatterns, two_sets_are_compared_by_their_matches) {
  std::string longer = kOrders;
  longer.replace(longer.find("within: 10s"), 11, "within: 30s");
  const Replayed out =
      replay_files(kOrders, plan_of("a,make,1\nb,make,2\na,pay,15\nb,pay,40\n"), longer);
  ASSERT_FALSE(out.report.differences.empty());
  const Difference& late = out.report.differences[0];
  EXPECT_EQ(late.policy, "late");
  EXPECT_EQ(late.both, 1U);       // b
  EXPECT_EQ(late.only_here, 1U);  // a
}

}  // namespace
}  // namespace weir::replay::patterns_test
