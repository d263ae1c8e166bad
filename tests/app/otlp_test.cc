#include "app/observe/otlp.h"

#include <gmock/gmock.h>

#include <array>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

namespace weir::app::otlp_test {
namespace {

namespace json = boost::json;

TEST(Otlp, WritesTwoSpansOfARequestThatWentToTheApp) {
  telemetry::RequestFacts facts;
  facts.begun = FineTime{std::chrono::microseconds{1'795'219'200'000'001}};
  facts.sent_us = 10;
  facts.connect_us = 0;
  facts.first_byte_us = 100;
  facts.total_us = 250;
  facts.status = 502;
  facts.end = telemetry::RequestEnd::complete;
  facts.method = "GET";
  facts.path = "/a\"b";
  facts.upstream = "app:3000";
  facts.trace.trace_id[0] = 0xab;
  facts.trace.span_id[7] = 1;
  facts.client_span[7] = 2;
  std::string body = spans_head({"shop", "1.2.3"});
  append_spans(body, facts, true);
  facts.sent_us = telemetry::RequestFacts::kNever;  // a second one, that weir answered
  facts.parent[0] = 9;
  append_spans(body, facts, false);
  body += spans_tail();
  const json::value parsed = json::parse(body);
  const auto& resource = parsed.at("resourceSpans").at(0);
  EXPECT_EQ(json::serialize(resource.at("resource").at("attributes").at(0)),
            R"({"key":"service.name","value":{"stringValue":"shop"}})");
  const json::array& spans = resource.at("scopeSpans").at(0).at("spans").as_array();
  ASSERT_EQ(spans.size(), 3U);
  EXPECT_EQ(spans[0].at("traceId"), "ab000000000000000000000000000000");
  EXPECT_EQ(spans[0].at("spanId"), "0000000000000001");
  EXPECT_EQ(spans[0].at("startTimeUnixNano"), "1795219200000001000");
  EXPECT_EQ(spans[0].at("endTimeUnixNano"), "1795219200000251000");
  EXPECT_EQ(spans[0].at("status").at("code"), 2);
  EXPECT_EQ(spans[0].as_object().if_contains("parentSpanId"), nullptr);
  EXPECT_EQ(spans[1].at("parentSpanId"), "0000000000000001");
  EXPECT_EQ(spans[1].at("startTimeUnixNano"), "1795219200000011000");
  EXPECT_EQ(spans[2].at("parentSpanId"), "0900000000000000");
}

/// `[server span, client span]` of a request, each as name=value, a blank behind each.
std::array<std::string, 2> attributes_of(telemetry::RequestFacts facts) {
  facts.sent_us = 10;
  std::string body = spans_head({"shop", "1"});
  append_spans(body, facts, true);
  body += spans_tail();
  const json::value parsed = json::parse(body);
  const json::value& spans = parsed.at("resourceSpans").at(0).at("scopeSpans").at(0).at("spans");
  std::array<std::string, 2> out;
  for (std::size_t i = 0; i < out.size(); ++i) {
    for (const json::value& each : spans.at(i).at("attributes").as_array()) {
      out[i].append(each.at("key").as_string()).append("=");
      out[i].append(each.at("value").as_object().begin()->value().as_string()).append(" ");
    }
  }
  return out;
}

TEST(Otlp, NamesWhatIsRequiredAndTheKindOfAnError) {
  using testing::HasSubstr;
  using testing::Not;
  telemetry::RequestFacts facts;
  facts.status = 200;
  facts.end = telemetry::RequestEnd::complete;
  facts.first_byte_us = 5;
  for (const std::string& text : attributes_of(facts)) {
    EXPECT_THAT(text, HasSubstr("http.response.status_code=200 "));
    EXPECT_THAT(text, Not(HasSubstr("error.type")));
  }
  EXPECT_THAT(attributes_of(facts)[0], HasSubstr("url.scheme=http "));
  facts.status = 502;
  EXPECT_THAT(attributes_of(facts)[0], HasSubstr("error.type=502 "));
  EXPECT_THAT(attributes_of(facts)[1], HasSubstr("error.type=502 "));
  facts.status = 200;
  facts.end = telemetry::RequestEnd::cut;  // an answer that broke off
  EXPECT_THAT(attributes_of(facts)[0], HasSubstr("error.type=cut "));
  facts.status = 0;
  facts.end = telemetry::RequestEnd::aborted;  // the client left before there was an answer
  facts.first_byte_us = telemetry::RequestFacts::kNever;
  EXPECT_THAT(attributes_of(facts)[0], Not(HasSubstr("status_code")));
  EXPECT_THAT(attributes_of(facts)[0], Not(HasSubstr("error.type"))) << "weir did nothing wrong";
  EXPECT_THAT(attributes_of(facts)[1], HasSubstr("error.type=aborted "));
}

}  // namespace
}  // namespace weir::app::otlp_test
