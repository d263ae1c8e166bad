#include "app/support/log.h"

#include <gtest/gtest.h>

namespace weir::app::log_test {
namespace {

TEST(LogLine, is_one_JSON_object_whatever_a_client_sends) {
  LogLine line("verdict");
  line.add("path", "/a\n{\"x\":1}").add("value", Number{6}).add("limit", Number::real(0.5));
  line.add("status", std::int64_t{429}).add("infinite", Number::real(HUGE_VAL));
  line.add("large", Number::real(1e21));
  EXPECT_EQ(
      line.to_json(Level::info, from_ms(0)),
      R"({"time":"1970-01-01T00:00:00.000Z","level":"info","message":"verdict","path":"/a\u000a{\"x\":1}",)"
      R"("value":6,"limit":0.5,"status":429,"infinite":"inf","large":1000000000000000000000})");
  EXPECT_EQ(line.to_text(Level::warn, from_ms(0)),
            "1970-01-01T00:00:00.000Z warn verdict path=\"/a\\u000a{\\\"x\\\":1}\" value=6 "
            "limit=0.5 status=429 "
            "infinite=inf large=1e+21");
}

TEST(Log, knows_its_levels_by_name) {
  EXPECT_EQ(level_named("trace"), Level::trace);
  EXPECT_EQ(level_named("error"), Level::error);
  EXPECT_EQ(level_named("?"), Level::info);
  Log log(Level::warn, true);
  EXPECT_FALSE(log.wants(Level::info));
  EXPECT_TRUE(log.wants(Level::error));
}

}  // namespace
}  // namespace weir::app::log_test
