#include "telemetry/access_line.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/text.h"
#include "tests/support/allocations.h"

namespace weir::telemetry::access_line_test {
namespace {

RequestFacts passed() {
  RequestFacts facts;
  facts.begun = FineTime{std::chrono::microseconds{1'795'219'200'123'456}};
  facts.judge_us = 21;
  facts.connect_us = 0;
  facts.first_byte_us = 12'300;
  facts.total_us = 12'345;
  facts.bytes_in = 541;
  facts.bytes_out = 812;
  facts.status = 200;
  facts.end = RequestEnd::complete;
  facts.client = *Address::parse("203.0.113.7");
  facts.peer = *Address::parse("2001:db8::1");
  facts.upstream = "127.0.0.1:3000";
  facts.request_id = "0123456789abcdef0123456789abcdef";
  facts.method = "GET";
  facts.host = "shop.example";
  facts.path = "/api/items";
  facts.query = "q=1";
  facts.route = "items";
  facts.verdict = "flag";
  facts.policy = "scrapers";
  facts.user_agent = "curl/8";
  facts.trace.trace_id[15] = 1;
  return facts;
}

TEST(AccessLine, SaysWhatIsKnownInTheOrderThatWasAskedFor) {
  AccessLine line(default_access_fields());
  EXPECT_EQ(line.write(passed()),
            "{\"time\":\"2026-11-21T00:00:00.123Z\","
            "\"request_id\":\"0123456789abcdef0123456789abcdef\",\"client\":\"203.0.113.7\","
            "\"method\":\"GET\",\"path\":\"/api/items\",\"route\":\"items\",\"status\":200,"
            "\"bytes_in\":541,\"bytes_out\":812,\"head_ms\":0,\"judge_ms\":0.021,\"connect_ms\":0,"
            "\"first_byte_ms\":12.300,\"total_ms\":12.345,\"verdict\":\"flag\","
            "\"policy\":\"scrapers\",\"upstream\":\"127.0.0.1:3000\",\"end\":\"complete\"}\n");
  AccessLine few(std::vector{AccessField::trace_id, AccessField::user_agent, AccessField::referer,
                             AccessField::peer, AccessField::query, AccessField::host,
                             AccessField::wait_ms});
  EXPECT_EQ(few.write(passed()),
            "{\"trace_id\":\"00000000000000000000000000000001\",\"user_agent\":\"curl/8\","
            "\"peer\":\"2001:db8::1\",\"query\":\"q=1\",\"host\":\"shop.example\"}\n");
}

TEST(AccessLine, LeavesOutWhatDidNotHappen) {
  AccessLine line(default_access_fields());
  const RequestFacts nothing{};
  EXPECT_EQ(line.write(nothing),
            "{\"time\":\"1970-01-01T00:00:00.000Z\",\"bytes_in\":0,\"bytes_out\":0,\"head_ms\":0,"
            "\"total_ms\":0,\"end\":\"aborted\"}\n");
  AccessLine none(std::vector{AccessField::policy});
  EXPECT_EQ(none.write(nothing), "{}\n");
}

// Times of years, not of one second: the text of a second is kept from line to line.
TEST(AccessLine, AllocatesNothingAfterTheFirstLine) {
  AccessLine line(default_access_fields());
  RequestFacts facts = passed();
  line.write(facts);
  const std::size_t before = test::allocations();
  std::size_t size = 0;
  for (int i = 0; i < 1'000; ++i) {
    facts.begun += std::chrono::hours(7);
    size += line.write(facts).size();
  }
  EXPECT_EQ(test::allocations(), before);
  EXPECT_GT(size, 0U);
}

TEST(AccessLine, KnowsASecondThatComesBack) {
  AccessLine line(std::vector{AccessField::time});
  RequestFacts facts;
  const auto at = [&](std::int64_t us) {
    facts.begun = FineTime{std::chrono::microseconds{1'795'219'200'000'000 + us}};
    return std::string(line.write(facts));
  };
  EXPECT_EQ(at(999'999), "{\"time\":\"2026-11-21T00:00:00.999Z\"}\n");
  EXPECT_EQ(at(1'000'000), "{\"time\":\"2026-11-21T00:00:01.000Z\"}\n");
  EXPECT_EQ(at(0), "{\"time\":\"2026-11-21T00:00:00.000Z\"}\n") << "a clock that was set back";
  EXPECT_EQ(at(-1), "{\"time\":\"2026-11-20T23:59:59.999Z\"}\n");
}

TEST(AccessLine, NoTextBreaksTheLine) {
  AccessLine line(std::vector{AccessField::path, AccessField::user_agent, AccessField::status});
  RequestFacts facts = passed();
  facts.path = "/a\"b\\c\n\x1b[31m\x80";
  facts.user_agent = std::string(200, '\x01');  // every byte six times as long
  EXPECT_TRUE(line.write(facts).starts_with(
      "{\"path\":\"/a\\\"b\\\\c\\u000a\\u001b[31m\xef\xbf\xbd\",\"user_agent\":\"\\u0001"));
  EXPECT_TRUE(line.write(facts).ends_with("\\u0001\",\"status\":200}\n"));
  facts.path = std::string(512, '\x02');
  const std::string_view all = line.write(facts);
  EXPECT_EQ(all.size(), 9 + 512 * 6 + 1 + 15 + 128 * 6 + 1 + 13 + 2);
}

TEST(AccessLine, EveryByteAtEveryPlaceIsWrittenAsJsonHasIt) {
  AccessLine line(std::vector{AccessField::path});
  RequestFacts facts = passed();
  for (std::size_t size : {1U, 7U, 15U, 16U, 17U, 20U, 33U}) {
    for (std::size_t at = 0; at < size; ++at) {
      for (int byte = 0; byte < 256; ++byte) {
        std::string text(size, 'a');
        text[at] = static_cast<char>(byte);
        std::string expected = "{\"path\":";
        append_json(expected, text);
        facts.path = text;
        ASSERT_EQ(line.write(facts), expected + "}\n") << size << " " << at << " " << byte;
      }
    }
  }
}

TEST(AccessLine, TellsOfEachUpstreamByItsOwnName) {
  AccessLine line(std::vector{AccessField::status, AccessField::upstream});
  const std::string first = "127.0.0.1:3000", odd = "unix:/run/\"app\".sock";
  RequestFacts facts = passed();
  for (int i = 0; i < 3; ++i) {
    facts.upstream = first;
    EXPECT_EQ(line.write(facts), "{\"status\":200,\"upstream\":\"127.0.0.1:3000\"}\n");
    facts.upstream = odd;
    EXPECT_EQ(line.write(facts), "{\"status\":200,\"upstream\":\"unix:/run/\\\"app\\\".sock\"}\n");
    EXPECT_EQ(line.write(facts), "{\"status\":200,\"upstream\":\"unix:/run/\\\"app\\\".sock\"}\n");
    facts.upstream = std::string_view(first).substr(0, 9);
    EXPECT_EQ(line.write(facts), "{\"status\":200,\"upstream\":\"127.0.0.1\"}\n");
    facts.upstream = {};
    EXPECT_EQ(line.write(facts), "{\"status\":200}\n");
  }
}

TEST(AccessLine, TheTableNamesEveryFieldOnce) {
  for (const AccessFieldRow& row : access_fields()) {
    EXPECT_EQ(access_field_named(row.name), row.field);
  }
  EXPECT_FALSE(access_field_named("paths"));
}

}  // namespace
}  // namespace weir::telemetry::access_line_test
