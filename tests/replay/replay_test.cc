#include "replay/replay.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <random>
#include <sstream>

#include "tests/replay/world.h"
#include "tests/support/golden.h"
#include "tests/support/seed.h"

namespace weir::replay::replay_test {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;

constexpr const char* kTwo =
    "events:\n  a: {source: {csv: [user, ts], time: {field: ts, as: seconds}}}\n"
    "  b: {source: {csv: [user, ts], time: {field: ts, as: seconds}}}\n"
    "policies:\n  - {name: p, watch: [a, b], key: user, window: {last: 10s, exact: true}, then: "
    "[{over: 1, do: flag}]}\n";

/// `a1@1=1 ...`: event, line, second and value of each reading.
std::string readings(const std::string& ndjson) {
  std::string out, line;
  std::istringstream in(ndjson);
  const auto number = [&](std::string_view name) {
    const std::size_t at = line.find("\"" + std::string(name) + "\":") + name.size() + 3;
    return line.substr(at, line.find_first_of(",}", at) - at);
  };
  while (std::getline(in, line)) {
    if (line.find("\"reading\"") == std::string::npos) continue;
    const std::size_t event = line.find("\"event\":\"") + 9;
    const std::string ts = number("ts");
    out += (out.empty() ? "" : " ") + line.substr(event, line.find('"', event) - event) +
           number("line") + "@" + ts.substr(0, ts.size() - 3) + "=" + number("value");
  }
  return out;
}

struct ReplayTest : testing::Test {
  ScratchFiles files;
};

TEST_F(ReplayTest, streams_are_merged_by_time_and_each_keeps_its_order) {
  Plan plan;
  plan.sources = {{"b", files.write("b", "u,1\nu,5\nu,4\n")},
                  {"a", files.write("a", "u,1\nu,4\nu,6\n")}};
  EXPECT_EQ(readings(replay_files(kTwo, plan).ndjson), "b1@1=1 a1@1=2 a2@4=3 b2@5=4 b3@4=5 a3@6=6");
}

TEST_F(ReplayTest, in_order_of_arrival_now_is_the_largest_time_so_far) {
  Plan plan;
  plan.sources = {{"a", files.write("a", "u,1\nu,20\nu,2\nu,12\n")}};
  // The late rows count as of second 20, so they are in the window of 10 s.
  EXPECT_EQ(readings(replay_files(kTwo, plan).ndjson), "a1@1=1 a2@20=1 a3@2=2 a4@12=3");
}

TEST_F(ReplayTest, with_lateness_rows_are_sorted_and_what_is_too_late_is_dropped) {
  Plan plan;
  plan.lateness = seconds{5};
  plan.sources = {{"a", files.write("a", "u,10\nu,12\nu,7\nu,10\nu,16\nu,10\nu,11\nu,30\n")}};
  const Replayed out = replay_files(kTwo, plan);
  // At 16 the watermark is 10.999 s: rows of second 10 are late, of second 11 not.
  EXPECT_EQ(readings(out.ndjson), "a3@7=1 a1@10=2 a4@10=3 a7@11=4 a2@12=5 a5@16=6 a8@30=1");
  EXPECT_EQ(out.report.late, 1u);
  EXPECT_EQ(out.report.rows, 8u);
}

TEST_F(ReplayTest, enough_lateness_gives_what_a_sorted_file_gives) {
  const auto seed = ::weir::test::new_seed();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  std::vector<std::pair<std::string, int>> rows;
  for (int i = 0; i < 500; ++i)
    rows.emplace_back("u" + std::to_string(random() % 5), 100 + static_cast<int>(random() % 300));
  const auto text = [](const auto& all) {
    std::string out;
    for (const auto& [user, ts] : all) out += user + "," + std::to_string(ts) + "\n";
    return out;
  };
  Plan shuffled, sorted;
  shuffled.lateness = seconds{300};
  shuffled.sources = {{"a", files.write("shuffled", text(rows))}};
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto& a, const auto& b) { return a.second < b.second; });
  sorted.sources = {{"a", files.write("sorted", text(rows))}};
  const auto values = [](const std::string& text_of_readings) {
    std::string out;
    std::istringstream in(text_of_readings);
    for (std::string one; in >> one;) out += one.substr(one.find('@')) + " ";
    return out;
  };
  EXPECT_EQ(values(readings(replay_files(kTwo, shuffled).ndjson)),
            values(readings(replay_files(kTwo, sorted).ndjson)));
}

