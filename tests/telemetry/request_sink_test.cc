#include "telemetry/request_sink.h"

#include <gtest/gtest.h>

#include <string>

namespace weir::telemetry::request_sink_test {
namespace {

class RequestSinkTest : public ::testing::Test {
 protected:
  void log(double sample, bool refused, bool errors) {
    AccessSettings settings;
    settings.sample = sample;
    settings.always_refused = refused;
    settings.always_errors = errors;
    settings.fields = {AccessField::status};
    sink_.log(std::make_shared<const AccessSettings>(settings));
  }
  void request(int status, RequestEnd end, bool refused = false) {
    RequestFacts* const facts = sink_.lend();
    ASSERT_NE(facts, nullptr);
    facts->sampled = sink_.draw_line();
    facts->refused = refused;
    facts->status = static_cast<std::uint16_t>(status);
    facts->end = end;
    sink_.finish(*facts);
  }
  std::string taken() {
    std::string out;
    sink_.take(out);
    return out;
  }

  Metrics metrics_{1};
  SinkBell bell_;
  RequestSink sink_{metrics_.cells(0), bell_, 42};
};

TEST_F(RequestSinkTest, WritesWhatIsSampledAndWhatIsAlwaysWanted) {
  log(0, true, true);
  request(200, RequestEnd::complete);
  request(404, RequestEnd::complete);
  EXPECT_EQ(taken(), "");
  request(429, RequestEnd::refused, true);
  request(500, RequestEnd::complete);
  request(400, RequestEnd::local);
  request(200, RequestEnd::cut);
  request(200, RequestEnd::local);
  EXPECT_EQ(taken(), "{\"status\":429}\n{\"status\":500}\n{\"status\":400}\n{\"status\":200}\n");
  log(0, false, false);
  request(429, RequestEnd::refused, true);
  request(500, RequestEnd::complete);
  EXPECT_EQ(taken(), "");
  log(1, false, false);
  request(404, RequestEnd::complete);
  EXPECT_EQ(taken(), "{\"status\":404}\n");
}

TEST_F(RequestSinkTest, SamplesThePartThatItIsTold) {
  log(0.01, false, false);
  int drawn = 0;
  for (int i = 0; i < 100'000; ++i) drawn += sink_.draw_line() ? 1 : 0;
  EXPECT_NEAR(drawn, 1'000, 150);
}

TEST_F(RequestSinkTest, CountsWhatFindsNoRoom) {
  log(1, false, false);
  const std::size_t line = std::string_view("{\"status\":200}\n").size();
  const std::size_t room = RequestSink::kQueueBytes / line;
  for (std::size_t i = 0; i < room + 7; ++i) request(200, RequestEnd::complete);
  EXPECT_EQ(metrics_.sum(Metric::access_lost), 7);
  EXPECT_EQ(metrics_.sum(Metric::access_queued), static_cast<std::int64_t>(room));
  EXPECT_EQ(taken().size(), room * line);
  request(200, RequestEnd::complete);
  EXPECT_EQ(taken().size(), line) << "there is room again";
}

TEST_F(RequestSinkTest, LendsABoundedNumber) {
  log(1, false, false);
  std::vector<RequestFacts*> lent;
  for (std::size_t i = 0; i < RequestSink::kFactsMax; ++i) lent.push_back(sink_.lend());
  EXPECT_EQ(sink_.lend(), nullptr);
  EXPECT_EQ(metrics_.sum(Metric::access_lost), 1);
  for (RequestFacts* const facts : lent) sink_.finish(*facts);
  EXPECT_NE(sink_.lend(), nullptr);
}

TEST_F(RequestSinkTest, SpansThatFindNoRoomAreCounted) {
  sink_.trace(1);
  for (std::size_t i = 0; i < RequestSink::kSpans + 3; ++i) {
    RequestFacts* const facts = sink_.lend();
    facts->traced = true;
    sink_.finish(*facts);
  }
  EXPECT_EQ(metrics_.sum(Metric::spans_dropped), 3);
  EXPECT_NE(sink_.spans()->front(), nullptr);
}

}  // namespace
}  // namespace weir::telemetry::request_sink_test
