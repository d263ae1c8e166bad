// Which lists replicas share, and what they send about entries.
#include "tests/policies/world.h"

namespace weir::policies::shared_lists_test {
namespace {

TEST(SharedLists, AreThoseThatSaySoAndTheOwnOnesOfPoliciesThatDo) {
  config::Problems problems;
  const auto model = config::parse({{"weir.yaml", R"(
weir: 1
redis: {url: redis://127.0.0.1, secret: s}
lists:
  here: {of: ip, kind: gray}
  everywhere: {of: ip, kind: gray, share: redis}
policies:
  - {name: alone, watch: request, key: ip, window: 1m, then: [{over: 1, do: graylist, for: 1m}]}
  - name: together
    watch: request
    key: ip
    window: 1m
    share: redis
    then: [{over: 1, do: graylist, for: 1m}, {over: 2, do: deny, for: 1m}, {over: 1, do: graylist, list: here, for: 1m}]
)"}},
                                   {}, problems);
  const auto set = compile(model, problems);
  ASSERT_NE(set, nullptr);
  std::map<std::string, bool> shared;
  for (const List& list : set->lists) shared[list.name] = list.shared;
  const std::map<std::string, bool> expected = {{"here", false},
                                                {"everywhere", true},
                                                {"alone:graylist", false},
                                                {"together:graylist", true},
                                                {"together:deny", true}};
  EXPECT_EQ(shared, expected);
}

}  // namespace
}  // namespace weir::policies::shared_lists_test
