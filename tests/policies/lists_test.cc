#include "policies/evaluator.h"
#include "policies/text_keys.h"
#include "tests/policies/world.h"

/// Lists as policies use them: who is on one, what becomes of them, and inList().
namespace weir::policies::lists_test {
namespace {

using std::chrono::hours;

TEST(Lists, DenyListsRefuseUncountedAndExpire) {
  World world(R"(
lists:
  bad: {of: ip, kind: deny, entries: [{key: 203.0.113.0/24, until: 2027-01-16, why: scan}]}
policies: [{name: p, watch: request, key: ip, window: 1h, then: [{over: 1, do: flag}]}]
)");
  world.now = from_ms(1'800'000'000'000);  // 2027-01-15
  for (int i = 0; i < 5; ++i) EXPECT_EQ(world.judge(TestRequest("GET /")).status, 403);
  world.now += hours(48);
  EXPECT_EQ(world.send(TestRequest("GET /")), "pass");
}

TEST(Lists, HoldIPv6ByItsNetworkAndTheFileMayNameOneAddress) {
  World world(R"(
lists:
  office: {of: ip, kind: allow, entries: ["2001:db8:1::7"]}
  robots: {of: ip, kind: gray, effect: deny, max: 1}
  pairs: {of: [ip, header.x_user], kind: deny, entries: [["2001:db8:2::7", ann]]}
policies:
  - {name: p, watch: request, key: ip, window: 1h, then: [{over: 1, do: graylist, list: robots, for: 1h}]}
  - {name: q, watch: request, when: 'path == "/q" and inList("robots", ip)', then: [{if: "true", do: challenge}]}
)");
  EXPECT_EQ(world.send(TestRequest("GET /", "2001:db8:1::1")), "pass");
  EXPECT_EQ(world.send(TestRequest("GET /", "2001:db8:1::2")), "deny") << "one network, one key";
  EXPECT_EQ(world.send(TestRequest("GET /", "2001:db8:1::3")), "deny") << "and one entry";
  EXPECT_EQ(world.send(TestRequest("GET /", "2001:db8:1::7")), "exempt") << "the office";
  EXPECT_EQ(world.send(TestRequest("GET /", "2001:db8:1:1::3")), "pass");
  const auto pair = [](const char* ip, const char* user) {
    return TestRequest("GET /", ip).header("X-User", user);
  };
  EXPECT_EQ(world.send(pair("2001:db8:2::8", "ann")), "deny");
  EXPECT_EQ(world.send(pair("2001:db8:2::8", "bob")), "pass");
}

TEST(Lists, EntriesOfAnotherMeaningDoNotReturnWithAReload) {
  const auto with = [](const std::string& list) {
    return "lists: {bad: " + list +
           "}\npolicies: [{name: p, watch: request, key: ip, window: 1h, then: [{over: 1, do: "
           "deny}]}]\n";
  };
  World world(with("{of: ip, kind: deny}"));
  const auto list_it = [&](const char* address) {
    const List& list = world.evaluator.set().lists.front();
    limiter::Listing listing;
    const std::string_view parts[] = {address};
    listing.parts = parts;
    listing.key = list_key(world.evaluator.set(), list, parts, world.secret).value();
    const milliseconds durations[] = {hours(1)};
    listing.durations = durations;
    world.lists.add(list.id, listing, world.now);
  };
  list_it("192.0.2.9");
  EXPECT_EQ(world.send(TestRequest("GET /", "192.0.2.9")), "deny");
  world.use(with("{of: ip, kind: gray, effect: deny}"));
  EXPECT_EQ(world.send(TestRequest("GET /", "192.0.2.9")), "deny") << "refused as before";
  world.use(with("{of: ip, kind: allow}"));
  EXPECT_EQ(world.send(TestRequest("GET /", "192.0.2.9")), "pass");
  EXPECT_EQ(world.send(TestRequest("GET /", "192.0.2.9")), "deny")
      << "who was banned is not allowed all";
  world.use(with("{of: ip, kind: deny}"));
  EXPECT_EQ(world.send(TestRequest("GET /", "192.0.2.9")), "deny") << "and banned again";
}

TEST(InList, ExpressionsAskLists) {
  World world(R"(
fields: {user: header.x_user}
lists: {vip: {of: user, kind: gray, effect: none, entries: [anna]}}
policies: [{name: p, watch: request, when: 'not inList("vip", user)', key: ip, window: 1h, then: [{over: 1, do: deny}]}]
)");
  for (int i = 0; i < 5; ++i)
    EXPECT_EQ(world.send(TestRequest("GET /").header("X-User", "anna")), "pass");
  EXPECT_EQ(world.send(TestRequest("GET /").header("X-User", "bert")), "pass");
  EXPECT_EQ(world.send(TestRequest("GET /").header("X-User", "bert")), "deny");
}

TEST(InList, AFieldThatAsksAListMayBePartOfAKey) {
  World world(R"(
fields: {user: header.x_user, city: header.x_city, ours: 'inList("towns", city)'}
lists: {towns: {of: city, kind: gray, effect: none, entries: [Rome]}}
policies: [{name: p, watch: request, key: [user, ours], window: 1h, then: [{over: 1, do: deny}]}]
)");
  const auto from = [](const char* user) {
    return TestRequest("GET /").header("X-User", user).header("X-City", "Oslo");
  };
  EXPECT_EQ(world.send(from("anna")), "pass");
  EXPECT_EQ(world.send(from("bert")), "pass") << "another key: the list's key is none of its own";
  EXPECT_EQ(world.send(from("anna")), "deny");
}

TEST(InList, MayBeAskedWhileAMemberIsPutTogether) {
  World world(R"(
fields: {user: header.x_user, city: header.x_city}
lists: {towns: {of: city, kind: gray, effect: none, entries: [Rome]}}
policies:
  - {name: p, watch: request, key: ip, metric: 'distinct(user, inList("towns", city))', window: 1h,
     then: [{over: 1, do: deny}]}
)");
  const auto from = [](const char* user, const char* city) {
    return TestRequest("GET /").header("X-User", user).header("X-City", city);
  };
  EXPECT_EQ(world.send(from("anna", "Oslo")), "pass");
  EXPECT_EQ(world.send(from("anna", "Bern")), "pass") << "one user, in no such town: one member";
  EXPECT_EQ(world.send(from("bert", "Bern")), "deny");
}

}  // namespace
}  // namespace weir::policies::lists_test
