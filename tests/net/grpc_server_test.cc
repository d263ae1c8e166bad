#include <map>
#include <set>
#include <string>

#include "net/grpc/server.h"
#include "net/http/content_coding.h"
#include "tests/net/grpc_fixture.h"
#include "tests/support/allocations.h"
#include "tests/support/codings.h"

namespace weir::test::grpc_server_test {
namespace {

using telemetry::Metric;
constexpr const char* kEcho = "/test.Test/Echo";

class GrpcServer : public GrpcFixture {};

TEST_F(GrpcServer, answers_a_call) {
  start();
  H2Client client(port);
  const GrpcReply reply = client.call(kEcho, "hello");
  EXPECT_EQ(reply.fields.at(":status"), "200");
  EXPECT_EQ(reply.fields.at("content-type"), "application/grpc");
  EXPECT_EQ(reply.body, H2Client::prefixed("hello"));
  EXPECT_EQ(reply.status(), 0);
  EXPECT_EQ(reply.code, 0U);
  EXPECT_EQ(metric(Metric::grpc_ok), 1);
}

TEST_F(GrpcServer, answers_on_a_unix_socket) {
  path = ::testing::TempDir() + "weir-grpc-" + std::to_string(::getpid()) + ".sock";
  start();
  H2Client client(path);
  EXPECT_EQ(client.call(kEcho, "hello").message(), "hello");
}

TEST_F(GrpcServer, answers_many_calls_at_once_and_large_ones) {
  start(2);
  H2Client client(port);
  std::vector<std::int32_t> ids;
  const std::string large(3'000'000, 'x');
  ids.push_back(client.begin(kEcho, H2Client::prefixed(large)));
  for (int i = 0; i < 200; ++i) {
    ids.push_back(client.begin(kEcho, H2Client::prefixed(std::to_string(i))));
  }
  for (std::size_t i = 1; i < ids.size(); ++i) {
    EXPECT_EQ(client.finish(ids[i]).message(), std::to_string(i - 1));
  }
  EXPECT_EQ(client.finish(ids[0]).message(), large);
}

TEST_F(GrpcServer, takes_an_empty_message) {
  start();
  H2Client client(port);
  const GrpcReply reply = client.call(kEcho, "");
  EXPECT_EQ(reply.status(), 0);
  EXPECT_EQ(reply.body, H2Client::prefixed(""));
}

TEST_F(GrpcServer, takes_a_message_in_pieces_of_one_byte_and_padded_frames) {
  start();
  RawH2 raw(port);
  raw.greet();
  const std::string list = RawH2::literal(RawH2::call_fields(kEcho));
  raw.send(RawH2::frame(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS | NGHTTP2_FLAG_PADDED, 1,
                        std::string(1, '\3') + list + std::string(3, '\0')));
  const std::string body = H2Client::prefixed("in pieces");
  for (std::size_t i = 0; i < body.size(); ++i) {
    const bool last = i + 1 == body.size();
    raw.send(RawH2::frame(NGHTTP2_DATA, last ? NGHTTP2_FLAG_END_STREAM : 0, 1, body.substr(i, 1)));
  }
  EXPECT_EQ(raw.read_to(NGHTTP2_DATA).payload, body);
}

// Everything that is answered without a method's doing.
struct Odd {
  const char* name;
  const char* path;
  std::string body;
  H2Client::Fields fields;
  int status;  // of gRPC; -1: none
  const char* http;
};

TEST_F(GrpcServer, answers_what_is_no_good_call_with_a_status) {
  settings.message_bytes = 1'000;
  start();
  std::string too_large = H2Client::prefixed("x");
  too_large[2] = '\1';  // says 65,537
  const std::vector<Odd> cases = {
      {"unknown method", "/test.Test/None", H2Client::prefixed("x"), {}, 12, "200"},
      {"unknown service", "/none.None/Echo", H2Client::prefixed("x"), {}, 12, "200"},
      {"no message", kEcho, "", {}, 13, "200"},
      {"prefix only", kEcho, std::string(3, '\0'), {}, 13, "200"},
      {"cut short", kEcho, H2Client::prefixed("hello").substr(0, 8), {}, 13, "200"},
      {"two messages", kEcho, H2Client::prefixed("a") + H2Client::prefixed("b"), {}, 13, "200"},
      {"no valid flag", kEcho, H2Client::prefixed("a", 2), {}, 13, "200"},
      {"compressed in nothing", kEcho, H2Client::prefixed("a", 1), {}, 12, "200"},
      {"compressed in what is unknown",
       kEcho,
       H2Client::prefixed("a", 1),
       {{"grpc-encoding", "snappy"}},
       12,
       "200"},
      {"no gzip", kEcho, H2Client::prefixed("a", 1), {{"grpc-encoding", "gzip"}}, 13, "200"},
      {"too large", kEcho, too_large, {}, 8, "200"},
      {"no timeout", kEcho, H2Client::prefixed("a"), {{"grpc-timeout", "soon"}}, 13, "200"},
      {"timeout over", kEcho, H2Client::prefixed("a"), {{"grpc-timeout", "0m"}}, 4, "200"},
      {"another type", kEcho, "{}", {{"content-type", "application/json"}}, -1, "415"},
      {"no type", kEcho, "{}", {{"content-type", ""}}, -1, "415"},
      {"a type that only begins so",
       kEcho,
       "{}",
       {{"content-type", "application/grpcx"}},
       -1,
       "415"},
      {"GET", kEcho, "", {{":method", "GET"}}, -1, "405"},
  };
  H2Client client(port);
  for (const Odd& odd : cases) {
    client.fields = odd.fields;
    const GrpcReply reply = client.finish(client.begin(odd.path, odd.body));
    EXPECT_EQ(reply.status(), odd.status) << odd.name;
    EXPECT_EQ(reply.fields.at(":status"), odd.http) << odd.name;
    EXPECT_EQ(reply.code, 0U) << odd.name;
    EXPECT_EQ(reply.body, "") << odd.name;
  }
  EXPECT_EQ(client.call(kEcho, "still").message(), "still") << "on the same connection";
  EXPECT_TRUE(client.goaways.empty());
}

TEST_F(GrpcServer, knows_what_is_too_large_from_the_prefix_alone) {
  settings.message_bytes = 1'000;
  start();
  H2Client client(port);
  std::string prefix = H2Client::prefixed(std::string(1'001, 'x')).substr(0, 5);
  EXPECT_EQ(client.finish(client.begin(kEcho, prefix, false)).status(), 8);
  EXPECT_EQ(client.call(kEcho, std::string(1'000, 'x')).status(), 0);
}

TEST_F(GrpcServer, takes_other_names_of_its_type) {
  start();
  H2Client client(port);
  for (const char* type : {"application/grpc+proto", "application/grpc;charset=utf-8",
                           "Application/GRPC", "APPLICATION/gRPC+proto"}) {
    client.fields = {{"content-type", type}};
    EXPECT_EQ(client.call(kEcho, "a").status(), 0) << type;
  }
}

TEST_F(GrpcServer, streams_answers_of_a_call_that_stays_open) {
  start();
  H2Client client(port);
  const auto id = client.begin("/test.Test/Stream", H2Client::prefixed("a"));
  const auto other = client.begin("/test.Test/Stream", H2Client::prefixed(""));
  const auto reads = [&](const std::string& body) {
    while (client.reply(id).body.size() < body.size() && client.pump()) {
    }
    EXPECT_EQ(client.reply(id).body, body);
  };
  reads(H2Client::prefixed("a"));
  on_worker([&] {
    stream.open[0]->call->send("b");
    stream.open[0]->call->send("c");
  });
  reads(H2Client::prefixed("a") + H2Client::prefixed("b") + H2Client::prefixed("c"));
  EXPECT_EQ(client.reply(id).fields.at("content-type"), "application/grpc");
  EXPECT_FALSE(client.reply(id).has_status());
  EXPECT_EQ(client.call(kEcho, "x").message(), "x") << "beside it";
  on_worker([&] { stream.open[0]->call->fail(net::grpc::Status::aborted, "enough"); });
  EXPECT_EQ(client.finish(id).status(), 10);
  nghttp2_submit_rst_stream(client.session(), NGHTTP2_FLAG_NONE, other, NGHTTP2_CANCEL);
  client.send();
  EXPECT_TRUE(becomes([&] { return stream.cancelled == 1; }));
}

TEST_F(GrpcServer, a_stream_of_answers_has_the_deadline_of_its_call) {
  start();
  H2Client client(port);
  client.fields = {{"grpc-timeout", "50m"}};
  const GrpcReply reply = client.call("/test.Test/Stream", "a");
  EXPECT_EQ(reply.message(), "a");
  EXPECT_EQ(reply.status(), 4);
}

TEST_F(GrpcServer, streams_of_answers_do_not_hold_up_a_drain) {
  settings.goaway = milliseconds(50);
  settings.write = milliseconds(100);
  start();
  H2Client client(port);
  H2Client stalled(port, {{std::to_string(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE), "0"}});
  const auto id = client.begin("/test.Test/Stream", H2Client::prefixed("a"));
  const auto held = stalled.begin("/test.Test/Stream", H2Client::prefixed("a"));
  client.send();
  stalled.send();
  ASSERT_TRUE(becomes([&] { return stream.open.size() == 2; }));
  on_worker([&] { servers[0]->stop_accepting(); });
  EXPECT_EQ(client.finish(id).status(), 14);
  EXPECT_EQ(client.reply(id).body, H2Client::prefixed("a"));
  EXPECT_EQ(stalled.finish(held).code, static_cast<std::uint32_t>(NGHTTP2_CANCEL));
  EXPECT_TRUE(becomes([&] { return servers[0]->open_connections() == 0; }));
  EXPECT_EQ(stream.cancelled, 2);
}

TEST_F(GrpcServer, escapes_what_a_failure_says) {
  start();
  H2Client client(port);
  const GrpcReply reply = client.call("/test.Test/Fail", "100% \xC3\xA4\n");
  EXPECT_EQ(reply.status(), 9);
  EXPECT_EQ(reply.fields.at("grpc-message"), "100%25 %C3%A4%0A");
  EXPECT_EQ(reply.fields.at("content-type"), "application/grpc");
  EXPECT_EQ(reply.body, "");
  const GrpcReply longer = client.call("/test.Test/Fail", std::string(5'000, 'x'));
  EXPECT_EQ(longer.fields.at("grpc-message").size(), 1'024U);
}

TEST_F(GrpcServer, gives_metadata_to_methods) {
  start();
  H2Client client(port);
  client.fields = {{"x-one", "1"}, {"x-two", std::string(5'000, '2')}, {"x-empty-not", "-"}};
  EXPECT_EQ(client.call("/test.Test/Metadata", "x-two").message(), std::string(5'000, '2'));
  client.fields = {{"x-one", "1"}};
  EXPECT_EQ(client.call("/test.Test/Metadata", "x-one").message(), "1");
  EXPECT_EQ(client.call("/test.Test/Metadata", "x-one").message(), "none");
}

TEST_F(GrpcServer, refuses_too_much_metadata_and_goes_on) {
  settings.field_bytes = 16 << 10;
  start();
  H2Client client(port);
  client.fields = {{"x-large", std::string(17'000, 'x')}};
  EXPECT_EQ(client.call(kEcho, "a").status(), 8);
  client.fields = {{"x-large", std::string(15'000, 'x')}};
  EXPECT_EQ(client.call(kEcho, "a").status(), 0);
}

/// One list of fields in pieces of 16 KiB, and the message of its call.
std::string call_in_pieces(std::int32_t id, const std::string& list) {
  constexpr std::size_t kPiece = 16 << 10;
  std::string out;
  for (std::size_t at = 0; at < list.size(); at += kPiece) {
    const bool last = at + kPiece >= list.size();
    out += RawH2::frame(at == 0 ? NGHTTP2_HEADERS : NGHTTP2_CONTINUATION,
                        last ? NGHTTP2_FLAG_END_HEADERS : 0, id, list.substr(at, kPiece));
  }
  return out + RawH2::frame(NGHTTP2_DATA, NGHTTP2_FLAG_END_STREAM, id, H2Client::prefixed("a"));
}

/// The answers to a raw peer on each stream, until the streams that it names have ended.
struct RawAnswers {
  std::map<std::uint32_t, std::string> data;
  std::map<std::uint32_t, int> heads;
  bool read_until_ended(RawH2& raw, std::set<std::uint32_t> streams) {
    while (!streams.empty()) {
      const RawH2::Frame frame = raw.read();
      if (frame.type == 0xFF || frame.type == NGHTTP2_GOAWAY) return false;
      if (frame.type == NGHTTP2_HEADERS) ++heads[frame.stream];
      if (frame.type == NGHTTP2_DATA) data[frame.stream] += frame.payload;
      const bool may_end = frame.type == NGHTTP2_HEADERS || frame.type == NGHTTP2_DATA;
      if (may_end && (frame.flags & NGHTTP2_FLAG_END_STREAM) != 0) streams.erase(frame.stream);
    }
    return true;
  }
};

TEST_F(GrpcServer, answers_a_call_with_far_too_much_metadata_and_the_others) {
  start();
  RawH2 raw(port);
  raw.greet();
  const auto whole_call = [](std::uint32_t id, const std::string& list, const char* message) {
    return RawH2::frame(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS, id, list) +
           RawH2::frame(NGHTTP2_DATA, NGHTTP2_FLAG_END_STREAM, id, H2Client::prefixed(message));
  };
  // 940 KiB in 59 pieces. The next call uses the list's entries in the table of HPACK.
  const std::string head = RawH2::literal(RawH2::call_fields("/test.Test/Metadata"));
  std::string large = head;
  for (int i = 0; i < 120; ++i) large += RawH2::literal({{"x-large", std::string(8'000, 'x')}});
  large += std::string("\x40\x05x-one\x03") + "two";  // literal, indexed, with a new name
  raw.send(whole_call(1, RawH2::literal(RawH2::call_fields("/test.Test/Wait")), "w"));
  raw.send(call_in_pieces(3, large));
  raw.send(whole_call(5, head + '\xBE', "x-one"));  // the newest entry of the table
  RawAnswers answers;
  ASSERT_TRUE(answers.read_until_ended(raw, {3, 5}));
  EXPECT_EQ(answers.heads[3], 1) << "a status and no message";
  EXPECT_EQ(answers.data[5], H2Client::prefixed("two"));
  on_worker([&] { EXPECT_EQ(wait.complete("done"), 1) << "the call before is under way still"; });
  ASSERT_TRUE(answers.read_until_ended(raw, {1}));
  EXPECT_EQ(answers.data[1], H2Client::prefixed("done"));
  EXPECT_EQ(metric(Metric::grpc_resource_exhausted), 1);
  EXPECT_EQ(metric(Metric::grpc_shut_out_fields) + metric(Metric::grpc_shut_out_flood), 0);
}

/// A number as HPACK has the length of a text.
std::string text_length(std::size_t n) {
  std::string out = "\x7F";
  for (n -= 127; n >= 128; n >>= 7) out += static_cast<char>(n % 128 + 128);
  return out + static_cast<char>(n);
}

TEST_F(GrpcServer, answers_a_call_with_one_text_longer_than_libnghttp2_takes) {
  start();
  RawH2 raw(port);
  raw.greet();
  const std::string head = RawH2::literal(RawH2::call_fields("/test.Test/Metadata"));
  std::uint32_t id = 1;
  int calls = 0;
  for (const std::size_t size : {65'537U, 100'000U, 400'000U, 900'000U}) {
    const std::string text = text_length(size) + std::string(size, 'v');
    for (const char kind : {'\x40', '\0', '\x10'}) {  // to the table of HPACK, not, and never
      for (const std::string& field : {"\x05x-big" + text, text + "\x03" + "big"}) {
        const std::string list = head + kind + field + "\x40\x05x-one\x03" + "two";
        raw.send(call_in_pieces(static_cast<std::int32_t>(id), list));
        raw.send(RawH2::frame(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS, id + 2, head + '\xBE') +
                 RawH2::frame(NGHTTP2_DATA, NGHTTP2_FLAG_END_STREAM, id + 2,
                              H2Client::prefixed("x-one")));
        RawAnswers answers;
        ASSERT_TRUE(answers.read_until_ended(raw, {id, id + 2})) << size;
        EXPECT_EQ(answers.heads[id], 1) << "a status and no message";
        EXPECT_EQ(answers.data[id + 2], H2Client::prefixed("two")) << size;
        id += 4;
        ++calls;
      }
    }
  }
  EXPECT_EQ(metric(Metric::grpc_resource_exhausted), calls);
}

TEST_F(GrpcServer, ends_a_connection_for_metadata_without_measure) {
  start();
  RawH2 raw(port);
  raw.greet();
  std::string large = RawH2::literal(RawH2::call_fields(kEcho));
  for (int i = 0; i < 40; ++i) large += RawH2::literal({{"x-large", std::string(30'000, 'x')}});
  raw.send(call_in_pieces(1, large));
  EXPECT_EQ(raw.goaway_code(), NGHTTP2_ENHANCE_YOUR_CALM);
  EXPECT_TRUE(raw.at_end());
  expect_served();
}

TEST_F(GrpcServer, decompresses_and_answers_so_where_the_peer_takes_it) {
  start();
  H2Client client(port);
  const std::string packed = gzip_coded("hello, hello");
  client.fields = {{"grpc-encoding", "gzip"}, {"grpc-accept-encoding", "identity,deflate, gzip"}};
  const GrpcReply both = client.finish(client.begin(kEcho, H2Client::prefixed(packed, 1)));
  ASSERT_EQ(both.status(), 0);
  EXPECT_EQ(both.fields.at("grpc-encoding"), "gzip");
  EXPECT_EQ(both.body[0], 1);
  net::ContentDecoder decoder;
  EXPECT_EQ(decoder.decode(net::ContentCoding::gzip, both.message(), 1'000).body, "hello, hello");

  client.fields = {{"grpc-encoding", "gzip"}};
  const GrpcReply one = client.finish(client.begin(kEcho, H2Client::prefixed(packed, 1)));
  EXPECT_EQ(one.body, H2Client::prefixed("hello, hello"));
  EXPECT_FALSE(one.fields.contains("grpc-encoding"));

  client.fields = {{"grpc-accept-encoding", "gzip"}};
  const std::string large(2'000, 'x');
  const GrpcReply answer = client.call(kEcho, large);
  EXPECT_EQ(answer.body[0], 1);
  EXPECT_LT(answer.body.size(), 200U);
  client.fields = {{"grpc-accept-encoding", "gzip"}};
  EXPECT_EQ(client.call(kEcho, "small").body, H2Client::prefixed("small"));
}

TEST_F(GrpcServer, decompresses_no_more_than_the_limit) {
  settings.message_bytes = 100'000;
  start();
  H2Client client(port);
  client.fields = {{"grpc-encoding", "gzip"}};
  const std::string bomb = gzip_coded(std::string(10'000'000, '\0'));
  ASSERT_LT(bomb.size(), 100'000U);
  EXPECT_EQ(client.finish(client.begin(kEcho, H2Client::prefixed(bomb, 1))).status(), 8);
}

TEST_F(GrpcServer, completes_what_waits_when_its_service_says_so) {
  start();
  H2Client client(port);
  const auto first = client.begin("/test.Test/Wait", H2Client::prefixed("a"));
  const auto second = client.begin("/test.Test/Wait", H2Client::prefixed("b"));
  client.send();
  ASSERT_TRUE(becomes([&] { return wait.waiting.size() == 2; }));
  on_worker([&] { wait.complete("later"); });
  EXPECT_EQ(client.finish(first).message(), "later");
  EXPECT_EQ(client.finish(second).message(), "later");
}

TEST_F(GrpcServer, ends_what_waits_at_its_deadline) {
  start();
  H2Client client(port);
  client.fields = {{"grpc-timeout", "20m"}};
  const GrpcReply reply = client.call("/test.Test/Wait", "a");
  EXPECT_EQ(reply.status(), 4);
  EXPECT_EQ(wait.cancelled, 1);
}

TEST_F(GrpcServer, tells_the_service_of_a_call_that_is_reset_or_whose_peer_leaves) {
  start();
  {
    H2Client client(port);
    const auto id = client.begin("/test.Test/Wait", H2Client::prefixed("a"));
    client.begin("/test.Test/Wait", H2Client::prefixed("b"));
    client.send();
    ASSERT_TRUE(becomes([&] { return wait.waiting.size() == 2; }));
    nghttp2_submit_rst_stream(client.session(), 0, id, NGHTTP2_CANCEL);
    client.send();
    ASSERT_TRUE(becomes([&] { return wait.cancelled == 1; }));
  }
  EXPECT_TRUE(becomes([&] { return wait.cancelled == 2; }));
  on_worker([&] { EXPECT_EQ(wait.complete("nobody"), 0); });
}

TEST_F(GrpcServer, announces_what_it_takes) {
  settings.streams = 321;
  start();
  H2Client client(port);
  client.call(kEcho, "a");
  EXPECT_EQ(client.settings[NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS], 321U);
  EXPECT_EQ(client.settings[NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE], 64U << 10);
}

TEST_F(GrpcServer, answers_pings_and_does_not_mind_quiet_ones) {
  start();
  H2Client client(port);
  for (int i = 0; i < 50; ++i) {
    nghttp2_submit_ping(client.session(), 0, nullptr);
    const int before = client.pongs;
    while (client.pongs == before) ASSERT_TRUE(client.pump());
  }
  EXPECT_EQ(client.call(kEcho, "a").status(), 0);
}

TEST_F(GrpcServer, asks_a_quiet_peer_whether_it_is_there) {
  settings.quiet = milliseconds(30);
  settings.pong = milliseconds(30);
  start();
  H2Client client(port);
  client.call(kEcho, "a");
  while (client.pings < 3) ASSERT_TRUE(client.pump());
  RawH2 mute(port);
  mute.greet();
  EXPECT_TRUE(mute.at_end()) << "it gives no answer";
  EXPECT_GE(metric(Metric::timeout_grpc_pong), 1);
}

TEST_F(GrpcServer, drains_in_two_steps_and_serves_meanwhile) {
  settings.goaway = milliseconds(200);
  start();
  H2Client client(port);
  client.call(kEcho, "a");
  const auto waiting = client.begin("/test.Test/Wait", H2Client::prefixed("a"));
  client.send();
  ASSERT_TRUE(becomes([&] { return wait.waiting.size() == 1; }));
  H2Client queued(port);  // perhaps the kernel's alone
  std::promise<void> stopped;
  on_worker([&] {
    servers[0]->stop_accepting();
    servers[0]->finish_by((*pool)[0].now() + std::chrono::seconds(20),
                          [&] { stopped.set_value(); });
  });
  while (client.goaways.empty()) ASSERT_TRUE(client.pump());
  EXPECT_EQ(client.goaways[0].last, 0x7FFFFFFF);
  EXPECT_EQ(client.goaways[0].code, 0U);
  EXPECT_EQ(queued.finish(queued.begin(kEcho, H2Client::prefixed("q"))).message(), "q");
  while (client.goaways.size() < 2) ASSERT_TRUE(client.pump());
  EXPECT_EQ(client.goaways[1].last, waiting);
  on_worker([&] { wait.complete("done"); });
  EXPECT_EQ(client.finish(waiting).message(), "done");
  stopped.get_future().wait();
  EXPECT_EQ(connections(), 0U);
}

TEST_F(GrpcServer, cuts_at_the_deadline_of_a_drain) {
  start();
  H2Client client(port);
  const auto id = client.begin("/test.Test/Wait", H2Client::prefixed("a"));
  client.send();
  ASSERT_TRUE(becomes([&] { return wait.waiting.size() == 1; }));
  std::promise<void> stopped;
  on_worker([&] {
    servers[0]->stop_accepting();
    servers[0]->finish_by((*pool)[0].now() + milliseconds(50), [&] { stopped.set_value(); });
  });
  stopped.get_future().wait();
  EXPECT_FALSE(client.finish(id).has_status());
  EXPECT_EQ(wait.cancelled, 1);
}

TEST_F(GrpcServer, drains_a_connection_at_its_age) {
  settings.age = milliseconds(50);
  settings.goaway = milliseconds(50);
  start();
  RawH2 raw(port);
  raw.greet();
  EXPECT_EQ(raw.read_to(NGHTTP2_GOAWAY).payload.substr(0, 4), "\x7F\xFF\xFF\xFF");
  EXPECT_EQ(raw.read_to(NGHTTP2_GOAWAY).payload.substr(0, 4), std::string(4, '\0'));
  EXPECT_TRUE(raw.at_end());
}

TEST_F(GrpcServer, allocates_nothing_for_a_call_once_it_is_warm) {
  start();
  H2Client client(port);
  const auto round = [&] {
    std::vector<std::int32_t> ids;
    for (int i = 0; i < 32; ++i) {
      client.fields = {{"grpc-timeout", "250m"},
                       {"x-request-id", "0123456789abcdef-" + std::to_string(i % 7)}};
      ids.push_back(client.begin(kEcho, H2Client::prefixed(std::string(700, 'x'))));
    }
    for (const auto id : ids) ASSERT_EQ(client.finish(id).status(), 0);
  };
  // Buffers grow to what came at once at most, which differs between runs: it is warm when fifty
  // rounds have allocated nothing. An allocation by every call would never stop.
  std::size_t allocated = 1;
  for (int windows = 0; windows < 10 && allocated != 0; ++windows) {
    std::size_t before = 0;
    std::size_t after = 0;
    on_worker([&] { before = allocations(); });
    for (int i = 0; i < 50; ++i) round();
    on_worker([&] { after = allocations(); });
    allocated = after - before;
  }
  EXPECT_EQ(allocated, 0U);
}

}  // namespace
}  // namespace weir::test::grpc_server_test