TEST_F(ReplayTest, from_and_to_bound_the_time) {
  Plan plan;
  plan.from = from_ms(2000);
  plan.to = from_ms(4000);
  plan.sources = {{"a", files.write("a", "u,1\nu,2\nu,3\nu,4\n")}};
  const Replayed out = replay_files(kTwo, plan);
  EXPECT_EQ(readings(out.ndjson), "a2@2=1 a3@3=2");
  EXPECT_EQ(out.report.rows, 2u);
}

constexpr const char* kShop = R"(
fields: {device: header.x_device_id}
events:
  login:  {match: POST /login}
  failed: {is: login, when: 'status in [401, 403]'}
  order:
    source: {json: true, time: {field: ts, as: millis}}
    fields: {cents: int(amount * 100.0)}
  big:    {is: order, when: cents > 5000}
  pay:    {source: {csv: [order, state, ts], header: true, time: {field: ts, as: seconds}}}
lists:
  crooks: {of: user, kind: deny}
policies:
  - {name: failed-per-ip, watch: failed, key: ip, window: 10m, then: [{over: 1, do: flag}, {over: 2, do: deny, for: 1h}]}
  - {name: all, watch: request, when: 'method != "HEAD"', window: {every: 1h}, then: [{over: 3, do: flag}]}
  - {name: spent, watch: order, key: [user, ip], metric: sum(amount), window: 1h, then: [{over: 99.5, do: graylist, for: 1h}]}
  - {name: big-orders, watch: big, key: user, window: 1h, then: [{over: 1, do: deny, for: 1h, list: crooks}]}
  - {name: paid, watch: pay, when: 'state == "ok"', key: order, window: 1h, mode: shadow, then: [{over: 1, do: deny}]}
  - {name: devices, watch: request, key: device, window: 1h, then: [{over: 1, do: flag}]}
)";

TEST_F(ReplayTest, golden_rows_of_requests_and_records) {
  Plan plan;
  plan.sources = {
      {"request", files.write("access.log",
                              "203.0.113.7 - - [21/Nov/2026:08:00:00 +0000] \"POST /login "
                              "HTTP/1.1\" 401 10 \"-\" \"curl\"\n"
                              "203.0.113.7 - - [21/Nov/2026:08:00:01 +0000] \"POST /login "
                              "HTTP/1.1\" 200 10 \"-\" \"curl\"\n"
                              "2001:db8:1::9 - - [21/Nov/2026:08:00:02 +0000] \"HEAD / HTTP/1.1\" "
                              "200 - \"-\" \"curl\"\n"
                              "203.0.113.7 - - [21/Nov/2026:08:00:03 +0000] \"POST /login "
                              "HTTP/1.1\" 403 10 \"-\" \"curl\"\n"
                              "broken\n"
                              "203.0.113.7 - - [21/Nov/2026:08:00:04 +0000] \"POST /login "
                              "HTTP/1.1\" 200 10 \"-\" \"curl\"\n"
                              "203.0.113.7 - - [21/Nov/2026:08:00:05 +0000] \"POST /login "
                              "HTTP/1.1\" 401 10 \"-\" \"curl\"\n"
                              "203.0.113.8 - - [21/Nov/2026:08:00:06 +0000] \"GET /x HTTP/1.1\" "
                              "200 10 \"-\" \"curl\"\n")},
      {"order",
       files.write(
           "orders.ndjson",
           "{\"ts\":1795248001500,\"user\":1,\"ip\":\"10.0.0.1\",\"amount\":60.5}\n"
           "{\"ts\":1795248002000,\"user\":\"1\",\"ip\":\"::ffff:10.0.0.1\",\"amount\":60}\n"
           "{\"ts\":1795248003000,\"user\":1,\"ip\":\"2001:db8:1:2:3::4\",\"amount\":0.25}\n"
           "{\"ts\":1795248004000,\"user\":null,\"amount\":1}\n")},
      {"pay", files.write("pays.csv",
                          "order,state,ts\nA,ok,1795248001\nA,failed,1795248002\nA,ok,1795248003\n,"
                          "ok,1795248004")}};
  const Replayed out = replay_files(kShop, plan);
  EXPECT_EQ(test::compare_golden(WEIR_SOURCE_DIR, "replay/shop.ndjson", out.ndjson), "");
}

