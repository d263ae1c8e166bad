#include "app/observe/otlp.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace weir::app::otlp_test
