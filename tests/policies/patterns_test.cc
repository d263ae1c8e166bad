#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "policies/explain/explain.h"
#include "policies/set/describe.h"
#include "tests/limiter/naive_patterns.h"
#include "tests/policies/world.h"
#include "tests/support/seed.h"

namespace weir::policies::patterns_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kEvents[] = R"(
fields: {user: header.x_user}
events:
  login: {match: POST /login, fields: {device: header.x_device}}
  login_failed: {is: login, when: status == 401}
  login_ok: {is: login, when: status == 200}
  order: {match: POST /order}
  pay: {match: POST /pay}
  receipt: {match: POST /receipt}
  withdraw: {match: POST /withdraw}
)";

std::string policy(const std::string& body) {
  return std::string(kEvents) + "policies:\n  - " + body;
}

TestRequest request(const std::string& what, const std::string& user = "ann") {
  TestRequest out("POST /" + what);
  if (!user.empty()) out.header("X-User", user);
  return out;
}

/// Every match as one line of text.
class Matches final : public PatternSink {
 public:
  void pattern(const MatchedPattern& match) override {
    std::string line = match.policy->name;
    for (const std::string_view part : match.key) line.append(" ").append(part);
    constexpr const char* kKinds[] = {" matched", " timeout", " unmatched"};
    line += kKinds[static_cast<std::size_t>(match.kind)];
    line += " @" + std::to_string(to_ms(match.fires) - kStart);
    for (const auto& event : match.events) {
      line += " " + std::string(event.name) + ":" + std::to_string(event.line) + "@" +
              std::to_string(to_ms(event.ts) - kStart);
    }
    lines.push_back(line);
  }
  static constexpr std::int64_t kStart = 1'800'000'000'000;
  std::vector<std::string> lines;
};

class Patterns : public ::testing::Test {
 protected:
  void start(const std::string& body) { use(policy(body)); }
  void use(const std::string& yaml) {
    world_ = std::make_unique<World>(yaml);
    world_->pattern_sink = &matches_;
    world_->driver.use_patterns(&world_->patterns, &matches_);
  }
  std::string send(const std::string& what, int status = 200, const std::string& user = "ann") {
    world_->driver.advance(world_->now - milliseconds{1});
    return world_->send(request(what, user), status);
  }
  void after(std::int64_t ms) { world_->now += milliseconds{ms}; }
  void advance(std::int64_t ms = 0) {
    after(ms);
    world_->driver.advance(world_->now - milliseconds{1});
  }
  std::vector<std::string> listed(std::string_view list) {
    std::vector<std::string> out;
    const List* found = world_->set_->find_list(list);
    EXPECT_NE(found, nullptr) << list;
    if (found == nullptr) return out;
    for (const auto& entry : world_->lists.page(found->id, world_->now, {}, 100)) {
      std::string line;
      for (const std::string& part : entry.parts) line += part + " ";
      out.push_back(line + std::to_string(to_ms(entry.since) - Matches::kStart) + ".." +
                    std::to_string(to_ms(entry.until) - Matches::kStart));
    }
    return out;
  }

  Matches matches_;
  std::unique_ptr<World> world_;
};

