#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/app/doors.h"

/// One engine behind every door: the proxy's gate, `POST /v1/events`, replay and the replay of a
/// recording give the same readings, verdicts and matches for the same traffic.
namespace weir::app::same_verdict_test {
namespace {

struct Compared {
  std::size_t tried = 0;     ///< configurations
  std::size_t verdicts = 0;  ///< rows
  std::size_t late = 0;      ///< events that some policy did not count any more
};

/// Compares a gate's metrics about its policies with the report of a replay.
/// Three things have a place of their own in the report: refusals for a field that is missing or
/// cannot be read, shadow rungs beside an enforced one, and matches of patterns.
void expect_same_by_policy(const WhatCame& live, const WhatCame& replay, const std::string& yaml) {
  const bool apart = yaml.find("missing: deny") != std::string::npos ||
                     yaml.find("mode: shadow") != std::string::npos ||
                     yaml.find("pair:") != std::string::npos ||
                     yaml.find("sequence:") != std::string::npos;
  if (apart) return;
  EXPECT_EQ(live.by_policy, replay.by_policy);
}

/// Stops at the first difference.
Compared compare_doors(Traffic traffic, std::uint64_t first, std::uint64_t seeds) {
  Compared out;
  for (std::uint64_t seed = first; seed < first + seeds && !testing::Test::HasFailure(); ++seed) {
    RandomPolicies random(seed, traffic);
    const std::string yaml = random.yaml();
    if (!loads(yaml)) continue;
    ++out.tried;
    const auto events = random.events(150, kStart);
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + yaml);
    const WhatCame api = through_the_api(yaml, events, traffic);
    const WhatCame replay = through_replay(yaml, events, traffic);
    const std::string rows = without_match_lines(api.rows);
    const std::string replayed = without_match_lines(replay.rows);
    EXPECT_TRUE(rows == replayed) << "events and replay\n" << difference(rows, replayed);
    EXPECT_EQ(api.words, replay.words);
    for (std::size_t at = 0; (at = rows.find("\"type\":\"verdict\"", at)) != std::string::npos;
         ++at) {
      ++out.verdicts;
    }
    expect_same_by_policy(api, expect_recorded(yaml, api, events.size()), yaml);
    if (traffic == Traffic::records) continue;
    const WhatCame proxy = through_the_proxy(yaml, events);
    const std::string proxied = without_match_lines(proxy.rows);
    EXPECT_TRUE(proxied == rows) << "proxy and events\n" << difference(proxied, rows);
    EXPECT_EQ(proxy.verdicts, api.verdicts);
    EXPECT_EQ(proxy.by_policy, api.by_policy);
    expect_recorded(yaml, proxy, events.size());
  }
  return out;
}

std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

void expect_same(Traffic traffic) {
  const auto seeds = from_environment("WEIR_TEST_SEEDS", 60);
  const Compared out = compare_doors(traffic, from_environment("WEIR_TEST_SEED", 1), seeds);
  if (testing::Test::HasFailure()) return;
  EXPECT_GT(out.tried, seeds / 3) << "the loader refuses most of what is generated";
  EXPECT_GT(out.verdicts, out.tried * 20) << "hardly anything happens";
}

/// Late events, counted by their own time: over the API and in a file, in the same order.
void expect_same_out_of_order(Traffic traffic) {
  const auto seeds = from_environment("WEIR_TEST_SEEDS", 60);
  const auto first = from_environment("WEIR_TEST_SEED", 1);
  Compared out;
  for (std::uint64_t seed = first; seed < first + seeds && !testing::Test::HasFailure(); ++seed) {
    RandomPolicies random(seed, traffic, true);
    const std::string yaml = random.yaml();
    if (!loads(yaml)) continue;
    ++out.tried;
    const auto events = random.events(150, kStart);
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + yaml);
    const WhatCame api = through_the_api(yaml, events, traffic);
    const WhatCame replay = through_replay(yaml, events, traffic);
    EXPECT_TRUE(api.rows == replay.rows) << "events and replay\n"
                                         << difference(api.rows, replay.rows);
    EXPECT_EQ(api.words, replay.words);
    EXPECT_EQ(api.late, replay.late);
    out.late += api.late;
  }
  if (testing::Test::HasFailure()) return;
  EXPECT_GT(out.tried, seeds / 4) << "the loader refuses most of what is generated";
  EXPECT_GT(out.late, out.tried) << "hardly anything comes late";
}

