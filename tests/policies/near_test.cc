// Places that count within a radius, as policies say them: distance, ownership, and what
// forgives.
#include <gtest/gtest.h>

#include <iostream>
#include <random>

#include "core/geo.h"
#include "policies/explain/explain.h"
#include "policies/lang/place_text.h"
#include "policies/set/text_keys.h"
#include "tests/policies/world.h"
#include "tests/support/allocations.h"
#include "tests/support/golden.h"
#include "tests/support/seed.h"

namespace weir::policies::near_test {
namespace {

std::string at(double lat, double lon, const std::string& more = {}) {
  return "GET /taxi?lat=" + Number::real(lat).to_string() +
         "&lon=" + Number::real(lon).to_string() + more;
}

constexpr const char* kCrowd = R"(
events:
  call: {match: GET /taxi, fields: {lat: double(query.lat), east: double(query.lon)}}
policies:
  - {name: crowd, watch: call, key: {near: {lon: east, lat, radius: 1000m}}, window: 10m, then: [{over: 2, do: deny}]}
)";

TEST(NearPolicy, CountsByTrueDistanceAcrossTheMeridianAndThePole) {
  World world(kCrowd);
  // 0.004 degrees of longitude are 445 m at the equator, on both sides of the 180th meridian.
  EXPECT_EQ(world.send(TestRequest(at(0, 179.998))), "pass");
  EXPECT_EQ(world.send(TestRequest(at(0, -179.998))), "pass");
  EXPECT_EQ(world.send(TestRequest(at(0, 180))), "deny");
  EXPECT_EQ(world.send(TestRequest(at(0.012, 180))), "pass") << "1334 m away";
  EXPECT_EQ(world.send(TestRequest(at(89.997, 0))), "pass");
  EXPECT_EQ(world.send(TestRequest(at(89.997, 180))), "pass") << "667 m over the pole";
  EXPECT_EQ(world.send(TestRequest(at(90, 77))), "deny");
  EXPECT_EQ(world.send(TestRequest(at(0.004, -179.999))), "deny") << "refused ones did not count";
  world.now += std::chrono::minutes(10);
  EXPECT_EQ(world.send(TestRequest(at(0, 180))), "pass");
}

TEST(NearPolicy, WhatIsNoPlaceIsMissing) {
  World world(kCrowd);
  for (int n = 0; n < 4; ++n) {
    EXPECT_EQ(world.send(TestRequest(at(91, 0))), "pass");
    EXPECT_EQ(world.send(TestRequest("GET /taxi?lat=1")), "pass");
  }
  World same(R"(
events:
  call: {match: POST /taxi, fields: {who: body.who}}
policies:
  - {name: crowd, watch: call, key: [who, {near: {lon: body.x, lat: body.y, radius: 1km}}], missing: same, window: 10m, then: [{over: 1, do: flag}]}
)");
  EXPECT_EQ(same.send(TestRequest("POST /taxi").json(R"({"who": 1, "x": 181, "y": 0})")), "pass");
  EXPECT_EQ(same.send(TestRequest("POST /taxi").json(R"({"who": 1, "y": 50})")), "flag");
  EXPECT_EQ(same.send(TestRequest("POST /taxi").json(R"({"who": 2, "y": 50})")), "pass");
  EXPECT_EQ(same.send(TestRequest("POST /taxi").json(R"({"who": 1, "x": 50, "y": 50})")), "pass")
      << "a place is not nowhere";
}

TEST(NearPolicy, APartOfAKeyBesideOthersAndOneOfSeveralMetrics) {
  World world(R"(
events:
  pay: {match: POST /pay, fields: {device: body.device, card: body.card, x: double(body.x), y: double(body.y), amount: int(body.amount)}}
policies:
  - {name: mine, watch: pay, key: [device, {near: {lon: x, lat: y, radius: 500m}}], metric: distinct(card), window: 1h, then: [{over: 1, do: flag}]}
  - name: here
    watch: pay
    key: {near: {lon: x, lat: y, radius: 5km}}
    metrics:
      payments: {watch: pay, window: 1h}
      average:  {watch: pay, metric: avg(amount), window: 1h}
      same:     {watch: pay, key: device, window: 1h}
    then: [{if: 'payments >= 3 && average > 50 && same < 3', do: deny}]
)");
  const auto pay = [&](std::string device, std::string card, double x, int amount) {
    return world.send(TestRequest("POST /pay")
                          .json("{\"device\": \"" + device + "\", \"card\": \"" + card +
                                "\", \"x\": " + std::to_string(x) +
                                ", \"y\": 50, \"amount\": " + std::to_string(amount) + "}"));
  };
  EXPECT_EQ(pay("a", "1", 10, 40), "pass");
  EXPECT_EQ(pay("a", "2", 10.01, 40), "pass") << "715 m away";
  EXPECT_EQ(pay("a", "2", 10.001, 40), "flag") << "two cards within 500 m";
  EXPECT_EQ(pay("b", "3", 10.02, 400), "deny");
  EXPECT_EQ(pay("b", "3", 11, 400), "pass") << "71 km away";
}

TEST(NearPolicy, OutcomesAreReservedAcrossCellsAndForgivenWithinTheRadius) {
  World world(R"(
events:
  login: {match: POST /login, fields: {x: double(query.x), y: double(query.y)}}
  failed: {is: login, when: status == 401}
  right: {is: login, when: status == 200}
policies:
  - {name: guesses, watch: failed, key: {near: {lon: x, lat: y, radius: 2km}}, window: 10m, reset: right, then: [{over: 2, do: deny}]}
)");
  const auto place = [](double x) { return TestRequest("POST /login?y=0&x=" + std::to_string(x)); };
  World::Judged one = world.judge(place(-0.005)), two = world.judge(place(0.005));
  ASSERT_TRUE(one.judgement && two.judgement);
  EXPECT_EQ(world.judge(place(0)).effect, "wait") << "over only because of what is in flight";
  world.answer(*one.judgement, 401);
  world.answer(*two.judgement, 401);
  EXPECT_EQ(world.send(place(0.001)), "deny");
  EXPECT_EQ(world.send(place(0.02), 200), "pass") << "1.7 and 2.8 km away";
  EXPECT_EQ(world.send(place(0.0), 401), "pass") << "the right login forgave one of the two";
  EXPECT_EQ(world.send(place(-0.001), 401), "deny");
}

TEST(NearPolicy, ListsWhatTheListHoldsAndNotThePlace) {
  World world(R"(
fields: {user: header.x_user}
events:
  call: {match: GET /taxi, fields: {lat: double(query.lat), lon: double(query.lon)}}
lists:
  farm: {of: user, kind: gray}
policies:
  - {name: crowd, watch: call, key: {near: {lon, lat, radius: 1km}}, window: 10m, then: [{over: 1, do: graylist, for: 1h, list: farm}]}
)");
  EXPECT_EQ(world.send(TestRequest(at(31, 121)).header("X-User", "a")), "pass");
  EXPECT_EQ(world.send(TestRequest(at(31.001, 121)).header("X-User", "b")), "gray");
  EXPECT_EQ(world.send(TestRequest("GET /").header("X-User", "b")), "gray");
  EXPECT_EQ(world.send(TestRequest("GET /").header("X-User", "a")), "pass");
}

TEST(NearPolicy, AgreesWithANaiveListOfPlacesAndAllocatesNothing) {
  const std::uint64_t seed = ::weir::test::new_seed();
  std::cout << "near: seed " << seed << '\n';
  std::mt19937_64 random(seed);
  World world(R"(
events:
  call: {match: GET /taxi, fields: {lat: double(query.lat), lon: double(query.lon)}}
policies:
  - {name: crowd, watch: call, key: {near: {lon, lat, radius: 100km}}, window: 10m, charge: always, then: [{over: 5, do: deny}]}
)");
  struct Seen {
    Place place;
    TimePoint ts;
  };
  std::vector<Seen> seen;
  std::size_t allocated = 0;
  for (int n = 0; n < 2000; ++n) {
    world.now += milliseconds(random() % 20'000);
    const auto some = [&](double most) {
      return most * (static_cast<double>(random() % 20'001) / 10'000 - 1);
    };
    double lon = 180 + some(8);
    if (lon > 180) lon -= 360;
    const Place place{random() % 2 == 0 ? 89 + some(1) : some(3), lon};
    TestRequest request(at(place.lat, place.lon));
    const Request& view = request.view(world.now);
    const std::size_t before = weir::test::allocations();
    world.start(view, {});
    if (n > 500) allocated += weir::test::allocations() - before;
    seen.push_back({place, world.now});
    std::int64_t expected = 0;
    for (const Seen& s : seen) {
      const double metres = distance_metres(s.place.lat, s.place.lon, place.lat, place.lon);
      expected += world.now - s.ts < std::chrono::minutes(10) && metres <= 100'000;
    }
    const PlannedCounter& counter = world.plan().counters.front();
    ASSERT_EQ(counter.reading.value, Number(expected))
        << n << " at " << place.lat << " " << place.lon;
  }
  EXPECT_EQ(allocated, 0u);
}

TEST(NearPolicy, IsExplainedAndReadByAText) {
  World world(R"(
events:
  call: {match: GET /taxi, fields: {lat: double(query.lat), lon: double(query.lon), who: query.who}}
policies:
  - {name: crowd, watch: call, key: [who, {near: {lon, lat, radius: 25km}}], metric: sum(int(query.n)), window: 10m, then: [{over: 10, do: flag}]}
)");
  EXPECT_EQ(world.send(TestRequest(at(31.2304, 121.4737, "&who=a&n=7"))), "pass");
  TestRequest request(at(31.3, 121.5, "&who=a&n=5"));
  const Explanation explanation = explain(world.driver, request.view(world.now), world.instant());
  EXPECT_EQ(
      weir::test::compare_golden(WEIR_SOURCE_DIR, "explain/near.txt", explanation.to_text(false)),
      "");

  const Policy& policy = *world.set_->find_policy("crowd");
  const Counter& counter = world.set_->counters[policy.counters.front()];
  const auto read = [&](std::string_view place) {
    const std::string_view parts[] = {"a", place};
    const auto key = counter_key(*world.set_, policy, counter, parts, world.secret);
    return key ? world.bank.peek(counter.id, *key, world.now).value.to_string() : "no key";
  };
  EXPECT_EQ(read("31.25,121.4"), "7");
  EXPECT_EQ(read("32,121.4"), "0");
  EXPECT_EQ(read("121.4"), "no key");
  EXPECT_EQ(read("121.4,31.25"), "no key") << "latitude comes first";
}

TEST(PlaceText, ReadsTwoNumbersInRange) {
  EXPECT_EQ(parse_place("31.2304,121.4737"), (Place{31.2304, 121.4737}));
  EXPECT_EQ(parse_place("-90,180"), (Place{-90, 180}));
  for (const auto* text :
       {"", ",", "1", "1,", ",1", "1,2,3", "91,0", "0,181", "nan,0", "inf,0", "1, 2", "true,1"})
    EXPECT_FALSE(parse_place(text)) << text;
}

}  // namespace
}  // namespace weir::policies::near_test