TEST_F(Patterns, the_completing_request_gets_the_rungs_effect) {
  start("{name: p, sequence: [order, pay], key: user, within: 5s, then: [{do: flag}]}");
  EXPECT_EQ(send("order"), "pass");
  after(5'000);
  EXPECT_EQ(send("pay", 200, "bob"), "pass");
  EXPECT_EQ(send("pay"), "flag");
  EXPECT_EQ(send("pay"), "pass");
  EXPECT_THAT(matches_.lines, ElementsAre("p ann matched @5000 order:0@0 pay:0@5000"));
}

TEST_F(Patterns, what_is_refused_has_not_happened) {
  start("{name: p, sequence: [order, pay], key: user, within: 5s, then: [{do: deny}]}");
  send("order");
  after(1'000);
  EXPECT_EQ(send("pay"), "deny");
  EXPECT_EQ(send("pay"), "deny");  // the order still waits for one that passes
  after(4'001);
  EXPECT_EQ(send("pay"), "pass");
  EXPECT_EQ(matches_.lines.size(), 2U);
}

TEST_F(Patterns, what_fires_for_the_store_fires_nothing_of_our_own_again) {
  start(
      "{name: p, sequence: [order, no pay], key: user, within: 5s, then: [{do: graylist, for: "
      "1h}]}");
  send("order");
  advance(6'000);
  EXPECT_EQ(matches_.lines.size(), 1U);
  world_->driver.patterns().fire_due();  // of shared patterns: there are none
  send("order");
  world_->driver.end_of_input(world_->now, true);
  EXPECT_EQ(matches_.lines.size(), 2U);
  world_->driver.patterns().fire_due();
  EXPECT_EQ(matches_.lines.size(), 2U);
}

TEST_F(Patterns, what_is_told_late_happens_when_it_is_told) {
  World world(R"(
events:
  row: {source: {csv: [what, user, ts], time: {field: ts, as: millis}}}
  order: {is: row, when: what == "order"}
  pay: {is: row, when: what == "pay"}
policies:
  - {name: p, sequence: [order, no pay], key: user, within: 5s, then: [{do: graylist, for: 1m}]}
views:
  - {name: v, watch: row, by: user, window: {every: 1m}}
)");
  Matches matches;
  world.driver.use_patterns(&world.patterns, &matches);
  const PolicySet& set = *world.set_;
  const auto tell = [&](std::string_view what) {
    const Preset values[] = {{*set.slots.find("column row.what"), Value::text(what)},
                             {*set.slots.find("column row.user"), Value::text("ann")}};
    const auto row = static_cast<EventIndex>(
        std::find_if(set.events.begin(), set.events.end(),
                     [](const Event& event) { return event.name == "row"; }) -
        set.events.begin());
    world.driver.advance(world.now - milliseconds{1});
    world.start(Record{row, world.now - milliseconds{3'600'000}, values});
  };
  tell("order");  // of an hour ago
  world.now += milliseconds{1};
  tell("pay");
  world.now += milliseconds{60'000};
  world.driver.advance(world.now);
  EXPECT_THAT(matches.lines, ElementsAre());
}

TEST_F(Patterns, tries_count_with_charge_always) {
  start(
      "{name: p, sequence: [order, pay], key: user, within: 5s, charge: always, then: [{do: "
      "deny}]}");
  send("order");
  EXPECT_EQ(send("pay"), "deny");
  EXPECT_EQ(send("pay"), "pass");
}

TEST_F(Patterns, a_request_that_another_policy_refuses_feeds_nothing) {
  use(
      policy("{name: p, sequence: [order, pay], key: user, within: 5s, then: [{do: flag}]}\n"
             "  - {name: no-orders, watch: order, then: [{if: user == 'ann', do: deny}]}"));
  EXPECT_EQ(send("order"), "deny");
  EXPECT_EQ(send("pay"), "pass");
  EXPECT_EQ(world_->patterns.stats().open, 0U);
}

TEST_F(Patterns, a_listing_acts_on_the_requests_of_its_steps) {
  start("{name: p, sequence: [order, pay], key: user, within: 5s, then: [{do: deny, for: 1m}]}");
  send("order");
  EXPECT_EQ(send("pay"), "deny");
  EXPECT_THAT(listed("p:deny"), ElementsAre("ann 0..60000"));
  EXPECT_EQ(send("order"), "deny");
  EXPECT_EQ(send("receipt"), "pass");
  after(60'001);
  EXPECT_EQ(send("order"), "pass");
}

TEST_F(Patterns, what_the_answer_decides_writes_memory_at_settlement) {
  start(
      "{name: p, sequence: [login_failed, login_failed, login_ok], key: user, within: 1m,\n"
      "     then: [{do: graylist, for: 1h}]}");
  send("login", 401);
  send("login", 401);
  EXPECT_THAT(listed("p:graylist"), ElementsAre());
  after(500);
  EXPECT_EQ(send("login", 200), "pass");
  EXPECT_THAT(listed("p:graylist"), ElementsAre("ann 500..3600500"));
  EXPECT_EQ(send("login", 200), "gray");
}

TEST_F(Patterns, an_answer_that_never_comes_has_not_happened) {
  start(
      "{name: p, sequence: [login_failed, login_failed], key: user, within: 1m, then: [{do: "
      "flag}]}");
  auto judged = world_->judge(request("login"));
  ASSERT_TRUE(judged.judgement);
  world_->driver.release(*judged.judgement, world_->instant());
  judged = world_->judge(request("login"));
  world_->driver.abort(*judged.judgement, world_->instant());
  EXPECT_EQ(world_->patterns.stats().open, 0U);
}

TEST_F(Patterns, after_an_abort_what_was_certain_has_happened) {
  start("{name: p, sequence: [login, login_ok], key: user, within: 1m, then: [{do: flag}]}");
  auto judged = world_->judge(request("login"));
  ASSERT_TRUE(judged.judgement);
  EXPECT_EQ(world_->patterns.stats().open, 0U);
  world_->driver.abort(*judged.judgement, world_->instant());
  EXPECT_EQ(world_->patterns.stats().open, 1U);
}

TEST_F(Patterns, one_request_is_never_two_steps_of_one_match) {
  start(
      "{name: p, sequence: [login, login_ok], key: user, within: 1m, then: [{notify: ops}]}\n"
      "notify: {ops: {log: true}}");
  send("login", 200);
  EXPECT_THAT(matches_.lines, ElementsAre());
  after(5);
  send("login", 200);
  EXPECT_THAT(matches_.lines, ElementsAre("p ann matched @5 login:0@0 login_ok:0@5"));
}

TEST_F(Patterns, strict_ends_at_what_stands_between) {
  start(
      "{name: p, sequence: [login_failed, login_failed], key: user, within: 2s, strict: true,\n"
      "     among: login, then: [{do: graylist, for: 1m}]}");
  for (const int status : {401, 200, 401, 401}) {
    send("login", status);
    after(10);
  }
  EXPECT_THAT(matches_.lines, ElementsAre("p ann matched @30 login_failed:0@20 login_failed:0@30"));
}

TEST_F(Patterns, steps_are_narrowed_by_when) {
  start(
      "{name: p, key: user, within: 1m, when: \"user != 'root'\",\n"
      "     sequence: [{event: login, when: device == 'new'}, withdraw], then: [{do: challenge}]}");
  const auto login = [&](const std::string& user, const std::string& device) {
    world_->send(request("login", user).header("X-Device", device));
  };
  login("ann", "old");
  EXPECT_EQ(send("withdraw"), "pass");
  login("ann", "new");
  EXPECT_EQ(send("withdraw"), "challenge");
  login("root", "new");
  EXPECT_EQ(send("withdraw", 200, "root"), "pass");
}

TEST_F(Patterns, an_absence_fires_when_its_time_has_passed_and_lists_the_firsts_key) {
  use("lists: {slow: {of: [user, ip], kind: gray}}" +
      policy("{name: p, sequence: [order, no pay], key: user, within: 15m,\n"
             "     then: [{do: graylist, for: 1h, list: slow}]}"));
  send("order");
  send("order", 200, "bob");
  after(900'000);
  send("pay", 200, "bob");  // exactly 15 min counts
  advance();
  EXPECT_THAT(matches_.lines, ElementsAre());
  advance(1);
  EXPECT_THAT(matches_.lines, ElementsAre("p ann timeout @900000 order:0@0"));
  EXPECT_THAT(listed("slow"), ElementsAre("ann 203.0.113.7 900000..4500000"));
  EXPECT_EQ(send("login"), "gray");
  EXPECT_EQ(send("login", 200, "bob"), "pass");
}

TEST_F(Patterns, a_late_tick_lists_at_the_deadline) {
  start(
      "{name: p, sequence: [order, no pay], key: user, within: 10s, then: [{do: graylist, for: "
      "1m}]}");
  send("order");
  advance(30'000);
  EXPECT_THAT(listed("p:graylist"), ElementsAre("ann 10000..70000"));
}

TEST_F(Patterns, pairs_match_live_and_tell_what_stayed_alone) {
  start(
      "{name: p, pair: [pay, receipt], key: user, within: {before: 3s, after: 5s},\n"
      "     then: [{do: flag, if: value == 2}, {do: graylist, for: 1m, if: value == 1}]}");
  send("pay");
  after(5'000);
  EXPECT_EQ(send("receipt"), "flag");
  send("receipt");
  advance(3'000);
  EXPECT_EQ(matches_.lines.size(), 1U);
  advance(1);
  EXPECT_THAT(matches_.lines, ElementsAre("p ann matched @5000 pay:0@0 receipt:0@5000",
                                          "p ann unmatched @8000 receipt:0@5000"));
  EXPECT_THAT(listed("p:graylist"), ElementsAre("ann 8000..68000"));
}

TEST_F(Patterns, a_missing_key_is_skipped_or_one_for_all) {
  start("{name: p, sequence: [order, pay], key: user, within: 5s, then: [{do: flag}]}");
  send("order", 200, "");
  EXPECT_EQ(send("pay", 200, ""), "pass");
  start(
      "{name: p, sequence: [order, pay], key: user, within: 5s, missing: same, then: [{do: "
      "flag}]}");
  send("order", 200, "");
  EXPECT_EQ(send("pay", 200, ""), "flag");
}

TEST_F(Patterns, shadow_changes_nothing_and_has_a_state_of_its_own) {
  use(
      policy("{name: s, sequence: [order, pay], key: user, within: 5s, mode: shadow, then: [{do: "
             "deny, for: 1m}]}\n"
             "  - {name: p, sequence: [order, pay], key: user, within: 5s, then: [{do: flag}]}"));
  send("order");
  auto judged = world_->judge(request("pay"));
  EXPECT_EQ(judged.effect, "flag");
  EXPECT_THAT(judged.upstream, ::testing::Not(HasSubstr("s;")));
  EXPECT_THAT(listed("s:deny:shadow"), ElementsAre("ann 0..60000"));
  EXPECT_EQ(send("order"), "pass");
}

TEST_F(Patterns, whoever_is_allow_listed_feeds_nothing) {
  use("lists: {office: {of: ip, kind: allow, entries: [203.0.113.7]}}" +
      policy("{name: p, sequence: [order, pay], key: user, within: 5s, then: [{do: deny}]}"));
  send("order");
  EXPECT_EQ(send("pay"), "exempt");
  EXPECT_EQ(world_->patterns.stats().keys, 0U);
}

TEST_F(Patterns, an_explanation_changes_nothing_and_tells_the_step) {
  start("{name: p, sequence: [order, pay], key: user, within: 5s, then: [{do: flag}]}");
  send("order");
  TestRequest pay = request("pay");
  const Explanation told = explain(world_->driver, pay.view(world_->now), world_->instant());
  EXPECT_THAT(told.to_text(false),
              HasSubstr("p  on pay, key user=ann\n    step 2 of 2; its key has 1 open "
                        "match; it completes one\n"));
  EXPECT_THAT(told.to_json(), HasSubstr("\"pattern\":\"step 2 of 2;"));
  EXPECT_EQ(told.verdict, "flag");
  EXPECT_EQ(send("pay"), "flag");
  TestRequest order = request("order", "zoe");
  EXPECT_THAT(explain(world_->driver, order.view(world_->now), world_->instant()).to_text(false),
              HasSubstr("step 1 of 2; its key has 0 open matches\n"));
}

TEST_F(Patterns, a_reload_keeps_what_is_open) {
  const std::string same =
      "{name: p, sequence: [order, no pay], key: user, within: 10s, then: [{notify: ops}]}\n"
      "notify: {ops: {log: true}}";
  start(same);
  send("order");
  world_->use(policy(same));
  advance(10'001);
  EXPECT_THAT(matches_.lines, ElementsAre("p ann timeout @10000 order:0@0"));
}

TEST_F(Patterns, a_policy_that_a_reload_took_away_fires_no_more) {
  start(
      "{name: p, sequence: [order, no pay], key: user, within: 10s, then: [{do: graylist, for: "
      "1m}]}");
  send("order");
  world_->use(kEvents);
  advance(10'001);
  EXPECT_THAT(matches_.lines, ElementsAre());
}

TEST_F(Patterns, are_told_in_a_sentence) {
  const auto text = [&](const std::string& body) {
    start(body);
    return pattern_text(*world_->set_, world_->set_->policies.front());
  };
  EXPECT_EQ(text("{name: p, sequence: [login_failed, login_failed], key: user, within: 2s, strict: "
                 "true, among: "
                 "login, overlap: false, then: [{do: flag}]}"),
            "login_failed, then login_failed within 2s, strictly among login, without overlap");
  EXPECT_EQ(
      text("{name: p, sequence: [order, no pay], within: 15m, then: [{do: graylist, for: 1m}]}"),
      "order, and no pay within 15m");
  EXPECT_EQ(text("{name: p, pair: [{event: pay, when: user == 'a'}, receipt], within: {before: 3s, "
                 "after: 5s}, then: "
                 "[{do: flag}]}"),
            "pay when header.x_user == \"a\" paired with receipt from 3s before to 5s after");
}

// --- Records
// ------------------------------------------------------------------------------------------

constexpr char kRecords[] = R"(
events:
  login: {source: {csv: [user, state, ts], time: {field: ts, as: millis}}}
  failed: {is: login, when: state == 'fail'}
  odd: {is: login, when: state != 'ok'}
policies:
  - {name: seq, sequence: [failed, failed], key: user, within: 6ms, strict: true, among: login, then: [{do: flag}]}
  - {name: three, sequence: [failed, odd, failed], key: user, within: 9ms, overlap: false, then: [{do: flag}]}
  - {name: silent, sequence: [failed, no odd], key: user, within: 7ms, then: [{notify: ops}]}
notify: {ops: {log: true}}
)";

std::string naive_line(const std::string& name, const std::string& user,
                       const limiter::naive::Row& row, const std::vector<std::string>& events,
                       const std::vector<std::int64_t>& times) {
  const auto& [fires, kind, lines] = row;
  std::string line =
      name + " " + user + (kind == 0 ? " matched @" : " timeout @") + std::to_string(fires);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    line += " " + events[i] + ":" + std::to_string(lines[i]) + "@" +
            std::to_string(times[lines[i] - 1]);
  }
  return line;
}

class RandomRecords : public ::testing::TestWithParam<std::uint32_t> {};

TEST_P(RandomRecords, judged_one_by_one_match_what_the_naive_list_says) {
  std::mt19937 random(GetParam());
  const auto upto = [&](int n) { return std::uniform_int_distribution<int>(0, n)(random); };
  for (int round = 0; round < 40; ++round) {
    World world(kRecords);
    Matches matches;
    world.driver.use_patterns(&world.patterns, &matches);
    const PolicySet& set = *world.set_;
    const auto event =
        static_cast<EventIndex>(std::find_if(set.events.begin(), set.events.end(),
                                             [](const Event& e) { return e.name == "login"; }) -
                                set.events.begin());
    std::map<std::string, std::vector<limiter::PatternEvent>> by_user[3];
    std::vector<std::int64_t> times;
    std::int64_t ts = 0;
    for (std::uint64_t line = 1; line <= 60; ++line) {
      ts += upto(3);
      times.push_back(ts);
      const std::string user(1, static_cast<char>('a' + upto(2)));
      const std::string state = upto(2) == 0 ? "ok" : upto(3) == 0 ? "late" : "fail";
      const std::string text = std::to_string(ts);
      const Preset values[] = {{*set.slots.find("column login.user"), Value::text(user)},
                               {*set.slots.find("column login.state"), Value::text(state)}};
      const TimePoint at = from_ms(Matches::kStart + ts);
      world.driver.advance(at - milliseconds{1});
      world.now = at;
      world.start(Record{event, at, values, nullptr, line});
      const bool failed = state == "fail";
      const bool odd = state != "ok";
      const auto add = [&](int which, int steps, bool among) {
        by_user[which][user].push_back(
            {from_ms(ts), line, static_cast<std::uint8_t>(steps), among, {}});
      };
      add(0, failed ? 3 : 0, true);
      add(1, (failed ? 5 : 0) | (odd ? 2 : 0), false);
      add(2, (failed ? 1 : 0) | (odd ? 2 : 0), false);
    }
    world.driver.end_of_input(from_ms(Matches::kStart + ts), true);

    std::vector<std::string> expected;
    limiter::PatternSpec spec;
    const auto expect = [&](int which, const std::string& name,
                            const std::vector<std::string>& events, auto naive) {
      for (const auto& [user, list] : by_user[which]) {
        for (const auto& row : naive(spec, list))
          expected.push_back(naive_line(name, user, row, events, times));
      }
    };
    spec.within = milliseconds{6};
    spec.strict = true;
    expect(0, "seq", {"failed", "failed"}, limiter::naive::sequence);
    spec = {};
    spec.steps = 3;
    spec.within = milliseconds{9};
    spec.overlap = false;
    expect(1, "three", {"failed", "odd", "failed"}, limiter::naive::sequence);
    spec = {};
    spec.within = milliseconds{7};
    expect(2, "silent", {"failed"}, limiter::naive::absence);
    std::sort(expected.begin(), expected.end());
    std::sort(matches.lines.begin(), matches.lines.end());
    ASSERT_EQ(matches.lines, expected) << "seed " << GetParam() << " round " << round;
  }
}

INSTANTIATE_TEST_SUITE_P(seeds, RandomRecords,
                         ::testing::Values(5U, 41'000U, ::weir::test::new_seed()));

// --- What cannot work
// ---------------------------------------------------------------------------------

std::vector<std::string> problems_of(const std::string& yaml) {
  config::Problems problems;
  const config::Model model = config::parse({{"test.yaml", "weir: 1\n" + yaml}}, {}, problems);
  if (!problems.has_errors()) static_cast<void>(compile(model, problems));
  std::vector<std::string> out;
  for (const auto& problem : problems.all()) {
    out.push_back(std::to_string(problem.where.line) + ":" + std::to_string(problem.where.column) +
                  " " + problem.message);
  }
  return out;
}

TEST(PatternProblems, each_is_told_where_it_stands) {
  const std::string head =
      "events:\n  a: {match: POST /a, fields: {user: header.x_user, gold: int(body.gold)}}\n"
      "  b: {match: POST /b}\n  c: {is: a, when: status == 200}\n"
      "lists: {l: {of: user, kind: gray}}\npolicies:\n  - ";
  const std::pair<const char*, const char*> cases[] = {
      {"{name: p, sequence: [a, b], key: user, within: 1m, then: [{do: flag}]}",
       "8:38 field \"user\" is not provided by event \"b\""},
      {"{name: p, sequence: [a, d], within: 1m, then: [{do: flag}]}",
       "8:29 there is no event \"d\""},
      {"{name: p, sequence: [a, b], within: 1m, strict: true, among: d, then: [{do: flag}]}",
       "8:66 there is no event \"d\""},
      {"{name: p, sequence: [a, b], within: 1m, then: [{do: flag, if: gold > 3}]}", "gold"},
      {"{name: p, sequence: [a, b], within: 1m, then: [{do: graylist, for: 1m, list: l}]}",
       "8:82 list \"l\" holds user, which event \"b\" does not provide"},
      {"{name: p, sequence: [a, c], within: 1m, then: [{do: flag, if: status == 200}]}",
       "a rung is judged at the request and cannot read the answer"},
      {"{name: p, pair: [a, b], then: [{do: flag}]}", "this pair waits for the end of input"},
  };
  for (const auto& [yaml, expected] : cases) {
    EXPECT_THAT(problems_of(head + yaml), ElementsAre(HasSubstr(expected))) << yaml;
  }
  EXPECT_THAT(
      problems_of(head +
                  "{name: p, sequence: [b, a], within: 1m, then: [{do: graylist, for: 1m, list: l, "
                  "if: gold > 3}]}"),
      ElementsAre());
}

}  // namespace
}  // namespace weir::policies::patterns_test
