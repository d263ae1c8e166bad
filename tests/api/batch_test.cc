#include "api/batch.h"

#include <gtest/gtest.h>

#include "api_world.h"

namespace weir::api::batch_test {
namespace {

constexpr const char* kYaml = R"(
events:
  hit: {source: {json: true, time: {field: ts, as: seconds}}}
policies:
  - {name: p, watch: hit, key: k, window: 10m, then: [{over: 2, do: deny}]}
)";

class BatchTest : public testing::Test {
 protected:
  std::string run(std::string body, Ask ask = Ask::events) {
    Batch batch(std::move(body), Batch::Form::lines, ask);
    EXPECT_FALSE(batch.too_many());
    slices = 1;
    while (batch.work(api.lines, api.world.now, api.nobody) == Batch::Left::some) ++slices;
    EXPECT_EQ(batch.problem().line, 0u);
    return batch.answer();
  }
  ApiWorld api{kYaml};
  int slices = 0;
};

const std::string kHit = R"({"event":"hit","k":"a"})";
const std::string kPass = "{\"verdict\":\"pass\"}\n";

TEST_F(BatchTest, AnswersEveryLineInOrderWhateverEndsIt) {
  EXPECT_EQ(run(""), "");
  EXPECT_EQ(run("\r\n\n  \n"), "");
  EXPECT_EQ(run(kHit + "\r\n\r\n \n" + kHit), kPass + kPass);  // no final newline
  const std::string third = run(kHit + "\n");
  EXPECT_EQ(third.substr(0, 33), R"({"verdict":"deny","policy":"p","r)");
  EXPECT_EQ(third.back(), '\n');
}

TEST_F(BatchTest, ABadLineIsNamedAndTheOthersGoOn) {
  EXPECT_EQ(
      run(kHit + "\n\n{\"event\":\"hat\"}\r\n[]\n{\"event\":\"hit\",\"k\":\n" + kHit + "\n"),
      kPass +
          R"({"error":"there is no event \"hat\"; did you mean \"hit\"?","line":3,"column":10})"
          "\n"
          R"({"error":"an event is a JSON object, `{...}`","line":4,"column":1})"
          "\n"
          R"({"error":"a JSON value is expected here","line":5,"column":20})"
          "\n" +
          kPass);
  EXPECT_EQ(api.metrics.sum(telemetry::Metric::api_bad), 3);
}

TEST_F(BatchTest, IsWorkedOffInSlices) {
  std::string body;
  for (std::size_t i = 0; i < 3 * Batch::kSlice; ++i) {
    body += R"({"event":"hit","k":)" + std::to_string(i) + "}\n";
  }
  std::string all;
  for (std::size_t i = 0; i < 3 * Batch::kSlice; ++i) all += kPass;
  EXPECT_EQ(run(body), all);
  EXPECT_EQ(slices, 3);
  // Lines that are long instead of many are sliced as well.
  const std::string longer =
      R"({"event":"hit","k":"x","pad":")" + std::string(50'000, 'p') + "\"}\n";
  run(longer + longer + longer + longer);
  EXPECT_EQ(slices, 2);
}

TEST_F(BatchTest, HasALimitOfLines) {
  const std::string most(Batch::kEventsMax, '\n');
  EXPECT_FALSE(Batch(most, Batch::Form::lines, Ask::events).too_many());
  EXPECT_TRUE(Batch(most + " ", Batch::Form::lines, Ask::events).too_many());
  EXPECT_FALSE(Batch(most + " ", Batch::Form::object, Ask::events).too_many());
}

TEST_F(BatchTest, AnAnswerThatGrowsTooLongStopsTheJudging) {
  // A long key comes back in every answer to a query.
  const std::string key(6'000, 'k');
  std::string body;
  for (int i = 0; i < 2'000; ++i) body += R"({"event":"hit","k":")" + key + "\"}\n";
  const std::string answer = run(body, Ask::query);
  EXPECT_LT(answer.size(), Batch::kAnswerBytes + 400'000);
  EXPECT_NE(
      answer.find(
          R"({"error":"not judged: the answer has become too long; send fewer events","line":2000,"column":1})"),
      std::string::npos);
}

TEST_F(BatchTest, OneObjectMayStandOnSeveralLines) {
  Batch good("{\n  \"event\": \"hit\",\r\n  \"k\": 1\n}\n", Batch::Form::object, Ask::events);
  EXPECT_EQ(good.work(api.lines, api.world.now, api.nobody), Batch::Left::nothing);
  EXPECT_EQ(good.answer(), kPass);
  EXPECT_EQ(good.problem().line, 0u);
  Batch bad("{\n  \"event\": \"hit\",\n  \"k\": 01\n}\n", Batch::Form::object, Ask::events);
  EXPECT_EQ(bad.work(api.lines, api.world.now, api.nobody), Batch::Left::nothing);
  EXPECT_EQ(bad.answer(), "");
  EXPECT_EQ(bad.problem().line, 3u);
  EXPECT_EQ(bad.problem().column, 8u);
  EXPECT_EQ(bad.problem().what, "a number has no leading zero");
}

}  // namespace
}  // namespace weir::api::batch_test
