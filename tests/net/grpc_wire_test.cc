#include <gtest/gtest.h>

#include "net/grpc/frame_meter.h"
#include "net/grpc/wire.h"
#include "tests/support/h2_client.h"

namespace weir::net::grpc::grpc_wire_test {
namespace {

using weir::test::RawH2;

TEST(GrpcWire, reads_timeouts) {
  struct Case {
    const char* text;
    std::optional<milliseconds> want;
  };
  for (const Case& c : {Case{"250m", milliseconds(250)},
                        {"1S", milliseconds(1'000)},
                        {"2M", milliseconds(120'000)},
                        {"1H", milliseconds(3'600'000)},
                        {"1u", milliseconds(1)},
                        {"1001u", milliseconds(2)},
                        {"1n", milliseconds(1)},
                        {"0m", milliseconds(0)},
                        {"99999999H", milliseconds(359'999'996'400'000)},
                        {"", std::nullopt},
                        {"m", std::nullopt},
                        {"12", std::nullopt},
                        {"123456789m", std::nullopt},
                        {"-1m", std::nullopt},
                        {"+1m", std::nullopt},
                        {" 1m", std::nullopt},
                        {"1 m", std::nullopt},
                        {"1s", std::nullopt}}) {
    EXPECT_EQ(parse_timeout(c.text), c.want) << c.text;
  }
}

TEST(GrpcWire, escapes_what_is_no_printable_ascii) {
  std::string out;
  append_escaped(out, "50% \x01\x7F\xFFok~", 100);
  EXPECT_EQ(out, "50%25 %01%7F%FFok~");
  out.clear();
  append_escaped(out, "abcdef", 3);
  EXPECT_EQ(out, "abc");
}

TEST(GrpcWire, writes_the_prefix_that_it_reads) {
  char bytes[kPrefixBytes];
  write_prefix(bytes, {1, 0x01020304});
  EXPECT_EQ(std::string_view(bytes, 5), "\x01\x01\x02\x03\x04");
  EXPECT_EQ(read_prefix({bytes, 5}).bytes, 0x01020304U);
  EXPECT_EQ(read_prefix({bytes, 5}).flag, 1);
}

TEST(GrpcWire, finds_codings_in_a_list) {
  EXPECT_TRUE(names_coding("gzip", "gzip"));
  EXPECT_TRUE(names_coding("identity, deflate ,\tgzip", "gzip"));
  EXPECT_FALSE(names_coding("xgzip,gzipx", "gzip"));
  EXPECT_FALSE(names_coding("", "gzip"));
}

using Verdict = FrameMeter::Verdict;
/// Of bytes that a test keeps.
struct Meter : FrameMeter {
  Verdict take(std::string_view bytes, TimePoint now) {
    std::string copy(bytes);
    return FrameMeter::take(copy, now);
  }
};
const std::string kPing = RawH2::frame(6, 0, 0, "12345678");
constexpr TimePoint kNow{milliseconds(1'000'000)};

TEST(FrameMeter, knows_what_is_half_here_wherever_it_is_cut) {
  const std::string all = std::string(RawH2::kPreface) + RawH2::frame(4, 0, 0) +
                          RawH2::frame(1, 4, 1, "abc") + RawH2::frame(0, 1, 1, "payload");
  const std::vector<std::size_t> whole = {24, 33, 45, 61};
  Meter meter;
  EXPECT_TRUE(meter.inside());
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(meter.take(std::string_view(all).substr(i, 1), kNow), Verdict::good);
    const bool ends = std::find(whole.begin(), whole.end(), i + 1) != whole.end();
    EXPECT_EQ(meter.inside(), !ends) << i;
  }
  EXPECT_EQ(meter.frames(), 3U);
}

TEST(FrameMeter, a_list_of_fields_without_its_end_is_half_here) {
  Meter meter;
  meter.take(std::string(RawH2::kPreface) + RawH2::frame(1, 0, 1, "abc"), kNow);
  EXPECT_TRUE(meter.inside());
  meter.take(RawH2::frame(9, 4, 1, "abc"), kNow);
  EXPECT_FALSE(meter.inside());
}

TEST(FrameMeter, a_flood_of_what_asks_for_nothing_is_one) {
  const std::pair<const char*, std::string> kinds[] = {
      {"PING", kPing},
      {"SETTINGS", RawH2::frame(4, 0, 0)},
      {"PRIORITY", RawH2::frame(2, 0, 1, "12345")},
      {"RST_STREAM", RawH2::frame(3, 0, 1, "1234")},
      {"WINDOW_UPDATE", RawH2::frame(8, 0, 0, "1234")},
      {"empty DATA", RawH2::frame(0, 0, 1)},
      {"DATA of padding", RawH2::frame(0, 8, 1, std::string("\2\0\0", 3))},
      {"what nobody knows", RawH2::frame(0xEE, 0, 0, "x")}};
  for (const auto& [name, frame] : kinds) {
    Meter meter;
    meter.take(RawH2::kPreface, kNow);
    int n = 0;
    while (n < 10'000 && meter.take(frame, kNow) == Verdict::good) ++n;
    EXPECT_EQ(n, FrameMeter::kQuietMax) << name;
  }
}

TEST(FrameMeter, fields_of_a_call_that_has_begun_ask_for_nothing) {
  Meter meter;
  meter.take(RawH2::kPreface, kNow);
  for (std::uint32_t stream = 1; stream < 9'999; stream += 2) {
    ASSERT_EQ(meter.take(RawH2::frame(1, 4, stream, "a"), kNow), Verdict::good);
  }
  int n = 0;
  while (n < 10'000 && meter.take(RawH2::frame(1, 4, 1, "a"), kNow) == Verdict::good) ++n;
  EXPECT_EQ(n, FrameMeter::kQuietMax);
}

TEST(FrameMeter, padding_beside_a_message_costs_nothing) {
  const std::string some = RawH2::frame(0, 8, 1, std::string("\2x\0\0", 4));
  const std::string last = RawH2::frame(0, 9, 1, std::string("\0", 1));
  Meter meter;
  meter.take(RawH2::kPreface, kNow);
  for (int i = 0; i < 5'000; ++i) {
    for (std::size_t at = 0; at < some.size(); ++at) {
      ASSERT_EQ(meter.take(some.substr(at, 1), kNow), Verdict::good);
    }
    meter.data_taken();
    ASSERT_EQ(meter.take(last, kNow), Verdict::good);
    meter.data_taken();
  }
}

TEST(FrameMeter, data_costs_unless_a_call_takes_it) {
  constexpr std::uint8_t kEndStream = 1;
  for (const std::uint8_t flags : {std::uint8_t{}, kEndStream}) {
    const std::string data = RawH2::frame(0, flags, 1, "x");
    Meter meter;
    meter.take(RawH2::kPreface, kNow);
    for (int i = 0; i < 100'000; ++i) {
      ASSERT_EQ(meter.take(data, kNow), Verdict::good);
      meter.data_taken();
    }
    int n = 0;
    while (n < 100'000 && meter.take(data, kNow) == Verdict::good) ++n;
    EXPECT_EQ(n, FrameMeter::kDataMax);
  }
}

TEST(FrameMeter, time_and_calls_give_back) {
  Meter meter;
  meter.take(RawH2::kPreface, kNow);
  for (int i = 0; i < FrameMeter::kQuietMax; ++i) ASSERT_EQ(meter.take(kPing, kNow), Verdict::good);
  meter.call_answered();
  for (int i = 0; i < FrameMeter::kPerCall; ++i) ASSERT_EQ(meter.take(kPing, kNow), Verdict::good);
  const TimePoint later = kNow + milliseconds(500);
  for (int i = 0; i < FrameMeter::kQuietPerSecond / 2; ++i) {
    ASSERT_EQ(meter.take(kPing, later), Verdict::good);
  }
  EXPECT_EQ(meter.take(kPing, later), Verdict::flood);
}

// Keepalive of an Envoy, and a client that measures its path with every call.
TEST(FrameMeter, busy_and_patient_peers_never_run_out) {
  Meter meter;
  meter.take(RawH2::kPreface, kNow);
  for (int i = 0; i < 100'000; ++i) {
    ASSERT_EQ(meter.take(kPing, kNow + milliseconds(i * 100)), Verdict::good);
  }
  Meter busy;
  busy.take(RawH2::kPreface, kNow);
  for (int i = 0; i < 100'000; ++i) {
    ASSERT_EQ(busy.take(kPing + RawH2::frame(8, 0, 0, "1234") + RawH2::frame(4, 0, 0), kNow),
              Verdict::good);
    busy.call_answered();
  }
}

TEST(FrameMeter, many_pieces_of_one_list_are_a_flood) {
  Meter meter;
  meter.take(std::string(RawH2::kPreface) + RawH2::frame(1, 0, 1, "a"), kNow);
  for (int i = 0; i < FrameMeter::kContinuationsMax; ++i) {
    ASSERT_EQ(meter.take(RawH2::frame(9, 0, 1, "a"), kNow), Verdict::good);
  }
  EXPECT_EQ(meter.take(RawH2::frame(9, 0, 1, "a"), kNow), Verdict::flood);
}

}  // namespace
}  // namespace weir::net::grpc::grpc_wire_test