std::size_t times(const std::string& text, std::string_view what) {
  std::size_t out = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1))
    ++out;
  return out;
}

/// Every way in which a policy puts a key on its list: the sum of the rows equals the
/// report.
TEST_F(ReplayTest, what_a_policys_own_list_refuses_has_a_row) {
  const std::string event =
      "events: {a: {source: {csv: [user, n, ts], time: {field: ts, as: seconds}}, "
      "fields: {x: int(n)}}}\npolicies:\n  - {name: p, key: user, ";
  std::string lines;
  for (int n = 1; n <= 12; ++n)
    lines += (n % 3 == 0 ? "v," : "u,") + std::to_string(n % 4) + "," + std::to_string(n) + "\n";
  Plan plan;
  plan.sources = {{"a", files.write("a", lines)}};
  const std::pair<const char*, const char*> policies[] = {
      {"watch: a, window: 1m, then: [{over: 2, do: deny, for: 1h}]}", "deny"},
      {"watch: a, metric: sum(x), window: 1m, then: [{over: 2, do: challenge, for: 1h}]}",
       "challenge"},
      {"watch: a, then: [{if: x == 3, do: deny, for: 1h}]}", "deny"},
      {"sequence: [a, a], within: 1m, then: [{do: deny, for: 1h}]}", "deny"},
      {"watch: a, window: 1m, mode: shadow, then: [{over: 2, do: deny, for: 1h}]}", "deny"},
      {"watch: a, window: 1m, then: [{over: 2, do: graylist, for: 1h}]}", ""}};
  for (const auto& [policy, action] : policies) {
    const std::string yaml = event + policy + "\n";
    const Replayed out = replay_files(yaml, plan);
    const bool shadow = yaml.find("mode: shadow") != std::string::npos;
    const std::size_t rows = times(out.ndjson, R"({"type":"listed","policy":"p")");
    if (*action == '\0') {
      EXPECT_EQ(rows, 0U) << yaml;
      continue;
    }
    EXPECT_GT(rows, 0U) << yaml;
    EXPECT_EQ(times(out.ndjson, "\"list\":\"p:" + std::string(action) + (shadow ? ":shadow" : "") +
                                    "\",\"do\":\"" + action + "\"" +
                                    (shadow ? ",\"shadow\":true}" : "}")),
              rows)
        << out.ndjson;
    if (!shadow) {
      EXPECT_EQ(out.report.policies[0].listed, rows) << yaml;
    }
    EXPECT_THAT(out.ndjson, HasSubstr("\"key\":[\"u\"],\"list\"")) << yaml;
  }
}

TEST_F(ReplayTest, a_sum_beyond_all_doubles_reads_the_largest_of_them) {
  Plan plan;
  plan.sources = {{"pay", files.write("pays", "u,1e308,1\nu,1e308,2\nv,-1e308,3\nv,-1e308,4\n")}};
  for (const char* window : {"1h", "{last: 1h, exact: true}", "{every: 1h}"}) {
    const Replayed out = replay_files(
        "events: {pay: {source: {csv: [user, n, ts], time: {field: ts, as: seconds}}, fields: "
        "{amount: double(n)}}}\n"
        "policies: [{name: p, watch: pay, key: user, metric: sum(amount), window: " +
            std::string(window) + ", then: [{over: 100, do: flag}]}]\n",
        plan);
    EXPECT_EQ(times(out.ndjson, "null"), 0U) << out.ndjson;
    EXPECT_EQ(times(out.ndjson, ":17976931348623157"), 2U) << "a reading and its verdict";
    EXPECT_EQ(times(out.ndjson, ":-17976931348623157"), 1U);
  }
}

