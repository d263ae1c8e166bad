// Violations of RFC 9113, frame by frame and field by field: a call that breaks a rule of calls
// fails alone, a peer that breaks a rule of connections gets the reason and is cut, and others are
// served.
#include <string>
#include <vector>

#include "tests/net/grpc_fixture.h"

namespace weir::test::grpc_malformed_test {
namespace {

using Fields = H2Client::Fields;
constexpr const char* kEcho = "/test.Test/Echo";
constexpr std::uint8_t kEndHeaders = NGHTTP2_FLAG_END_HEADERS;
constexpr std::uint8_t kEndStream = NGHTTP2_FLAG_END_STREAM;

std::string headers(std::uint32_t id, const Fields& fields, std::uint8_t flags = kEndHeaders) {
  return RawH2::frame(NGHTTP2_HEADERS, flags, id, RawH2::literal(fields));
}
std::string data(std::uint32_t id, std::string_view bytes, std::uint8_t flags = kEndStream) {
  return RawH2::frame(NGHTTP2_DATA, flags, id, bytes);
}
std::string call(std::uint32_t id) {
  return headers(id, RawH2::call_fields(kEcho)) + data(id, H2Client::prefixed("still"));
}
/// Four bytes, as numbers are encoded in frames.
std::string number(std::uint32_t n) {
  std::string out;
  for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(n >> shift);
  return out;
}
std::string setting(std::uint16_t id, std::uint32_t value) {
  return std::string{static_cast<char>(id >> 8), static_cast<char>(id)} + number(value);
}
/// A good call's fields, with these behind them.
Fields with(const Fields& more) {
  Fields out = RawH2::call_fields(kEcho);
  out.insert(out.end(), more.begin(), more.end());
  return out;
}
/// A good call's fields without this one.
Fields without(std::string_view name) {
  Fields out = RawH2::call_fields(kEcho);
  std::erase_if(out, [&](const auto& field) { return field.first == name; });
  return out;
}

class GrpcMalformed : public GrpcFixture {
 protected:
  struct Wrong {
    const char* name;
    std::string bytes;
    int code = NGHTTP2_PROTOCOL_ERROR;
  };
  /// The call on stream 1 is reset and not answered; a second one on its connection is served.
  void expect_reset(const Wrong& wrong) {
    RawH2 raw(port);
    raw.greet();
    raw.send(wrong.bytes + call(7));
    bool reset = false, answered = false;
    for (;;) {
      const RawH2::Frame frame = raw.read();
      ASSERT_NE(frame.type, 0xFF) << wrong.name;
      ASSERT_NE(frame.type, NGHTTP2_GOAWAY) << wrong.name;
      if (frame.stream == 1 && frame.type == NGHTTP2_RST_STREAM) {
        reset = true;
        EXPECT_EQ(frame.payload, number(static_cast<std::uint32_t>(wrong.code))) << wrong.name;
      }
      answered = answered || (frame.stream == 1 && frame.type == NGHTTP2_DATA);
      if (frame.stream == 7 && frame.type == NGHTTP2_DATA) {
        EXPECT_EQ(frame.payload, H2Client::prefixed("still")) << wrong.name;
        break;
      }
    }
    EXPECT_TRUE(reset) << wrong.name;
    EXPECT_FALSE(answered) << wrong.name;
  }
  /// The connection ends, with this code in its GOAWAY.
  void expect_goaway(const Wrong& wrong) {
    RawH2 raw(port);
    raw.greet();
    raw.send(wrong.bytes);
    EXPECT_EQ(raw.goaway_code(), wrong.code) << wrong.name;
    EXPECT_TRUE(raw.at_end()) << wrong.name;
    expect_served();
  }
};

TEST_F(GrpcMalformed, lists_of_fields_that_are_no_request_fail_their_call_alone) {
  start();
  const std::string message = H2Client::prefixed("a");
  const auto whole = [&](const Fields& fields) { return headers(1, fields) + data(1, message); };
  Fields swapped = RawH2::call_fields(kEcho);
  std::swap(swapped[2], swapped[4]);  // :path behind te
  for (const Wrong& wrong : std::vector<Wrong>{
           {"a name in capitals", whole(with({{"X-One", "1"}}))},
           {"one capital", whole(with({{"x-onE", "1"}}))},
           {"connection", whole(with({{"connection", "close"}}))},
           {"keep-alive", whole(with({{"keep-alive", "timeout=5"}}))},
           {"proxy-connection", whole(with({{"proxy-connection", "close"}}))},
           {"transfer-encoding", whole(with({{"transfer-encoding", "chunked"}}))},
           {"upgrade", whole(with({{"upgrade", "h2c"}}))},
           {"te that is not trailers", whole(with({{"te", "gzip"}}))},
           {"a pseudo field behind the others", whole(swapped)},
           {"a pseudo field that nobody knows", whole(with({{":one", "1"}}))},
           {":status in a request", whole(with({{":status", "200"}}))},
           {":protocol, which was not offered", whole(with({{":protocol", "websocket"}}))},
           {"no :path", whole(without(":path"))},
           {"no :method", whole(without(":method"))},
           {"no :scheme", whole(without(":scheme"))},
           {"two :path", whole([] {
              Fields out = RawH2::call_fields(kEcho);
              out.insert(out.begin(), {":path", "/other"});
              return out;
            }())},
           {"two :method", whole([] {
              Fields out = RawH2::call_fields(kEcho);
              out.insert(out.begin(), {":method", "POST"});
              return out;
            }())},
           {"an empty :path", whole([] {
              Fields out = RawH2::call_fields(kEcho);
              out[2].second.clear();
              return out;
            }())},
           {"two content-length", whole(with({{"content-length", "6"}, {"content-length", "6"}}))},
           {"a content-length that is not a number", whole(with({{"content-length", "6x"}}))},
           {"less than content-length", whole(with({{"content-length", "7"}}))},
           {"more than content-length", whole(with({{"content-length", "5"}}))},
           {"nothing for a content-length",
            headers(1, with({{"content-length", "6"}}), kEndHeaders | kEndStream)},
           {"trailers with a pseudo field",
            headers(1, RawH2::call_fields(kEcho)) + data(1, message, 0) +
                headers(1, {{":path", kEcho}}, kEndHeaders | kEndStream)},
           {"trailers that do not end the call",
            headers(1, RawH2::call_fields(kEcho)) + data(1, message, 0) + headers(1, {{"x", "1"}})},
       }) {
    expect_reset(wrong);
  }
  EXPECT_EQ(metric(telemetry::Metric::grpc_shut_out_flood), 0);
}

TEST_F(GrpcMalformed, trailers_of_a_request_are_taken_and_say_nothing) {
  start();
  RawH2 raw(port);
  raw.greet();
  raw.send(headers(1, RawH2::call_fields("/test.Test/Metadata")) +
           data(1, H2Client::prefixed("x-one"), 0) +
           headers(1, {{"x-one", "1"}}, kEndHeaders | kEndStream));
  EXPECT_EQ(raw.read_to(NGHTTP2_DATA).payload, H2Client::prefixed("none"));
}

TEST_F(GrpcMalformed, windows_that_grow_over_their_bound) {
  start();
  expect_reset({"of a stream",
                headers(1, RawH2::call_fields(kEcho)) +
                    RawH2::frame(NGHTTP2_WINDOW_UPDATE, 0, 1, number(0x7FFF'FFFF)),
                NGHTTP2_FLOW_CONTROL_ERROR});
  expect_goaway({"of the connection",
                 RawH2::frame(NGHTTP2_WINDOW_UPDATE, 0, 0, number(0x7FFF'FFFF)),
                 NGHTTP2_FLOW_CONTROL_ERROR});
  // RFC 9113 would end the connection; libnghttp2 ends the streams whose windows grow over it.
  expect_reset({"of a stream that is open, by a setting",
                headers(1, RawH2::call_fields(kEcho)) +
                    RawH2::frame(NGHTTP2_WINDOW_UPDATE, 0, 1, number(0x7FFF'0000)) +
                    RawH2::frame(NGHTTP2_SETTINGS, 0, 0,
                                 setting(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 0x7FFF'FFFF)),
                NGHTTP2_FLOW_CONTROL_ERROR});
}

TEST_F(GrpcMalformed, frames_that_break_a_connection_are_named_and_end_it) {
  start();
  const std::string list = RawH2::literal(RawH2::call_fields(kEcho));
  const std::string open = headers(1, RawH2::call_fields(kEcho));
  const std::string ack = RawH2::frame(NGHTTP2_SETTINGS, NGHTTP2_FLAG_ACK, 0);
  constexpr int kSize = NGHTTP2_FRAME_SIZE_ERROR;
  for (const Wrong& wrong : std::vector<Wrong>{
           {"DATA of a stream that nobody opened", data(1, "x")},
           {"RST_STREAM of a stream that nobody opened",
            RawH2::frame(NGHTTP2_RST_STREAM, 0, 1, number(8))},
           {"WINDOW_UPDATE of a stream that nobody opened",
            RawH2::frame(NGHTTP2_WINDOW_UPDATE, 0, 1, number(1))},
           {"DATA of the connection", data(0, "x")},
           {"HEADERS of the connection", headers(0, RawH2::call_fields(kEcho))},
           {"PUSH_PROMISE of a client",
            open + RawH2::frame(NGHTTP2_PUSH_PROMISE, kEndHeaders, 1, number(2) + list)},
           {"an even stream", headers(2, RawH2::call_fields(kEcho))},
           {"CONTINUATION of nothing", RawH2::frame(NGHTTP2_CONTINUATION, kEndHeaders, 1, list)},
           {"another frame inside a list of fields",
            RawH2::frame(NGHTTP2_HEADERS, 0, 1, list.substr(0, 20)) +
                RawH2::frame(NGHTTP2_PING, 0, 0, "12345678")},
           {"another list inside a list of fields",
            RawH2::frame(NGHTTP2_HEADERS, 0, 1, list.substr(0, 20)) +
                RawH2::frame(NGHTTP2_CONTINUATION, kEndHeaders, 3, list.substr(20))},
           {"more padding than there is frame",
            RawH2::frame(NGHTTP2_DATA, NGHTTP2_FLAG_PADDED, 1, "\x7Fxx")},
           {"a stream that waits for itself",
            RawH2::frame(NGHTTP2_HEADERS, kEndHeaders | NGHTTP2_FLAG_PRIORITY, 1,
                         number(1) + '\0' + list)},
           {"an acknowledgement of nothing", ack + ack},
           {"SETTINGS of a stream", RawH2::frame(NGHTTP2_SETTINGS, 0, 1)},
           {"PING of a stream", RawH2::frame(NGHTTP2_PING, 0, 1, "12345678")},
           {"GOAWAY of a stream", RawH2::frame(NGHTTP2_GOAWAY, 0, 1, number(0) + number(0))},
           {"GOAWAY that is cut short", RawH2::frame(NGHTTP2_GOAWAY, 0, 0, number(0)), kSize},
           {"RST_STREAM that is cut short", open + RawH2::frame(NGHTTP2_RST_STREAM, 0, 1, "x"),
            kSize},
           {"PRIORITY of the connection", RawH2::frame(NGHTTP2_PRIORITY, 0, 0, number(1) + '\x10')},
           {"PRIORITY that is cut short", RawH2::frame(NGHTTP2_PRIORITY, 0, 1, "x"), kSize},
           {"a frame over the largest", open + data(1, std::string(16'385, 'x'), 0), kSize},
           {"a list over the largest frame",
            RawH2::frame(NGHTTP2_HEADERS, kEndHeaders, 1, std::string(16'385, '\0')), kSize},
           {"an acknowledgement that says something",
            RawH2::frame(NGHTTP2_SETTINGS, NGHTTP2_FLAG_ACK, 0, setting(3, 1)), kSize},
           {"a window that is too large by a setting",
            RawH2::frame(NGHTTP2_SETTINGS, 0, 0,
                         setting(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 0x8000'0000)),
            NGHTTP2_FLOW_CONTROL_ERROR},
           {"frames that may not be",
            RawH2::frame(NGHTTP2_SETTINGS, 0, 0, setting(NGHTTP2_SETTINGS_MAX_FRAME_SIZE, 0))},
           {"push that is neither on nor off",
            RawH2::frame(NGHTTP2_SETTINGS, 0, 0, setting(NGHTTP2_SETTINGS_ENABLE_PUSH, 2))},
           {"a table of HPACK over what was offered",
            RawH2::frame(NGHTTP2_HEADERS, kEndHeaders, 1, "\x3F\xE2\x1F" + list),
            NGHTTP2_COMPRESSION_ERROR},
           {"a field of HPACK that is not there",
            RawH2::frame(NGHTTP2_HEADERS, kEndHeaders, 1, list + '\xBE'),
            NGHTTP2_COMPRESSION_ERROR},
       }) {
    expect_goaway(wrong);
  }
}

TEST_F(GrpcMalformed, numbers_of_streams_that_the_client_passed_over_end_the_connection) {
  start();
  const std::string open = headers(5, RawH2::call_fields(kEcho));
  for (const Wrong& wrong : std::vector<Wrong>{
           {"the number below", open + call(3)},
           {"the first number", open + call(1)},
           {"a number between two streams", call(5) + call(11) + call(7)},
           {"a number after the last", call(0x7FFF'FFFF) + call(1)},
       }) {
    expect_goaway(wrong);
  }
  EXPECT_EQ(metric(telemetry::Metric::grpc_malformed), 4);
}

// The connection keeps the newest ranges of such numbers, and ignores calls of older ones.
TEST_F(GrpcMalformed, numbers_that_a_client_passes_over_take_no_memory) {
  start();
  RawH2 raw(port);
  raw.greet();
  std::string calls;
  std::uint32_t id = 5;
  for (int i = 0; i < 1'000; ++i, id += 4) calls += call(id);
  raw.send(calls + call(3) + call(id));
  for (;;) {
    const RawH2::Frame frame = raw.read();
    ASSERT_NE(frame.type, 0xFF);
    ASSERT_NE(frame.type, NGHTTP2_GOAWAY);
    EXPECT_NE(frame.stream, 3U);
    if (frame.type == NGHTTP2_DATA && frame.stream == id) break;
  }
  raw.send(call(id - 2));
  EXPECT_EQ(raw.goaway_code(), NGHTTP2_PROTOCOL_ERROR);
}

// The client has sent them before it has read the answer, or the RST_STREAM behind it.
TEST_F(GrpcMalformed, trailers_of_a_stream_that_is_closed_are_ignored) {
  start();
  RawH2 raw(port);
  raw.greet();
  const std::string trailers = headers(1, {{"x-one", "1"}}, kEndHeaders | kEndStream);
  raw.send(headers(1, RawH2::call_fields("/test.Test/Nobody")));
  EXPECT_EQ(raw.read_to(NGHTTP2_RST_STREAM).stream, 1U);
  raw.send(trailers + call(3));
  EXPECT_EQ(raw.read_to(NGHTTP2_DATA).payload, H2Client::prefixed("still"));
  raw.send(trailers + call(5));
  EXPECT_EQ(raw.read_to(NGHTTP2_DATA).stream, 5U);
}

TEST_F(GrpcMalformed, streams_whose_numbers_were_used_are_not_begun_again) {
  start();
  RawH2 raw(port);
  raw.greet();
  raw.send(call(1) + call(3) + call(5));
  while (raw.read_to(NGHTTP2_DATA).stream != 5) {
  }
  raw.send(call(3) + call(5) + call(9));
  for (;;) {
    const RawH2::Frame frame = raw.read();
    if (frame.type == NGHTTP2_GOAWAY || frame.type == 0xFF) break;
    EXPECT_FALSE(frame.type == NGHTTP2_DATA && frame.stream != 9);
    if (frame.type == NGHTTP2_DATA) break;
  }
  expect_served();
}

TEST_F(GrpcMalformed, a_peer_that_says_goodbye_without_end_is_ended) {
  start();
  RawH2 raw(port);
  raw.greet();
  std::string all =
      headers(1, RawH2::call_fields("/test.Test/Wait")) + data(1, H2Client::prefixed(""));
  for (int i = 0; i < 20'000; ++i) all += RawH2::frame(NGHTTP2_GOAWAY, 0, 0, number(0) + number(0));
  raw.send(all);
  EXPECT_EQ(raw.goaway_code(), NGHTTP2_ENHANCE_YOUR_CALM);
  EXPECT_TRUE(raw.at_end());
  expect_served();
}

// Each frame names another unopened stream, below the one before it.
TEST_F(GrpcMalformed, a_tree_of_priorities_takes_no_memory) {
  start();
  RawH2 deep(port);
  deep.greet();
  std::string tree;
  for (std::uint32_t i = 0; i < 900; ++i)
    tree += RawH2::frame(NGHTTP2_PRIORITY, 0, 2 * i + 3, number(2 * i + 1) + '\xFF');
  deep.send(tree + call(2'001));
  EXPECT_EQ(deep.read_to(NGHTTP2_DATA).payload, H2Client::prefixed("still"));
  on_worker([&] { EXPECT_LT(servers[0]->kept_bytes(), 256U << 10); });
  RawH2 wide(port);
  wide.greet();
  tree.clear();
  for (std::uint32_t i = 0; i < 20'000; ++i)
    tree += RawH2::frame(NGHTTP2_PRIORITY, 0, 2 * i + 3, number(1) + '\xFF');
  wide.send(tree);
  EXPECT_EQ(wide.goaway_code(), NGHTTP2_ENHANCE_YOUR_CALM);
  EXPECT_TRUE(wide.at_end());
  expect_served();
}

// A method that gRPC has no use for, and that HTTP/2 allows without :scheme and :path.
TEST_F(GrpcMalformed, connect_is_refused_as_other_methods_are) {
  start();
  RawH2 raw(port);
  raw.greet();
  raw.send(headers(1, {{":method", "CONNECT"}, {":authority", "shop:443"}}) + call(3));
  bool answered = false;
  for (;;) {
    const RawH2::Frame frame = raw.read();
    ASSERT_NE(frame.type, 0xFF);
    answered = answered || (frame.type == NGHTTP2_HEADERS && frame.stream == 1);
    if (frame.type == NGHTTP2_DATA) break;
  }
  EXPECT_TRUE(answered);
}

}  // namespace
}  // namespace weir::test::grpc_malformed_test