TEST(SameVerdict, RequestsThatComeLateAsEventsAndInReplay) {
  expect_same_out_of_order(Traffic::requests);
}
TEST(SameVerdict, RecordsThatComeLateAsEventsAndInReplay) {
  expect_same_out_of_order(Traffic::records);
}
TEST(SameVerdict, RequestsThroughTheProxyAsEventsAndInReplay) { expect_same(Traffic::requests); }
TEST(SameVerdict, TheCardThroughTheProxyAndAsEvents) {
  const std::string yaml(card_yaml());
  std::map<std::string, std::size_t> words;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    SCOPED_TRACE(seed);
    const auto events = card_events(seed, 2'000, kStart);
    const WhatCame proxy = through_the_proxy(yaml, events);
    const WhatCame api = through_the_api(yaml, events, Traffic::requests);
    EXPECT_TRUE(proxy.rows == api.rows) << difference(proxy.rows, api.rows);
    EXPECT_EQ(proxy.verdicts, api.verdicts);
    expect_recorded(yaml, proxy, events.size());
    expect_recorded(yaml, api, events.size());
    for (const auto& [word, count] : api.words) words[word] += count;
  }
  EXPECT_EQ(words.size(), 5u) << "pass, flag, gray, challenge, deny";
}

/// `match: GET` is for HEAD, too, at every door; `match: HEAD` is not for GET.
TEST(SameVerdict, GetCoversHeadAtEveryDoor) {
  const std::string yaml = R"(
events: {page: {match: "GET /p/{id}"}, probe: {match: "HEAD /p/{id}"}}
policies:
  - {name: pages, watch: page, key: ip, window: 1h, then: [{over: 2, do: deny}]}
  - {name: probes, watch: probe, key: ip, window: 1h, then: [{over: 1, do: flag}]}
)";
  std::vector<RandomEvent> events;
  for (const char* method : {"HEAD", "GET", "HEAD", "POST"}) {
    RandomEvent event;
    event.ms = kStart + 1'000 * static_cast<std::int64_t>(events.size());
    event.ip = "203.0.113.7";
    event.method = method;
    event.url = "/p/7";
    events.push_back(event);
  }
  const WhatCame proxy = through_the_proxy(yaml, events);
  EXPECT_EQ(proxy.verdicts, (std::vector<std::string>{"pass", "pass", "429", "pass"}));
  const WhatCame api = through_the_api(yaml, events, Traffic::requests);
  EXPECT_EQ(api.verdicts, proxy.verdicts);
  EXPECT_EQ(api.rows, proxy.rows);
  const WhatCame replay = through_replay(yaml, events, Traffic::requests);
  EXPECT_EQ(replay.rows, proxy.rows);
  EXPECT_EQ(replay.words, api.words);
}