TEST_F(ReplayTest, amounts_that_are_refused_are_told) {
  Plan plan;
  plan.sources = {{"pay", files.write("pays", "u,50,1\nu,-20,2\nu,30,3\n")}};
  const Replayed out = replay_files(
      "events: {pay: {source: {csv: [user, n, ts], time: {field: ts, as: seconds}}, fields: "
      "{amount: "
      "int(n)}}}\n"
      "policies: [{name: p, watch: pay, key: user, metric: sum(amount), window: 1h, then: [{over: "
      "100, do: deny}]}]\n",
      plan);
  EXPECT_EQ(out.report.policies[0].events, 2U);
  EXPECT_EQ(out.report.policies[0].amounts_refused, 1U);
  EXPECT_EQ(out.report.policies[0].missing, 0U);
}

TEST_F(ReplayTest, more_than_ten_bad_rows_with_one_fault_are_told_once) {
  for (const std::size_t bad : {1U, 9U, 10U, 11U, 400U}) {
    std::string rows = "u,1\n";
    for (std::size_t i = 0; i < bad; ++i) rows += "u,never\n";
    Plan plan;
    plan.sources = {{"pay", files.write("pays", rows + "u,2\n")}};
    const Replayed out = replay_files(
        "events: {pay: {source: {csv: [user, ts], time: {field: ts, as: seconds}}}}\n"
        "policies: [{name: p, watch: pay, key: user, window: 1h, then: [{over: 9, do: flag}]}]\n",
        plan);
    const FileReport& file = out.report.files[0];
    EXPECT_EQ(file.bad, bad);
    EXPECT_EQ(file.shown, bad);
    EXPECT_EQ(file.faults.size(), bad > 10 ? 1U : bad);
    EXPECT_NE(file.faults.back().find(bad > 10 ? ":2:" : ":" + std::to_string(bad + 1) + ":"),
              std::string::npos);
  }
}

TEST_F(ReplayTest, refusals_for_what_is_missing_are_told_of_their_policy) {
  Plan plan;
  plan.sources = {{"pay", files.write("pays", "u,1\n,2\nu,3\n,4\n")}};
  const Replayed out = replay_files(
      "events: {pay: {source: {csv: [user, ts], time: {field: ts, as: seconds}}}}\n"
      "policies:\n"
      "  - {name: all, watch: pay, window: 1h, then: [{over: 100, do: flag}]}\n"
      "  - {name: p, watch: pay, key: user, missing: deny, window: 1h, then: [{over: 100, do: "
      "deny}]}\n",
      plan);
  EXPECT_EQ(out.report.policies[0].unread, 0U);
  EXPECT_EQ(out.report.policies[1].unread, 2U);
  EXPECT_EQ(out.report.policies[1].events, 2U);
}

TEST_F(ReplayTest, the_same_input_gives_the_same_bytes) {
  std::string rows;
  for (int i = 0; i < 3000; ++i)
    rows += "u" + std::to_string(i * 31 % 977) + "," + std::to_string(1000 + i / 10) + "\n";
  Plan plan;
  plan.sources = {{"a", files.write("a", rows)}};
  const Replayed one = replay_files(kTwo, plan);
  const Replayed two = replay_files(kTwo, plan);
  EXPECT_EQ(one.ndjson, two.ndjson);
  EXPECT_EQ(report_text(one.report, false), report_text(two.report, false));
  EXPECT_EQ(report_json(one.report), report_json(two.report));
  EXPECT_EQ(report_html(one.report, "t"), report_html(two.report, "t"));
}

