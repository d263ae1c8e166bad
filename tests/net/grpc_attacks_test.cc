// Peers that mean harm: each is bounded and shut out, and others are served meanwhile.
#include <sys/socket.h>

#include <string>

#include "net/connection_budget.h"
#include "tests/net/grpc_fixture.h"

namespace weir::test::grpc_attacks_test {
namespace {

using telemetry::Metric;
constexpr const char* kEcho = "/test.Test/Echo";
constexpr int kCalm = NGHTTP2_ENHANCE_YOUR_CALM;
constexpr std::uint8_t kEndHeaders = NGHTTP2_FLAG_END_HEADERS;
constexpr std::uint8_t kEndStream = NGHTTP2_FLAG_END_STREAM;

class GrpcAttacks : public GrpcFixture {
 protected:
  net::ConnectionBudget budget{4};
  const std::string list = RawH2::literal(RawH2::call_fields(kEcho));
};

std::string repeated(const std::string& what, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) out += what;
  return out;
}

TEST_F(GrpcAttacks, rapid_reset) {
  start();
  RawH2 raw(port);
  raw.greet();
  std::string all;
  for (std::uint32_t i = 0; i < 5'000; ++i) {
    all += RawH2::frame(NGHTTP2_HEADERS, kEndHeaders, 2 * i + 1, list);
    all += RawH2::frame(NGHTTP2_RST_STREAM, 0, 2 * i + 1, std::string("\0\0\0\x8", 4));
  }
  raw.send(all);
  EXPECT_EQ(raw.goaway_code(), kCalm);
  EXPECT_TRUE(raw.at_end());
  EXPECT_EQ(metric(Metric::grpc_shut_out_resets) + metric(Metric::grpc_shut_out_flood), 1);
  expect_served();
}

TEST_F(GrpcAttacks, resets_of_calls_that_a_service_has_begun) {
  start();
  RawH2 raw(port);
  raw.greet();
  const std::string waiting = RawH2::literal(RawH2::call_fields("/test.Test/Wait"));
  std::string all;
  for (std::uint32_t i = 0; i < 5'000; ++i) {
    all += RawH2::frame(NGHTTP2_HEADERS, kEndHeaders, 2 * i + 1, waiting);
    all += RawH2::frame(NGHTTP2_DATA, kEndStream, 2 * i + 1, H2Client::prefixed(""));
    all += RawH2::frame(NGHTTP2_RST_STREAM, 0, 2 * i + 1, std::string("\0\0\0\x8", 4));
  }
  raw.send(all);
  EXPECT_EQ(raw.goaway_code(), kCalm);
  expect_served();
  on_worker([&] {
    EXPECT_LE(wait.waiting.size(), 1'001U);
    EXPECT_EQ(wait.complete("nobody"), 0);
  });
}

// Envoy resets the call of each client that hangs up, on a connection that all clients share.
TEST_F(GrpcAttacks, resets_of_calls_that_wait_for_long_are_no_abuse) {
  start();
  RawH2 raw(port);
  raw.greet();
  const std::string waiting = RawH2::literal(RawH2::call_fields("/test.Test/Wait"));
  std::uint32_t id = 1;
  for (std::size_t round = 1; round <= 10; ++round) {
    std::string calls, resets;
    for (int i = 0; i < 500; ++i, id += 2) {
      calls += RawH2::frame(NGHTTP2_HEADERS, kEndHeaders, id, waiting);
      calls += RawH2::frame(NGHTTP2_DATA, kEndStream, id, H2Client::prefixed(""));
      resets += RawH2::frame(NGHTTP2_RST_STREAM, 0, id, std::string("\0\0\0\x8", 4));
    }
    raw.send(calls);
    ASSERT_TRUE(becomes([&] { return wait.waiting.size() == 500 * round; })) << round;
    TimePoint begun;
    on_worker([&] { begun = (*pool)[0].now(); });
    ASSERT_TRUE(becomes([&] { return (*pool)[0].now() > begun; }));
    raw.send(resets);
    ASSERT_TRUE(becomes([&] { return wait.cancelled == static_cast<int>(500 * round); })) << round;
  }
  EXPECT_EQ(metric(Metric::grpc_shut_out_resets), 0);
  expect_served();
}

TEST_F(GrpcAttacks, floods_of_frames_that_ask_for_nothing) {
  start();
  const std::pair<const char*, std::string> kinds[] = {
      {"PING", RawH2::frame(NGHTTP2_PING, 0, 0, "12345678")},
      {"SETTINGS", RawH2::frame(NGHTTP2_SETTINGS, 0, 0)},
      {"PRIORITY", RawH2::frame(NGHTTP2_PRIORITY, 0, 1, std::string(5, '\0'))},
      {"unknown", RawH2::frame(0x42, 0, 0, "x")}};
  for (const auto& [name, frame] : kinds) {
    RawH2 raw(port);
    raw.greet();
    raw.send(repeated(frame, 20'000));
    EXPECT_EQ(raw.goaway_code(), kCalm) << name;
    EXPECT_TRUE(raw.at_end()) << name;
    expect_served();
  }
  EXPECT_EQ(metric(Metric::grpc_shut_out_flood), 4);
}

TEST_F(GrpcAttacks, empty_pieces_of_a_message) {
  start();
  RawH2 raw(port);
  raw.greet();
  raw.send(RawH2::frame(NGHTTP2_HEADERS, kEndHeaders, 1, list) +
           repeated(RawH2::frame(NGHTTP2_DATA, 0, 1), 20'000));
  EXPECT_EQ(raw.goaway_code(), kCalm);
  expect_served();
}

// The call fails before its message ends. libnghttp2 ignores DATA of a stream that it has reset:
// the connection counts it.
TEST_F(GrpcAttacks, data_for_a_call_that_is_answered) {
  start();
  RawH2 raw(port);
  raw.greet();
  raw.send(RawH2::frame(NGHTTP2_HEADERS, kEndHeaders, 1,
                        RawH2::literal(RawH2::call_fields("/test.Test/Unknown"))));
  const std::string data = RawH2::frame(NGHTTP2_DATA, 0, 1, "x");
  for (int i = 0; i < 100 && raw.send(repeated(data, 1'000)); ++i) {
  }
  EXPECT_EQ(raw.goaway_code(), kCalm);
  EXPECT_EQ(metric(Metric::grpc_shut_out_flood), 1);
  expect_served();
}

// The same frames, of a message that the call reads: 20,000 pieces of one byte.
TEST_F(GrpcAttacks, a_message_in_single_bytes_is_no_flood) {
  start();
  RawH2 raw(port);
  raw.greet();
  const std::string prefix("\0\0\0\x4e\x20", 5);  // 20,000 bytes
  raw.send(RawH2::frame(NGHTTP2_HEADERS, kEndHeaders, 1, list));
  raw.send(RawH2::frame(NGHTTP2_DATA, 0, 1, prefix) +
           repeated(RawH2::frame(NGHTTP2_DATA, 0, 1, "m"), 20'000) +
           RawH2::frame(NGHTTP2_DATA, kEndStream, 1));
  EXPECT_EQ(raw.read_to(NGHTTP2_DATA).stream, 1U) << "the answer";
  EXPECT_EQ(metric(Metric::grpc_shut_out_flood), 0);
  expect_served();
}

TEST_F(GrpcAttacks, continuations_without_end) {
  start();
  RawH2 raw(port);
  raw.greet();
  raw.send(RawH2::frame(NGHTTP2_HEADERS, 0, 1, list));
  bool open = true;
  for (int i = 0; open && i < 1'000; ++i) {
    open = raw.send(RawH2::frame(NGHTTP2_CONTINUATION, 0, 1,
                                 RawH2::literal({{"x-a", std::string(8'000, 'a')}})));
  }
  EXPECT_TRUE(raw.at_end());
  EXPECT_EQ(metric(Metric::grpc_shut_out_flood), 1);
  expect_served();
}

// A literal field of 3,900 bytes that goes into the table: one byte (0xBE) names it from then on.
const std::string kLongField = std::string("\x40\x03x-a\x7F") +
                               static_cast<char>((3'900 - 127) % 128 + 128) +
                               static_cast<char>((3'900 - 127) / 128) + std::string(3'900, 'a');

// One field of 4,000 bytes in the table, named by one byte 16,000 times a frame.
TEST_F(GrpcAttacks, hpack_bomb) {
  start();
  RawH2 raw(port);
  raw.greet();
  const std::string bomb = list + kLongField + std::string(10'000, '\xBE');
  raw.send(RawH2::frame(NGHTTP2_HEADERS, kEndHeaders, 1, bomb));
  EXPECT_EQ(raw.goaway_code(), kCalm);
  EXPECT_TRUE(raw.at_end());
  EXPECT_EQ(metric(Metric::grpc_shut_out_fields), 1);
  expect_served();
}

// Each list alone is below what ends a connection.
TEST_F(GrpcAttacks, small_hpack_bombs_without_end) {
  start();
  RawH2 raw(port);
  raw.greet();
  raw.send(RawH2::frame(NGHTTP2_HEADERS, kEndHeaders | kEndStream, 1, list + kLongField));
  std::string bombs;
  for (std::uint32_t id = 3; id < 403; id += 2)
    bombs += RawH2::frame(NGHTTP2_HEADERS, kEndHeaders | kEndStream, id,
                          list + std::string(240, '\xBE'));
  raw.send(bombs);
  EXPECT_EQ(raw.goaway_code(), kCalm);
  EXPECT_TRUE(raw.at_end());
  EXPECT_EQ(metric(Metric::grpc_shut_out_fields), 1);
  expect_served();
}

TEST_F(GrpcAttacks, lists_just_over_the_limit_are_no_abuse) {
  settings.field_bytes = 8 << 10;
  start();
  H2Client client(port);
  for (int i = 0; i < 1'000; ++i) {
    client.fields = {{"x-long", std::string(9'000, 'a')}};
    ASSERT_EQ(client.call(kEcho, "a").status(), 8) << i;
  }
  EXPECT_EQ(metric(Metric::grpc_shut_out_fields), 0);
}

TEST_F(GrpcAttacks, half_frames_and_half_prefaces) {
  settings.frame = milliseconds(50);
  start();
  RawH2 preface(port);
  preface.send(RawH2::kPreface.substr(0, 10));
  RawH2 silent(port);
  RawH2 no_settings(port);
  no_settings.send(RawH2::kPreface);
  RawH2 half(port);
  half.greet();
  half.send(RawH2::frame(NGHTTP2_HEADERS, kEndHeaders, 1, list).substr(0, 30));
  RawH2 open_list(port);
  open_list.greet();
  open_list.send(RawH2::frame(NGHTTP2_HEADERS, 0, 1, list));
  for (RawH2* raw : {&preface, &silent, &no_settings, &half, &open_list})
    EXPECT_TRUE(raw->at_end());
  EXPECT_EQ(metric(Metric::timeout_grpc_frame), 5);
  expect_served();
}

TEST_F(GrpcAttacks, messages_without_end) {
  settings.message = milliseconds(50);
  start();
  H2Client client(port);
  const auto id =
      client.begin(kEcho, H2Client::prefixed(std::string(100, 'x')).substr(0, 50), false);
  const auto none = client.begin(kEcho, "", false);
  EXPECT_EQ(client.finish(id).status(), 4);
  EXPECT_EQ(client.finish(none).status(), 4);
  EXPECT_EQ(client.call(kEcho, "a").status(), 0);
}

TEST_F(GrpcAttacks, answers_without_memory_end_their_calls_alone) {
  pool_bytes = std::size_t{1} << 20;
  start();
  {
    H2Client stalled(port, {{std::to_string(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE), "0"}});
    std::vector<std::int32_t> ids;
    for (int i = 0; i < 64; ++i) {
      ids.push_back(stalled.begin("/test.Test/Sized", H2Client::prefixed("60000")));
      stalled.send();
    }
    // Those that have no memory say so, or the peer that keeps all of it is shut out.
    const GrpcReply last = stalled.finish(ids.back());
    EXPECT_TRUE(stalled.ended || last.status() == 8 || last.code != 0);
    expect_served();
  }
  for (int i = 0; i < 3; ++i) expect_served();
}

TEST_F(GrpcAttacks, windows_that_stay_shut) {
  settings.write = milliseconds(100);
  start();
  H2Client stalled(port, {{std::to_string(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE), "0"}});
  std::vector<std::int32_t> ids;
  for (int i = 0; i < 100; ++i) ids.push_back(stalled.begin(kEcho, H2Client::prefixed("answer")));
  for (const auto id : ids) {
    const GrpcReply reply = stalled.finish(id);
    EXPECT_EQ(reply.body, "");
    EXPECT_EQ(reply.code, static_cast<std::uint32_t>(NGHTTP2_CANCEL));
  }
  expect_served();
  EXPECT_TRUE(becomes([&] { return servers[0]->kept_bytes() < 100'000; }));
}

TEST_F(GrpcAttacks, answers_that_nobody_reads) {
  settings.write = milliseconds(200);
  settings.buffer_bytes = 8 << 20;
  start();
  RawH2 raw(port);
  const int small = 4'096;
  ::setsockopt(raw.fd().get(), SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
  const timeval patience{1, 0};
  ::setsockopt(raw.fd().get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
  // As large windows as there are, so that nothing but the socket holds answers back.
  raw.send(std::string(RawH2::kPreface) +
           RawH2::frame(NGHTTP2_SETTINGS, 0, 0, std::string("\0\x4\x7F\xFF\xFF\xFF", 6)) +
           RawH2::frame(NGHTTP2_WINDOW_UPDATE, 0, 0, std::string("\x7F\xFF\0\0", 4)));
  const std::string body = H2Client::prefixed(std::string(15'000, 'x'));
  std::size_t most = 0;
  for (std::uint32_t i = 0; i < 2'000; ++i) {
    if (!raw.send(RawH2::frame(NGHTTP2_HEADERS, kEndHeaders, 2 * i + 1, list) +
                  RawH2::frame(NGHTTP2_DATA, kEndStream, 2 * i + 1, body))) {
      break;
    }
    if (i % 50 == 0) on_worker([&] { most = std::max(most, servers[0]->kept_bytes()); });
  }
  EXPECT_TRUE(becomes([&] { return servers[0]->open_connections() == 0; }));
  EXPECT_LT(most, 8U << 20);
  EXPECT_GE(metric(Metric::timeout_grpc_write), 1);
  expect_served();
}

TEST_F(GrpcAttacks, unfinished_messages_of_many_calls_are_bounded) {
  settings.buffer_bytes = 4 << 20;
  start();
  H2Client good(port);
  good.call(kEcho, "a");
  H2Client bad(port);
  std::size_t most = 0;
  for (int i = 0; i < 100; ++i) {
    bad.begin(kEcho, H2Client::prefixed(std::string(200'000, 'x')).substr(0, 150'000), false);
    bad.send();
    on_worker([&] { most = std::max(most, servers[0]->kept_bytes()); });
    if (i % 10 == 0 && !bad.pump()) break;
  }
  while (bad.pump()) {
  }
  EXPECT_LT(most, 6U << 20);
  EXPECT_GE(metric(Metric::grpc_shut_out_buffers), 1);
  EXPECT_EQ(good.call(kEcho, "still").message(), "still") << "the one that keeps little stays";
}

TEST_F(GrpcAttacks, connections_that_ask_nothing_make_place) {
  settings.connections = &budget;
  start();
  std::vector<std::unique_ptr<RawH2>> idle;
  for (int i = 0; i < 4; ++i) {
    idle.push_back(std::make_unique<RawH2>(port));
    idle.back()->greet();
  }
  ASSERT_TRUE(becomes([&] { return servers[0]->open_connections() == 4; }));
  RawH2 fifth(port);
  EXPECT_TRUE(fifth.at_end()) << "the others are new, too";
  ASSERT_TRUE(becomes([&] { return metrics->sum(Metric::grpc_connections_refused) == 1; }));
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(1'100);
  ASSERT_TRUE(becomes([&] { return std::chrono::steady_clock::now() > until; }));
  expect_served();
}

TEST_F(GrpcAttacks, crowds_of_connections_do_not_push_out_who_is_served) {
  settings.buffer_bytes = std::size_t{1} << 20;
  start();
  H2Client good(port);
  EXPECT_EQ(good.call(kEcho, "first").message(), "first");
  std::vector<std::unique_ptr<RawH2>> crowd;
  for (int i = 0; i < 300; ++i) {
    crowd.push_back(std::make_unique<RawH2>(port));
    crowd.back()->greet();
    if (i % 20 != 0) continue;
    EXPECT_EQ(good.call(kEcho, "still").message(), "still") << i;
  }
  ASSERT_TRUE(becomes([&] { return metrics->sum(Metric::grpc_connections_refused) > 0; }));
  EXPECT_EQ(metric(Metric::grpc_shut_out_buffers), 0);
  EXPECT_EQ(good.call(kEcho, "still").message(), "still");
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(1'100);
  ASSERT_TRUE(becomes([&] { return std::chrono::steady_clock::now() > until; }));
  expect_served();  // the crowd is idle for long enough to make place
}

TEST_F(GrpcAttacks, crowds_of_calls_that_do_not_end_make_place) {
  settings.buffer_bytes = std::size_t{1} << 20;
  start();
  std::vector<std::unique_ptr<RawH2>> crowd;
  for (int i = 0; i < 150; ++i) {
    crowd.push_back(std::make_unique<RawH2>(port));
    crowd.back()->greet();
    crowd.back()->send(RawH2::frame(NGHTTP2_HEADERS, kEndHeaders, 1, list));
  }
  ASSERT_TRUE(becomes([&] { return metrics->sum(Metric::grpc_connections_refused) > 0; }));
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(1'100);
  ASSERT_TRUE(becomes([&] { return std::chrono::steady_clock::now() > until; }));
  expect_served();
}

TEST_F(GrpcAttacks, crowds_with_a_little_each_go_before_one_that_is_served_a_lot) {
  settings.buffer_bytes = std::size_t{2} << 20;
  start();
  H2Client good(port);
  std::vector<std::unique_ptr<RawH2>> crowd;
  for (int i = 0; i < 60; ++i) {
    crowd.push_back(std::make_unique<RawH2>(port));
    crowd.back()->greet();
    // A message that does not end; 20 KiB of it are here.
    crowd.back()->send(RawH2::frame(NGHTTP2_HEADERS, kEndHeaders, 1, list) +
                       RawH2::frame(NGHTTP2_DATA, 0, 1, std::string("\0\0\1\0\0", 5)) +
                       RawH2::frame(NGHTTP2_DATA, 0, 1, std::string(16'000, 'x')) +
                       RawH2::frame(NGHTTP2_DATA, 0, 1, std::string(4'000, 'x')));
    EXPECT_EQ(good.call(kEcho, std::string(200'000, 'y')).message().size(), 200'000U) << i;
  }
  EXPECT_GE(metric(Metric::grpc_shut_out_buffers) + metric(Metric::grpc_connections_refused), 1);
}

TEST_F(GrpcAttacks, what_is_no_http_2) {
  start();
  const std::string cases[] = {
      "GET / HTTP/1.1\r\nHost: a\r\n\r\n" + std::string(100, 'x'),
      std::string(2'000, '\xFF'),
      std::string(RawH2::kPreface) + RawH2::frame(NGHTTP2_DATA, 0, 0, "x"),
      std::string(RawH2::kPreface) + RawH2::frame(NGHTTP2_SETTINGS, 0, 0, "xyz"),
      std::string(RawH2::kPreface) + RawH2::frame(NGHTTP2_SETTINGS, 0, 0) +
          RawH2::frame(NGHTTP2_HEADERS, kEndHeaders, 2, list),
      std::string(RawH2::kPreface) + RawH2::frame(NGHTTP2_SETTINGS, 0, 0) +
          RawH2::frame(NGHTTP2_HEADERS, kEndHeaders, 1, "\xFF\xFF\xFF\xFF\xFF"),
      std::string(RawH2::kPreface) + RawH2::frame(NGHTTP2_SETTINGS, 0, 0) +
          RawH2::frame(NGHTTP2_WINDOW_UPDATE, 0, 0, std::string(4, '\0')),
      std::string(RawH2::kPreface) + RawH2::frame(NGHTTP2_SETTINGS, 0, 0) +
          RawH2::frame(NGHTTP2_PING, 0, 0, "1234")};
  for (const std::string& bytes : cases) {
    RawH2 raw(port);
    raw.send(bytes);
    EXPECT_TRUE(raw.at_end());
    expect_served();
  }
}

TEST_F(GrpcAttacks, more_calls_at_once_than_are_announced) {
  settings.streams = 10;
  start();
  RawH2 raw(port);
  raw.greet();
  raw.send(RawH2::frame(NGHTTP2_SETTINGS, NGHTTP2_FLAG_ACK, 0));
  for (std::uint32_t i = 0; i < 11; ++i) {
    raw.send(RawH2::frame(NGHTTP2_HEADERS, kEndHeaders, 2 * i + 1, list));
  }
  EXPECT_TRUE(raw.at_end());
  expect_served();
}

}  // namespace
}  // namespace weir::test::grpc_attacks_test
