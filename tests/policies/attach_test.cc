#include <gtest/gtest.h>

#include "tests/policies/world.h"

namespace weir::policies::attach_test {
namespace {

/// Which bank of `world` was full for these policies; empty: all of it fits.
std::string full_bank(World& world, const std::string& policies) {
  config::Problems problems;
  const config::Model model =
      config::parse({{"test.yaml", "weir: 1\npolicies:\n" + policies}}, {}, problems);
  const auto set = compile(model, problems);
  EXPECT_TRUE(set && !problems.has_errors());
  PolicySet::Attached at{};
  if (set->attach(world.bank, world.lists, world.secret, &world.patterns, &at)) return "";
  return at == PolicySet::Attached::counters   ? "counters"
         : at == PolicySet::Attached::patterns ? "patterns"
                                               : "lists";
}

std::string many(int n, const std::string& rest) {
  std::string out;
  for (int i = 0; i < n; ++i)
    out += "  - {name: p" + std::to_string(i) + ", key: ip, when: 'path == \"/" +
           std::to_string(i) + "\"', " + rest + "}\n";
  return out;
}

TEST(Attach, SaysWhichBankIsFull) {
  World world("policies: []\n");
  const std::string small = "watch: request, window: 1m, then: [{over: 5, do: flag}]";
  EXPECT_EQ(full_bank(world, many(3, small)), "");
  EXPECT_EQ(full_bank(world, many(1, "keys: 10000000, " + small)), "counters");
  // Of one kind with different spans: each is a pattern of its own.
  std::string patterns;
  for (int i = 1; i <= 1'025; ++i)
    patterns += "  - {name: s" + std::to_string(i) +
                ", sequence: [request, request], key: ip, within: " + std::to_string(i) +
                "s, then: [{do: flag}]}\n";
  EXPECT_EQ(full_bank(world, patterns), "patterns");
}

}  // namespace
}  // namespace weir::policies::attach_test