TEST_F(ReplayTest, a_second_configuration_judges_beside_the_first) {
  Plan plan;
  plan.sources = {{"a", files.write("a", "u,1\nu,2\nu,3\nv,3\nv,4\nw,5\n")}};
  std::string looser = kTwo;
  looser.replace(looser.find("over: 1"), 7, "over: 2");
  const Replayed out = replay_files(kTwo, plan, looser);
  ASSERT_EQ(out.report.differences.size(), 1u);
  const Difference& d = out.report.differences.front();
  EXPECT_EQ(d.verdicts_here, 3u);
  EXPECT_EQ(d.verdicts_there, 1u);
  EXPECT_EQ(d.both, 1u);
  EXPECT_EQ(d.only_here, 1u);
  EXPECT_EQ(d.keys_only_here, std::vector<std::string>{"v"});
  EXPECT_EQ(d.only_there, 0u);
}

constexpr const char* kViews =
    "events:\n  a: {source: {csv: [page, user, ts], time: {field: ts, as: seconds}}}\n"
    "views:\n  - {name: pages, watch: a, by: page, window: {last: 10s, hop: 5s}, top: 1}\n"
    "  - {name: users, watch: a, metric: distinct(user), window: {every: 10s}}\n";

/// The view rows alone, their constant parts left out.
std::string windows(const std::string& ndjson) {
  std::string out, line;
  std::istringstream in(ndjson);
  while (std::getline(in, line)) {
    if (line.find("\"view\"") == std::string::npos) continue;
    out += line.substr(line.find("\"view\":") + 7) + "\n";
  }
  return out;
}

TEST_F(ReplayTest, windows_come_in_the_order_of_time_and_open_ones_need_a_flush) {
  Plan plan;
  plan.sources = {{"a", files.write("a", "x,1,12\ny,2,13\nx,2,14\ny,3,21\n")}};
  EXPECT_EQ(windows(replay_files(kViews, plan).ndjson),
            R"("pages","start":5000,"end":15000,"complete":true,"total":3,"rows":[["x",2]]}
"pages","start":10000,"end":20000,"complete":true,"total":3,"rows":[["x",2]]}
"users","start":10000,"end":20000,"complete":true,"total":2,"rows":[[2]]}
)");
  plan.flush = true;
  const Replayed flushed = replay_files(kViews, plan);
  EXPECT_THAT(
      windows(flushed.ndjson),
      HasSubstr(R"("pages","start":15000,"end":25000,"complete":false,"total":1,"rows":[["y",1]]}
"pages","start":20000,"end":30000,"complete":false,"total":1,"rows":[["y",1]]}
"users","start":20000,"end":30000,"complete":false,"total":1,"rows":[[1]]}
)"));
  ASSERT_EQ(flushed.report.views.size(), 2u);
  EXPECT_EQ(flushed.report.views[0].windows, 4u);
  EXPECT_EQ(flushed.report.views[1].total, "1");
}

TEST_F(ReplayTest, a_view_without_an_end_has_its_result_at_the_end_of_the_input) {
  Plan plan;
  plan.sources = {{"a", files.write("a", "x,1,12\ny,2,13\nx,2,14\ny,3,86400\n")}};
  const Replayed out = replay_files(
      "events:\n  a: {source: {csv: [page, user, ts], time: {field: ts, as: seconds}}}\n"
      "views:\n  - {name: all, watch: a, by: page, window: all, top: 1}\n"
      "  - {name: users, watch: a, metric: distinct(user), window: {every: 10s}}\n",
      plan);
  EXPECT_THAT(
      windows(out.ndjson),
      HasSubstr(
          R"("all","start":12000,"end":86400001,"complete":true,"total":4,"rows":[["x",2]]})"));
  ASSERT_EQ(out.report.views.size(), 2u);
  EXPECT_EQ(out.report.views[0].windows, 1u);
  EXPECT_TRUE(out.report.views[0].complete);
}

