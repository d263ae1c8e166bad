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
    expect_recorded(yaml, api, events.size());
    if (traffic == Traffic::records) continue;
    const WhatCame proxy = through_the_proxy(yaml, events);
    const std::string proxied = without_match_lines(proxy.rows);
    EXPECT_TRUE(proxied == rows) << "proxy and events\n" << difference(proxied, rows);
    EXPECT_EQ(proxy.verdicts, api.verdicts);
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

/// What comes late, counted by its own time: told of, and in a file, in the same order.
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

/// `match: GET` is for HEAD, too, whoever tells of the request; `match: HEAD` is not for GET.
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

TEST(SameVerdict, RecordsAsEventsAndInReplay) { expect_same(Traffic::records); }

}  // namespace
}  // namespace weir::app::same_verdict_test
