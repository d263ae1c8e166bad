#include "telemetry/trace_context.h"

#include <gtest/gtest.h>

#include <string>

namespace weir::telemetry::trace_context_test {
namespace {

constexpr std::string_view kGood = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

TEST(TraceContext, IsWrittenAsItWasRead) {
  const auto read = parse_traceparent(kGood);
  ASSERT_TRUE(read);
  EXPECT_TRUE(read->sampled);
  EXPECT_EQ(read->trace_id[0], 0x4b);
  EXPECT_EQ(read->span_id[7], 0xb7);
  std::array<char, kTraceparentSize> room;
  EXPECT_EQ(format_traceparent(*read, room), kGood);
}

TEST(TraceContext, KnowsOnlyTheSampledFlag) {
  const auto read = parse_traceparent("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-fe");
  ASSERT_TRUE(read);
  EXPECT_FALSE(read->sampled);
}

TEST(TraceContext, TakesALaterVersionAsFarAsItIsKnown) {
  const std::string later = "cc" + std::string(kGood.substr(2)) + "-what-the-future-brings";
  EXPECT_TRUE(parse_traceparent(later));
  EXPECT_TRUE(parse_traceparent("cc" + std::string(kGood.substr(2))));
  EXPECT_FALSE(parse_traceparent("cc" + std::string(kGood.substr(2)) + "x"));
}

TEST(TraceContext, RefusesWhatIsNotValid) {
  for (const std::string_view text :
       {"", "00", "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
        "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
        "00-4bf92f3577b34da6a3ce929d0e0e473g-00f067aa0ba902b7-01",
        "00_4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0",
        "0x-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}) {
    EXPECT_FALSE(parse_traceparent(text)) << text;
  }
}

}  // namespace
}  // namespace weir::telemetry::trace_context_test