TEST_F(ReplayTest, rows_that_come_after_the_windows_of_their_time_are_told) {
  Plan plan;
  plan.flush = true;
  plan.sources = {{"a", files.write("a", "x,1,12\ny,2,41\nx,2,14\ny,3,15\ny,3,42\n")}};
  const Replayed out = replay_files(kViews, plan);
  ASSERT_EQ(out.report.views.size(), 2u);
  EXPECT_EQ(out.report.views[0].late, 2U);
  EXPECT_EQ(out.report.views[1].late, 2U);
  EXPECT_THAT(out.ndjson, HasSubstr(R"("views":{"pages":{"late":2},"users":{"late":2}}})"));
  EXPECT_THAT(out.report.unknown,
              testing::Contains(HasSubstr("View pages: 2 events came after the windows")));
  plan.lateness = seconds{30};
  const Replayed sorted = replay_files(kViews, plan);
  EXPECT_EQ(sorted.report.views[0].late, 0U);
  EXPECT_EQ(sorted.ndjson.find("\"views\""), std::string::npos);
}

TEST_F(ReplayTest, with_lateness_windows_wait_for_the_watermark) {
  Plan plan;
  plan.lateness = seconds{5};
  // At 19 the watermark is 13.999 s; at 20 it is 14.999 s, and the window that ends at 15 is
  // complete.
  plan.sources = {{"a", files.write("a", "x,1,12\ny,2,19\nx,2,14\ny,3,20\n")}};
  EXPECT_EQ(windows(replay_files(kViews, plan).ndjson),
            "\"pages\",\"start\":5000,\"end\":15000,\"complete\":true,\"total\":2,\"rows\":[[\"x\","
            "2]]}\n");
}

TEST_F(ReplayTest, the_hardest_hit_of_a_limit_from_below_read_the_least) {
  const char* const yaml =
      "events:\n  m: {source: {csv: [user, raw, ts], time: {field: ts, as: seconds}}, fields: {v: "
      "int(raw)}}\n"
      "policies:\n  - {name: low, watch: m, key: user, metric: min(v), window: {last: 1h, exact: "
      "true}, "
      "then: [{under: 10, do: flag}]}\n";
  Plan plan;
  plan.sources = {{"m", files.write("m", "mild,9,1\nhard,-7,2\nfine,70,3\nmild,8,4\nhard,5,5\n")}};
  const auto policy = replay_files(yaml, plan).report.policies.at(0);
  ASSERT_EQ(policy.hardest.size(), 2U);
  EXPECT_EQ(policy.hardest[0].key + " " + policy.hardest[0].value, "hard -7");
  EXPECT_EQ(policy.hardest[1].key + " " + policy.hardest[1].value, "mild 8");
}

TEST_F(ReplayTest, what_cannot_be_opened_is_told) {
  const TestEngine engine(kTwo);
  std::string problem;
  Plan plan;
  plan.sources = {{"c", files.write("a", "")}};
  EXPECT_EQ(Replay::make(plan, *engine, nullptr, nullptr, problem), nullptr);
  EXPECT_EQ(problem, "there is no event \"c\"; known are request, a, b");
  plan.sources = {{"a", "/no/such/file"}};
  EXPECT_EQ(Replay::make(plan, *engine, nullptr, nullptr, problem), nullptr);
  EXPECT_EQ(problem, "/no/such/file: No such file or directory");
  plan.sources = {{"request", files.write("a", "")}};
  plan.log_format = "%h";
  EXPECT_EQ(Replay::make(plan, *engine, nullptr, nullptr, problem), nullptr);
  EXPECT_EQ(problem, "the format has no time; %t stands for it");
}