/// Logins, some of which fail, at different costs, which the request and the answer say.
std::vector<RandomEvent> logins() {
  std::vector<RandomEvent> out;
  for (std::size_t i = 0; i < 40; ++i) {
    RandomEvent event;
    event.ms = kStart + 700 * static_cast<std::int64_t>(i) + (i % 13 == 0 ? 9'000 : 0);
    event.ip = i % 4 == 0 ? "203.0.113.9" : "203.0.113.7";
    event.method = "POST";
    event.url = "/login";
    event.user = "u" + std::to_string(i * 7 % 5);
    event.device = "d1";
    event.amount = std::to_string(1 + i * 5 % 4);
    event.status = i * 11 % 5 < 2 ? 200 : 401;
    event.answer_headers = {{"x-cost", std::to_string(i * 3 % 7)}};
    out.push_back(event);
    if (out.size() > 1) out.back().ms = std::max(event.ms, out[out.size() - 2].ms + 1);
  }
  return out;
}

/// The verdict of a policy by the answer is that on the request: each request has it before its
/// answer, whatever the answer is then. So say the metrics, and so do all rows and reports.
TEST(SameVerdict, OutcomePoliciesOfEveryMetricAndAction) {
  const std::vector<std::string> of_request{"count",     "sum(cost)",      "avg(cost)", "min(cost)",
                                            "max(cost)", "distinct(user)", "last(cost)"};
  const std::vector<std::string> of_answer{
      "sum(paid)", "sum(paid), reserve: 2", "avg(paid)", "min(paid)", "max(paid)", "last(paid)"};
  const std::vector<std::string> windows{"10s", "{last: 10s, exact: true}", "{every: 10s}",
                                         "{events: 4}", "{leaky: 3, drain: 2s}"};
  const std::vector<std::string> actions{"do: flag",
                                         "do: flag, score: 5",
                                         "do: graylist, for: 1s",
                                         "do: delay, hold: 5ms",
                                         "do: challenge",
                                         "do: deny",
                                         "do: deny, for: 2s",
                                         "do: deny, mode: shadow",
                                         "do: graylist, for: 1s, clear: true"};
  const auto events = logins();
  std::size_t tried = 0, verdicts = 0, unmatched = 0, remembered = 0;
  const auto compare = [&](const std::string& metric, const std::string& window,
                           const std::string& action, const std::string& rung, bool late) {
    const std::string yaml =
        "fields: {user: header.x_user, cost: int(header.x_amount), "
        "paid: int(response.header.x_cost)}\n"
        "events: {login: {match: POST /login}, failed: {is: login, when: 'status == 401'}}\n"
        "policies: [{name: p, watch: failed, key: ip, metric: " +
        metric + ", window: " + window + ", then: [{" + rung + ", " + action + "}]}]\n";
    if (!loads(yaml)) return;
    ++tried;
    SCOPED_TRACE(yaml);
    const WhatCame proxy = through_the_proxy(yaml, events);
    const WhatCame api = through_the_api(yaml, events, Traffic::requests);
    EXPECT_TRUE(proxy.rows == api.rows) << difference(proxy.rows, api.rows);
    EXPECT_EQ(proxy.by_policy, api.by_policy);
    EXPECT_EQ(proxy.by_policy, expect_recorded(yaml, proxy, events.size()).by_policy);
    EXPECT_EQ(proxy.by_policy, expect_recorded(yaml, api, events.size()).by_policy);
    if (!late) {
      const WhatCame replay = through_replay(yaml, events, Traffic::requests);
      EXPECT_TRUE(proxy.rows == replay.rows) << difference(proxy.rows, replay.rows);
      EXPECT_EQ(proxy.by_policy, replay.by_policy);
    }
    std::size_t all = 0;
    for (const auto& [name, many] : proxy.by_policy) all += many;
    const std::string_view rows = proxy.rows;
    const auto in_rows = [&](const std::string& what) {
      std::size_t many = 0;
      for (std::size_t at = 0; (at = rows.find(what, at)) != std::string_view::npos; ++at) ++many;
      return many;
    };
    EXPECT_EQ(in_rows("\"type\":\"verdict\""), all) << "a row for each verdict, and no other";
    verdicts += all;
    remembered += in_rows("\"type\":\"remembered\"");
    for (std::size_t i = 0; i < events.size(); ++i) {
      const std::string line = "\"line\":" + std::to_string(i + 1) + ",";
      const auto has = [&](const std::string& type) {
        return rows.find("{\"type\":\"" + type + "\",\"policy\":\"p\",\"event\":\"failed\"," +
                         line) != std::string_view::npos;
      };
      unmatched += has("verdict") && !has("reading") ? 1 : 0;
    }
  };
  // Of the windows two for each metric and action: all together meet all.
  std::size_t turn = 0;
  const auto compare_in_two = [&](const std::string& metric, const std::string& action,
                                  const std::string& rung, bool late) {
    for (const std::size_t step : {1, 3})
      compare(metric, windows[(turn += step) % windows.size()], action, rung, late);
  };
  for (const std::string& action : actions) {
    for (const std::string& metric : of_request) {
      compare_in_two(metric, action, "over: 2", false);
      compare_in_two(metric, action, "under: 3", false);
    }
    for (const std::string& metric : of_answer) compare_in_two(metric, action, "over: 4", true);
    compare_in_two("exists(user)", action, "if: value != null", false);
    ++turn;
  }
  EXPECT_GT(tried, 250U);
  EXPECT_GT(verdicts, 5 * tried);
  EXPECT_GT(unmatched, tried) << "verdicts on requests whose answers did not match";
  EXPECT_GT(remembered, tried / 10) << "memory that an answer brought about";
}

TEST(SameVerdict, RecordsAsEventsAndInReplay) { expect_same(Traffic::records); }

}  // namespace
}  // namespace weir::app::same_verdict_test
