// Reading parts of a request before its judgement (Preparing) does not change the judgement.
#include "policies/judge/preparing.h"

#include <gtest/gtest.h>

#include <random>

#include "core/words.h"
#include "tests/policies/row_lines.h"
#include "tests/policies/world.h"
#include "tests/support/seed.h"

namespace weir::policies::preparing_test {
namespace {

constexpr const char* kPolicies = R"(
fields: {agent: header.user_agent, pair: 'query.user + ":" + method', asked: 'inList("crooks", ip)'}
events:
  login: {match: POST /login, fields: {user: query.user}}
  again: {match: POST /*}
  post: {match: "* /login"}
  any: {match: "* /*"}
  failed: {is: login, when: 'status in [401, 403]'}
  item: {match: "GET /items/{id}"}
  big: {is: item, when: 'int(id) > 2'}
  missed: {is: request, when: status == 404}
lists:
  crooks: {of: ip/24, kind: deny}
  pages: {of: path, kind: gray}
policies:
  - {name: requests, watch: request, key: ip, window: 1m, then: [{over: 9, do: flag}, {over: 14, do: deny}]}
  - {name: networks, watch: request, key: ip/24, window: 1m, then: [{over: 30, do: deny, for: 5s, list: crooks}]}
  - {name: all, watch: request, window: 1m, then: [{over: 100, do: flag}]}
  - {name: agents, watch: request, key: [agent, ip], missing: skip, window: 1m, then: [{over: 5, do: flag}]}
  - {name: paths, watch: any, key: path, window: 1m, then: [{over: 12, do: graylist, for: 3s, list: pages}]}
  - {name: users, watch: login, key: user, window: 1m, missing: same, then: [{over: 3, do: flag}]}
  - {name: pairs, watch: post, key: pair, window: 1m, then: [{over: 3, do: flag}]}
  - {name: asked, watch: request, key: asked, window: 1m, then: [{over: 9, do: flag}]}
  - {name: posts, watch: again, when: 'query.user != "u1"', key: [query.user, host], window: 1m, then: [{over: 4, do: flag}]}
  - {name: several, watch: [login, item], key: ip, window: 1m, then: [{over: 3, do: flag}]}
  - {name: members, watch: item, key: ip, window: 1m, metric: distinct(id), then: [{over: 3, do: deny}]}
  - {name: big, watch: big, key: id, window: 1m, mode: shadow, then: [{over: 2, do: deny}]}
  - {name: missed, watch: missed, key: ip, window: 1m, then: [{over: 2, do: deny, for: 4s}]}
  - {name: failed, watch: failed, key: [ip, user], window: 1m, then: [{over: 1, do: deny}]}
)";

std::string send(World& world, TestRequest& request, int status, Preparing* preparing) {
  RowLines lines;
  Answer answer;
  answer.status = status;
  Prepared prepared;
  JudgeOptions options;
  options.may_wait = false;
  options.rows = &lines;
  options.answer = &answer;
  options.plan_of = PlanOf::none;
  const Request& view = request.view(world.now);
  if (preparing != nullptr) {
    preparing->prepare(view, prepared);
    options.prepared = &prepared;
  }
  const Verdict& verdict = world.start(view, options);
  lines.all += row_of(verdict.effect).name;
  lines.all +=
      " " + std::to_string(verdict.status) + " " + std::to_string(verdict.standings.size());
  if (!world.last->is_open()) return lines.all;
  world.driver.answer(*world.last, answer, world.instant());
  world.driver.end(*world.last, world.instant());
  return lines.all;
}

TEST(Preparing, ChangesNoJudgement) {
  const std::uint32_t seed = ::weir::test::new_seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const auto pick = [&](unsigned n) { return static_cast<int>(random() % n); };
  World plain(kPolicies), prepared(kPolicies);
  Preparing preparing(*prepared.set_, prepared.secret);
  std::size_t refused = 0;
  for (int i = 0; i < 6000; ++i) {
    constexpr int kStatus[] = {200, 200, 200, 401, 404, 0};
    const int what = pick(5);
    const std::string line = what == 0   ? "POST /login?user=u" + std::to_string(pick(4))
                             : what == 1 ? "GET /items/" + std::to_string(pick(5))
                             : what == 2 ? "POST /login"
                             : what == 3 ? "POST /other?user=u" + std::to_string(pick(3))
                                         : "GET /" + std::to_string(pick(9));
    TestRequest request(line,
                        "10.0." + std::to_string(pick(9)) + "." + std::to_string(1 + pick(9)));
    if (pick(3) == 0) request.header("User-Agent", "a" + std::to_string(pick(3)));
    const int status = kStatus[pick(6)];
    plain.now = prepared.now += milliseconds{pick(900)};
    const std::string said = send(plain, request, status, nullptr);
    ASSERT_EQ(send(prepared, request, status, &preparing), said) << i << ": " << line;
    refused += said.find("deny") != std::string::npos ? 1 : 0;
  }
  EXPECT_GT(refused, 100U);
  EXPECT_LT(refused, 5900U);
}

TEST(Preparing, FindsRoutesAndKeysOfTheRequest) {
  World world(kPolicies);
  Preparing preparing(*world.set_, world.secret);
  TestRequest request("GET /items/7");
  Prepared found;
  preparing.prepare(request.view(world.now), found);
  EXPECT_EQ(found.base_count, 3) << "request, any, item";
  EXPECT_EQ(found.key_count, 4) << "ip, ip/24, path, id";
  TestRequest post("POST /login?user=u");
  preparing.prepare(post.view(world.now), found);
  EXPECT_EQ(found.base_count, 0) << "more routes match than there is room for";
}

}  // namespace
}  // namespace weir::policies::preparing_test
