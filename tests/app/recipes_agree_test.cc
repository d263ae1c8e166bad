#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "app/support/recipes.h"
#include "config/load.h"
#include "policies/set/compile.h"
#include "tests/app/doors.h"
#include "tests/app/traffic_for.h"

/// The recipes through every door: see same_verdict_test.cc.
namespace weir::app::recipes_agree_test {
namespace {

class RecipesAgree : public testing::TestWithParam<std::string> {};

TEST_P(RecipesAgree, ThroughTheProxyAsEventsAndInTheirRecordings) {
  const Recipe* const recipe = find_recipe(GetParam());
  ASSERT_NE(recipe, nullptr);
  std::string yaml(recipe->text);
  yaml.erase(0, yaml.find("weir: 1") + 7);
  config::Loaded loaded = config::load_text("recipe.yaml", recipe->text);
  ASSERT_TRUE(loaded.model);
  const auto set = policies::compile(*loaded.model, loaded.problems);
  ASSERT_NE(set, nullptr);
  const char* const seeds = std::getenv("WEIR_TEST_SEEDS");
  const std::uint64_t last = seeds == nullptr ? 1 : std::strtoull(seeds, nullptr, 10);
  for (std::uint64_t seed = 1; seed <= last && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const auto events = traffic_for(*set, recipe->text, seed, 300, kStart);
    const WhatCame api = through_the_api(yaml, events, Traffic::requests);
    EXPECT_FALSE(api.rows.empty() && !set->policies.empty() && set->patterns.empty());
    expect_recorded(yaml, api, events.size());
    const bool told = std::any_of(events.begin(), events.end(),
                                  [](const RandomEvent& event) { return !event.told.empty(); });
    if (told) continue;  // only requests pass through a proxy
    const WhatCame proxy = through_the_proxy(yaml, events);
    const std::string rows = without_match_lines(api.rows);
    const std::string proxied = without_match_lines(proxy.rows);
    EXPECT_TRUE(proxied == rows) << "proxy and events\n" << difference(proxied, rows);
    EXPECT_EQ(proxy.verdicts, api.verdicts);
    expect_recorded(yaml, proxy, events.size());
  }
}

std::vector<std::string> names() {
  std::vector<std::string> out;
  for (const Recipe& recipe : recipes()) out.push_back(recipe.name);
  return out;
}

INSTANTIATE_TEST_SUITE_P(all, RecipesAgree, testing::ValuesIn(names()),
                         [](const auto& name) { return name.param; });

}  // namespace
}  // namespace weir::app::recipes_agree_test