TEST_F(ReplayTest, reports_are_as_written_down) {
  std::string log;
  for (int i = 0; i < 400; ++i) {
    const int caller = i % 4 == 0 ? 7 : i % 50;
    log += "203.0.113." + std::to_string(caller) + " - - [21/Nov/2026:08:0" +
           std::to_string(i / 100) + ":" + std::to_string(10 + i / 10 % 50) + " +0000] \"GET /<b>" +
           " HTTP/1.1\" 200 10 \"-\" \"-\"\n";
  }
  log += "broken\n";
  Plan plan;
  plan.sources = {{"request", files.write("access.log", log)}};
  Replayed out = replay_files(
      "fields: {user: header.x_user}\npolicies:\n"
      "  - {name: per-ip, watch: request, key: ip, window: 10m, then: [{over: 5, do: flag}, {over: "
      "60, do: deny, for: 1h}]}\n"
      "  - {name: per-user, watch: request, key: user, window: 10m, then: [{over: 5, do: flag}]}\n"
      "  - {name: gets, watch: request, then: [{if: 'method == \"GET\"', do: flag}]}\n",
      plan,
      "fields: {user: header.x_user}\npolicies:\n  - {name: per-ip, watch: request, key: ip, "
      "window: 10m, then: [{over: 40, do: deny}]}\n");
  for (FileReport& file : out.report.files) {
    for (std::string& fault : file.faults) fault.erase(0, fault.find("access.log"));
    file.path = "access.log";
  }
  EXPECT_EQ(
      test::compare_golden(WEIR_SOURCE_DIR, "replay/report.txt", report_text(out.report, false)),
      "");
  EXPECT_EQ(test::compare_golden(WEIR_SOURCE_DIR, "replay/report.json", report_json(out.report)),
            "");
  EXPECT_EQ(test::compare_golden(WEIR_SOURCE_DIR, "replay/report.html",
                                 report_html(out.report, "weir replay")),
            "");
}

TEST_F(ReplayTest, where_rungs_are_under_the_lowest_reading_of_a_key_is_drawn) {
  Plan plan;
  plan.sources = {{"a", files.write("a", "u,1,8\nu,2,2\nv,3,6\nv,4,20\nw,5,1\nw,6,-3\nx,7,8\n")}};
  const Replayed out = replay_files(
      "events:\n  a: {source: {csv: [user, ts, n], time: {field: ts, as: seconds}}, fields: {m: "
      "int(n)}}\npolicies:\n  - {name: p, watch: a, key: user, metric: last(m), window: 1h, then: "
      "[{under: 3, do: flag}]}\n  - {name: q, watch: a, key: user, metric: min(m), window: 1h, "
      "then: [{under: 3, do: flag}, {under: 0, do: flag}, {over: 7, do: flag}]}\n",
      plan);
  ASSERT_EQ(out.report.policies.size(), 2U);
  const PolicyReport& q = out.report.policies[1];
  EXPECT_TRUE(q.lowest);
  ASSERT_EQ(q.bars.size(), 3U);  // w: -3; u: 2; v: 6 and x: 8
  EXPECT_EQ(q.bars[0].label, "0 or less");
  EXPECT_EQ(q.bars[2].label, "5-8");
  EXPECT_EQ(q.bars[2].keys, 2U);
  EXPECT_EQ(q.rungs[0].keys_share, 0.5);
  EXPECT_EQ(q.rungs[1].keys_share, 0.25);
  EXPECT_EQ(q.rungs[2].keys_share, std::nullopt) << "of the highest readings nothing is known";
  EXPECT_THAT(report_text(out.report, false), HasSubstr("lowest reading per key"));
}

TEST(KeyMaxima, counts_exactly_and_beyond_its_bound_by_a_fair_sample) {
  KeyMaxima maxima;
  const HashSecret secret = HashSecret::from_bytes({1});
  const auto key = [&](int i) { return secret.hash(std::to_string(i)); };
  for (int i = 0; i < 10'000; ++i) maxima.add(key(i % 5000), i);
  EXPECT_EQ(maxima.keys(), 5000u);
  EXPECT_FALSE(maxima.sampled());
  double lowest = 1e9;
  maxima.each([&](double value) { lowest = std::min(lowest, value); });
  EXPECT_EQ(lowest, 5000);
  constexpr int kMany = 3'000'000;
  for (int i = 0; i < kMany; ++i) maxima.add(key(i), 1);
  EXPECT_TRUE(maxima.sampled());
  EXPECT_NEAR(static_cast<double>(maxima.keys()), kMany, 0.01 * kMany);
  EXPECT_LE(maxima.held(), KeyMaxima::kKeys);
}

}  // namespace
}  // namespace weir::replay::replay_test
