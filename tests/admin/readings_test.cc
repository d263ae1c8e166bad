#include "admin/operator/readings.h"

#include <cmath>
#include <limits>

#include "api_fixture.h"

namespace weir::test::readings_test {

using admin::Histogram;

TEST(Histogram, TellsSmallWholeReadingsOneByOneAndOthersByThreeDigits) {
  Histogram histogram;
  for (const std::int64_t value : {1, 1, 7, 999, 1000, 1009, 1010, 123'456, 123'999, -25})
    histogram.add(Number(value));
  EXPECT_EQ(histogram.keys(), 10);
  std::string text;
  for (const Histogram::Bar& bar : histogram.bars(100)) {
    text += std::to_string(std::int64_t(bar.from)) + "-" + std::to_string(std::int64_t(bar.to)) +
            ":" + std::to_string(bar.keys) + " ";
  }
  EXPECT_EQ(text, "-25--24:1 1-2:2 7-8:1 999-1000:1 1000-1010:2 1010-1020:1 123000-124000:2 ");
}

TEST(Histogram, MakesBarsWiderWhereThereAreTooMany) {
  Histogram histogram;
  for (std::int64_t value = 1; value <= 900; ++value) histogram.add(Number(value));
  EXPECT_EQ(histogram.bars(900).size(), 900U);
  const auto bars = histogram.bars(200);
  EXPECT_LE(bars.size(), 200U);
  std::int64_t keys = 0;
  double end = 1;
  for (const Histogram::Bar& bar : bars) {
    EXPECT_GE(bar.from, end - 1e-9);
    end = bar.to;
    keys += bar.keys;
  }
  EXPECT_EQ(keys, 900);
}

TEST(Histogram, KeepsFractionsApart) {
  Histogram histogram;
  for (const double value : {0.25, 0.251, 0.5, 12.34}) histogram.add(Number::real(value));
  const auto bars = histogram.bars(100);
  ASSERT_EQ(bars.size(), 4U);
  EXPECT_NEAR(bars[0].from, 0.25, 1e-9);
  EXPECT_NEAR(bars[3].to, 12.4, 1e-9);
}

TEST(Histogram, HasRoomForEveryNumber) {
  Histogram histogram;
  for (const double value : {1e-300, 1e-7, 9.99e-4, 999.9999999999, 1e15, 1e300, 1.79e308}) {
    histogram.add(Number::real(value));
    histogram.add(Number::real(-value));
  }
  for (const std::int64_t value :
       {std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min()})
    histogram.add(Number(value));
  EXPECT_EQ(histogram.keys(), 16);
  std::int64_t keys = 0;
  double end = -std::numeric_limits<double>::infinity();
  for (const Histogram::Bar& bar : histogram.bars(1000)) {
    EXPECT_LT(bar.from, bar.to);
    EXPECT_GE(bar.from, end * (1 - 1e-9)) << "bars do not overlap";
    end = bar.to;
    keys += bar.keys;
  }
  EXPECT_EQ(keys, 16);
}

TEST(Histogram, PutsReadingsBetweenTheEdgesOfTheirBar) {
  // A power of ten begins a bar, and a value just below it is in the bar before.
  for (int power = -5; power <= 17; ++power) {
    const double edge = std::pow(10, power);
    for (const double value : {edge, edge * 1.005, edge * 9.994}) {
      Histogram histogram;
      histogram.add(Number::real(value));
      const auto bars = histogram.bars(1);
      ASSERT_EQ(bars.size(), 1U);
      EXPECT_LE(bars[0].from, value * (1 + 1e-9)) << value;
      EXPECT_GT(bars[0].to, value * (1 - 1e-12)) << value;
      // Three digits, but not finer than a millionth.
      EXPECT_LE(bars[0].to - bars[0].from, std::max(edge * 0.0100001, 1.0001e-6)) << value;
    }
  }
}

TEST_F(ApiTest, ReadingsShowHowManyKeysAThresholdHits) {
  for (int i = 0; i < 3; ++i) process.judge("POST", "/api/login", "198.51.100.7");
  process.judge("POST", "/api/login", "198.51.100.8");
  process.judge("POST", "/api/login", "198.51.100.9");
  const json::value body = get("/v1/policies/per-ip/readings?at=2&at=3&bins=50");
  EXPECT_EQ(body.at("shared"), json::value(false));
  EXPECT_EQ(body.at("from"), json::value("here"));
  const json::value& counter = body.at("counters").at(0);
  EXPECT_EQ(counter.at("keys"), json::value(3));
  EXPECT_EQ(counter.at("bins"), json::parse("[[1,2,2],[3,4,1]]"));
  EXPECT_EQ(counter.at("tried").at(0).at("at"), json::value(1));
  EXPECT_EQ(counter.at("tried").at(1).at("over"), json::value(0));
  const json::value& rung = counter.at("rungs").at(0);
  EXPECT_EQ(rung.at("set"), json::value("1.over"));
  EXPECT_EQ(rung.at("keys"), json::value(1));
  EXPECT_EQ(counter.at("rungs").at(2).at("for"), json::value("1h"));
  EXPECT_EQ(counter.at("rungs").at(2).at("keys"), json::value(0));
}

TEST_F(ApiTest, ReadingsSayWhatIsWrong) {
  EXPECT_EQ(call("GET", "/v1/policies/nobody/readings").status, 404);
  EXPECT_EQ(call("GET", "/v1/policies/per-ip/readings?bins=0").status, 400);
  EXPECT_EQ(call("GET", "/v1/policies/per-ip/readings?bins=4001").status, 400);
  EXPECT_EQ(call("GET", "/v1/policies/per-ip/readings?at=many").status, 400);
  EXPECT_EQ(call("GET", "/v1/policies/per-ip/readings?at=nan").status, 400);
  std::string target = "/v1/policies/per-ip/readings?at=1";
  for (int i = 0; i < 16; ++i) target += "&at=1";
  EXPECT_EQ(call("GET", target).status, 400);
}

TEST_F(ApiTest, PoliciesAreFoundByTheirNameAndShownByPages) {
  const json::value all = get("/v1/policies");
  EXPECT_EQ(all.at("found"), json::value(3));
  EXPECT_TRUE(all.at("next").is_null());
  const json::value page = get("/v1/policies?search=PER&limit=1");
  EXPECT_EQ(page.at("found"), json::value(2));
  EXPECT_EQ(page.at("policies").at(0).at("name"), json::value("per-ip"));
  EXPECT_EQ(page.at("disabled").as_array().size(), 0U);
  const std::string next = json::serialize(page.at("next"));
  const json::value rest = get("/v1/policies?search=PER&limit=1&after=" + next);
  EXPECT_EQ(rest.at("policies").at(0).at("name"), json::value("per-user-device"));
  EXPECT_TRUE(rest.at("next").is_null());
  EXPECT_EQ(call("GET", "/v1/policies?limit=0").status, 400);
  EXPECT_EQ(call("GET", "/v1/policies?after=4000").status, 400);
}

TEST_F(ApiTest, EntriesOfAllListsAreSearched) {
  for (int i = 0; i < 6; ++i) process.judge("POST", "/api/login", "198.51.100.7");
  call("POST", "/v1/lists/gray_users/entries", R"({"key":"Anna","for":"1h","why":"Ticket 4711"})");
  EXPECT_EQ(get("/v1/entries").at("entries").as_array().size(), 5U);
  EXPECT_EQ(get("/v1/entries?search=ANNA").at("entries").at(0).at("list"),
            json::value("gray_users"));
  EXPECT_EQ(get("/v1/entries?search=ticket").at("entries").as_array().size(), 1U);
  EXPECT_EQ(get("/v1/entries?search=per-ip").at("entries").as_array().size(), 2U);
  EXPECT_EQ(get("/v1/entries?search=partner").at("entries").as_array().size(), 1U);
  EXPECT_EQ(get("/v1/entries?effect=deny").at("entries").as_array().size(), 1U);
  EXPECT_EQ(get("/v1/lists/per-ip?search=51.100").at("entries").as_array().size(), 2U);
  EXPECT_EQ(call("GET", "/v1/entries?search=" + std::string(257, 'x')).status, 400);
  // Page by page there are the same.
  std::string after;
  std::size_t found = 0;
  for (int pages = 0; pages < 9; ++pages) {
    const json::value page = get("/v1/entries?limit=1" + after);
    found += page.at("entries").as_array().size();
    if (page.at("next").is_null()) break;
    after = "&after=" + std::string(page.at("next").as_string());
  }
  EXPECT_EQ(found, 5U);
}

}  // namespace weir::test::readings_test
