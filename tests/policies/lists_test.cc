#include "policies/judge/driver.h"
#include "policies/set/text_keys.h"
#include "tests/policies/world.h"

/// Lists as policies use them: their keys, the effects on these, and inList().
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
    const List& list = world.driver.set().lists.front();
    limiter::Listing listing;
    const std::string_view parts[] = {address};
    listing.parts = parts;
    listing.key = list_key(world.driver.set(), list, parts, world.secret).value();
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

TEST(Lists, WhoeverLeavesAPartOutIsOneKeyThatCanBeBanned) {
  World world(R"(
fields: {user: header.x_user}
policies:
  - {name: p, watch: request, key: [ip, user], missing: same, window: 1s, then: [{over: 2, do: deny, for: 1h}]}
)");
  for (const char* effect : {"pass", "pass", "deny"})
    EXPECT_EQ(world.send(TestRequest("GET /")), effect);
  world.now += milliseconds{10'000};
  EXPECT_EQ(world.send(TestRequest("GET /")), "deny") << "banned for the hour";
  EXPECT_EQ(world.send(TestRequest("GET /").header("X-User", "ann")), "pass");
}

TEST(Lists, WhomAListRefusesStaysOnItNoLongerForThat) {
  World world(R"(
lists: {robots: {of: ip, kind: gray, effect: deny}}
policies:
  - {name: p, watch: request, key: ip, window: 1h, charge: always, then: [{over: 1, do: graylist, list: robots, for: 10s}]}
)");
  EXPECT_EQ(world.send(TestRequest("GET /")), "pass");
  EXPECT_EQ(world.send(TestRequest("GET /")), "deny");
  const List& list = world.driver.set().lists.front();
  const std::string_view parts[] = {"203.0.113.7"};
  const Hash128 key = list_key(world.driver.set(), list, parts, world.secret).value();
  const auto until = [&] { return world.lists.find(list.id, key, world.now).until; };
  const TimePoint first = until();
  for (int i = 0; i < 3; ++i) {
    world.now += milliseconds{2'000};
    EXPECT_EQ(world.send(TestRequest("GET /")), "deny");
    EXPECT_EQ(until(), first);
  }
}

TEST(Lists, ReleaseLetsWhoIsDeniedThrough) {
  World world(R"(
events:
  login: {match: POST /login}
  solve: {match: POST /captcha}
  solved: {is: solve, when: 'status == 204'}
lists: {bad: {of: ip, kind: deny, release: solved}}
policies:
  - {name: p, watch: login, key: ip, window: 1s, then: [{over: 1, do: deny, list: bad, for: 1h}]}
)");
  EXPECT_EQ(world.send(TestRequest("POST /login")), "pass");
  EXPECT_EQ(world.send(TestRequest("POST /login")), "deny");
  world.now += milliseconds{10'000};  // the count is gone, the entry is not
  EXPECT_EQ(world.send(TestRequest("GET /")), "deny");
  EXPECT_EQ(world.send(TestRequest("POST /captcha"), 200), "pass") << "it must get there";
  EXPECT_EQ(world.send(TestRequest("GET /")), "deny") << "and was wrong";
  EXPECT_EQ(world.send(TestRequest("POST /captcha"), 204), "pass");
  EXPECT_EQ(world.send(TestRequest("GET /")), "pass");
}

TEST(Lists, RungsOfOneActionShareAListOnlyWhereTheySayTheSame) {
  World world(R"(
policies:
  - {name: p, watch: request, key: ip, window: 1h, charge: always, then: [{over: 1, do: delay, hold: 100ms, for: 1m}, {over: 50, do: delay, hold: 3s, for: 1m}]}
)");
  EXPECT_EQ(world.judge(TestRequest("GET /")).hold, milliseconds{0});
  for (int i = 0; i < 3; ++i) EXPECT_EQ(world.judge(TestRequest("GET /")).hold, milliseconds{100});
}

TEST(Lists, AnotherMaskMeansOtherCallers) {
  const auto with = [](const std::string& key) {
    return "policies: [{name: p, watch: request, key: " + key +
           ", window: 1s, then: [{over: 1, do: deny, for: 1h}]}]\n";
  };
  World world(with("ip"));
  EXPECT_EQ(world.send(TestRequest("GET /", "198.51.100.0")), "pass");
  EXPECT_EQ(world.send(TestRequest("GET /", "198.51.100.0")), "deny");
  world.use(with("\"ip/24,56\""));
  world.now += milliseconds{10'000};
  EXPECT_EQ(world.send(TestRequest("GET /", "198.51.100.77")), "pass")
      << "one host was banned, not all";
  world.use(with("ip"));
  EXPECT_EQ(world.send(TestRequest("GET /", "198.51.100.0")), "deny");
}

TEST(Lists, EntriesAreOfTheTypeOfTheirField) {
  World world(R"(
fields: {n: int(query.n), d: double(query.d)}
lists:
  ints: {of: n, kind: deny, entries: ["008"]}
  reals: {of: d, kind: deny, entries: [1.50, 2.0, 1e3]}
policies: [{name: p, watch: request, key: ip, window: 1h, then: [{over: 100, do: flag}]}]
)");
  for (const char* refused : {"n=8", "d=1.5", "d=2", "d=1000"}) {
    EXPECT_EQ(world.send(TestRequest(std::string("GET /?") + refused)), "deny") << refused;
  }
  EXPECT_EQ(world.send(TestRequest("GET /?n=9&d=3")), "pass");
  const auto& set = world.driver.set();
  const std::string_view eight[] = {"8"}, spelt[] = {"0008"}, none[] = {"abc"};
  EXPECT_EQ(list_key(set, set.lists[0], eight, world.secret).value(),
            list_key(set, set.lists[0], spelt, world.secret).value());
  EXPECT_FALSE(list_key(set, set.lists[0], none, world.secret));
}

TEST(Lists, EntriesThatNobodyCanHaveAreErrors) {
  const auto errors = [](const std::string& list) {
    config::Problems problems;
    const config::Model model = config::parse(
        {{"test.yaml",
          "weir: 1\nfields: {n: int(query.n), user: query.u}\nlists: {l: " + list +
              "}\npolicies: [{name: p, watch: request, key: ip, window: 1h, then: [{over: 1, "
              "do: flag}]}]\n"}},
        {}, problems);
    if (!problems.has_errors()) compile(model, problems);
    return problems.errors();
  };
  EXPECT_EQ(errors("{of: [ip, user], kind: deny, entries: [[10.0.0.0/8, al]]}"), 1U);
  EXPECT_EQ(errors("{of: [ip, user], kind: deny, entries: [[10.0.0.8, al]]}"), 0U);
  EXPECT_EQ(errors("{of: n, kind: deny, entries: [abc]}"), 1U);
  EXPECT_EQ(errors("{of: user, kind: allow, release: request}"), 1U);
}

}  // namespace
}  // namespace weir::policies::lists_test
