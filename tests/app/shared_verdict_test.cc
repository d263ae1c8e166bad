#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "tests/app/doors.h"

/// One replica that asks the shared store about all or some of its policies says what it says when
/// it counts alone: the same readings, verdicts, list entries and matches, event by event; whether
/// the store replies at once or in another turn, and also while it is away (`on_error: local`).
namespace weir::app::shared_verdict_test {
namespace {

/// With `share: redis` in the policies that can be shared; of every other one if not `all`.
std::string shared(const std::string& yaml, bool all, std::size_t& policies) {
  std::string out = "redis: {url: redis://127.0.0.1, secret: s}\n";
  std::size_t index = 0;
  for (std::size_t at = 0; at < yaml.size();) {
    const std::size_t end = std::min(yaml.find('\n', at), yaml.size());
    std::string line = yaml.substr(at, end - at);
    at = end + 1;
    const std::string_view begin = "  - {name: ";
    if (line.starts_with(begin) && line.find("sequence:") == line.npos &&
        line.find("pair:") == line.npos && (all || index++ % 2 == 0)) {
      line.insert(begin.size() - 6, "share: redis, ");
      ++policies;
    }
    out += line + "\n";
  }
  return out;
}

/// Rows that rest on the store's answer come after the others: the rows of one event, in any
/// order.
std::string in_any_order(const std::string& rows) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < rows.size();) {
    const std::size_t end = std::min(rows.find('\n', at), rows.size());
    lines.push_back(rows.substr(at, end - at));
    at = end + 1;
  }
  std::sort(lines.begin(), lines.end());
  std::string out;
  for (const std::string& line : lines) out += line + "\n";
  return out;
}

std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

TEST(SharedVerdict, OneReplicaJudgesAsIfItCountedAlone) {
  const std::uint64_t first = from_environment("WEIR_TEST_SEED", 1);
  const std::uint64_t seeds = from_environment("WEIR_TEST_SEEDS", 60);
  std::size_t tried = 0;
  for (std::uint64_t seed = first; seed < first + seeds && !HasFailure(); ++seed) {
    RandomPolicies random(seed, Traffic::requests);
    const std::string alone = random.yaml();
    std::size_t policies = 0;
    const std::string yaml = shared(alone, seed % 3 != 0, policies);
    if (policies == 0 || !loads(yaml)) continue;
    ++tried;
    const auto events = random.events(150, kStart);
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + yaml);
    const WhatCame want = through_the_proxy(yaml, events);
    const std::string rows = in_any_order(want.rows);
    const std::string told = in_any_order(without_match_lines(want.rows));
    for (const Store store : {Store::at_once, Store::later, Store::readable, Store::away}) {
      SCOPED_TRACE("store " + std::to_string(static_cast<int>(store)));
      const WhatCame got = through_the_proxy(yaml, events, store);
      const std::string got_rows = in_any_order(got.rows);
      EXPECT_TRUE(rows == got_rows) << difference(rows, got_rows);
      EXPECT_EQ(want.verdicts, got.verdicts);
    }
    const WhatCame api = through_the_api(yaml, events, Traffic::requests, Store::later);
    const std::string api_rows = in_any_order(without_match_lines(api.rows));
    EXPECT_TRUE(told == api_rows) << difference(told, api_rows);
    EXPECT_EQ(want.verdicts, api.verdicts);
  }
  EXPECT_GT(tried, HasFailure() ? 0 : seeds / 4) << "hardly anything can be shared";
}

}  // namespace
}  // namespace weir::app::shared_verdict_test
