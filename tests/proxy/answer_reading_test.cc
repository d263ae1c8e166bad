// Policies that read the answer's body, beside its stream.
#include "proxy/answer_tap.h"
#include "tests/proxy/proxy_fixture.h"
#include "tests/support/codings.h"

namespace weir::test::answer_reading_test {
namespace {

using telemetry::Metric;
using Log = std::vector<std::string>;

/// The result of a tap for an answer whose body arrives in these pieces.
struct Tapped {
  BodyState state;
  std::string body;
};
Tapped tapped(const std::string& head, const std::vector<std::string_view>& pieces,
              bool whole = true, std::size_t most = 4096, bool to_head = false) {
  net::BlockPool blocks;
  net::ContentDecoder decoder;
  net::ResponseHead parsed;
  net::HeadProgress progress;
  EXPECT_EQ(net::parse_response_head(head, {}, {}, progress, parsed), net::HeadStatus::complete);
  proxy::AnswerTap tap;
  tap.start(blocks, head, parsed, to_head);
  for (const std::string_view piece : pieces) tap.add(blocks, piece, most);
  const Answer answer = tap.answer(whole, most, {}, {}, decoder, parsed);
  return {answer.body_state, std::string(answer.body)};
}

std::string head_of(const std::string& lines, const std::string& status = "200 OK") {
  return "HTTP/1.1 " + status + "\r\nTransfer-Encoding: chunked\r\n" + lines + "\r\n";
}

const std::string kText =
    R"({"choices":[{"text":"word word word"}],"usage":{"total_tokens":50000}})";

TEST(AnswerTap, reads_every_coding_split_at_every_byte) {
  const std::pair<std::string, std::string> answers[] = {
      {"", kText},
      {"Content-Encoding: identity\r\n", kText},
      {"Content-Encoding: gzip\r\n", gzip_coded(kText)},
      {"Content-Encoding: x-gzip\r\n",
       gzip_coded(kText.substr(0, 9)) + gzip_coded(kText.substr(9))},
      {"Content-Encoding: deflate\r\n", deflate_coded(kText)},
      {"Content-Encoding: deflate\r\n", deflate_coded(kText, true)},
      {"Content-Encoding: zstd\r\n", zstd_coded(kText)},
      {"Content-Encoding: identity\r\nContent-Encoding: zstd\r\n", zstd_coded(kText, false)}};
  for (const auto& [lines, coded] : answers) {
    for (std::size_t cut = 0; cut <= coded.size(); ++cut) {
      const std::string_view all = coded;
      const Tapped got = tapped(head_of(lines), {all.substr(0, cut), all.substr(cut)});
      ASSERT_EQ(got.state, BodyState::complete) << lines << cut;
      ASSERT_EQ(got.body, kText) << lines << cut;
      const Tapped half = tapped(head_of(lines), {all.substr(0, cut)}, false);
      ASSERT_EQ(half.state, BodyState::broken) << lines << cut;
    }
  }
}

TEST(AnswerTap, says_why_it_cannot_read_an_answer) {
  const std::string gzip = "Content-Encoding: gzip\r\n";
  EXPECT_EQ(tapped(head_of("Content-Encoding: br\r\n"), {"xx"}).state, BodyState::encoded);
  EXPECT_EQ(tapped(head_of(gzip + gzip), {gzip_coded(gzip_coded(kText))}).state,
            BodyState::encoded);
  EXPECT_EQ(tapped(head_of(gzip), {kText}).state, BodyState::broken);
  EXPECT_EQ(tapped(head_of(gzip), {gzip_coded(kText), "more"}).state, BodyState::broken);
  EXPECT_EQ(tapped(head_of(""), {kText}, true, kText.size()).state, BodyState::complete);
  EXPECT_EQ(tapped(head_of(""), {kText}, true, kText.size() - 1).state, BodyState::too_large);
  EXPECT_EQ(tapped(head_of(gzip), {gzip_coded(kText)}, true, kText.size() - 1).state,
            BodyState::too_large);
  EXPECT_EQ(tapped(head_of(gzip), {gzip_coded(std::string(8 << 20, 'x'))}, true, 64 << 10).state,
            BodyState::too_large);
  EXPECT_EQ(tapped(head_of("Content-Range: bytes 0-9/99\r\n", "206 Partial Content"), {"{}"}).state,
            BodyState::broken);
  EXPECT_EQ(tapped("HTTP/1.1 304 Not Modified\r\n\r\n", {}).state, BodyState::broken);
  EXPECT_EQ(tapped(head_of(""), {}, true, 4096, true).state, BodyState::broken) << "to HEAD";
  EXPECT_EQ(tapped("HTTP/1.1 204 No Content\r\n\r\n", {}, true, 4096, true).state,
            BodyState::complete);
  EXPECT_EQ(tapped("HTTP/1.1 204 No Content\r\n\r\n", {}).state, BodyState::complete);
  EXPECT_EQ(tapped(head_of(gzip), {}).state, BodyState::complete) << "an answer without a body";
}

class AnswerReading : public ProxyFixture {
 protected:
  void SetUp() override {
    judge().reads_answers = true;
    settings.body_bytes_max = 1'000;
  }
  Log bodies() {
    on_worker([] {});
    Log out;
    for (const auto& line : judge().log()) {
      if (line.starts_with("body") || line.starts_with("finish")) out.push_back(line);
    }
    return out;
  }
};

TEST_F(AnswerReading, coded_answers_are_read_and_pass_unchanged) {
  const std::string gzip = gzip_coded(kText), zstd = zstd_coded(kText, false);
  const std::string bomb = gzip_coded(std::string(4 << 20, 'x'));
  origin([&](Stream& s, int) {
    while (const auto head = s.read_head()) {
      if (head->starts_with("GET /gzip")) s.write(ok(gzip, "Content-Encoding: gzip\r\n"));
      if (head->starts_with("GET /bomb")) s.write(ok(bomb, "Content-Encoding: gzip\r\n"));
      if (head->starts_with("GET /zstd")) {
        std::string all = head_of("Content-Encoding: zstd\r\n");
        for (const char c : zstd) all += "1\r\n" + std::string(1, c) + "\r\n";
        s.write(all + "0\r\n\r\n");
      }
      if (head->starts_with("GET /close")) {
        s.write("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n" + gzip);
        return;
      }
    }
  });
  start();
  auto c = client();
  EXPECT_EQ(c.get("/gzip").body, gzip);
  EXPECT_EQ(c.get("/zstd").body, zstd);
  EXPECT_EQ(c.get("/bomb").body, bomb);
  EXPECT_EQ(c.get("/close").body, gzip);
  const std::string read = " complete " + std::to_string(kText.size());
  EXPECT_EQ(bodies(),
            (Log{"body /gzip" + read, "finish /gzip complete", "body /zstd" + read,
                 "finish /zstd complete", "body /bomb too_large 0", "finish /bomb complete",
                 "body /close" + read, "finish /close complete"}));
}

TEST_F(AnswerReading, the_app_is_asked_for_all_of_the_answer_in_a_coding_that_can_be_read) {
  origin(OriginServer::answering([](std::string_view head, std::string) { return ok(head); }));
  judge().asks_for_whole_answers = true;
  start();
  auto c = client();
  const std::string lines =
      "Accept-Encoding: br, gzip;q=0.5\r\nAccept-Encoding: zstd\r\nRange: bytes=0-9\r\n"
      "If-Range: \"x\"\r\nA-IM: feed\r\nIf-None-Match: *\r\nIf-Modified-Since: never\r\n"
      "If-Match: \"y\"\r\nAccept: a/b\r\nAccept_Encoding: br\r\n";
  const std::string got = c.get("/", lines).body;
  EXPECT_EQ(field(got, "accept-encoding"), "gzip;q=0.5, zstd");
  for (const char* gone :
       {"range", "if-range", "a-im", "if-none-match", "if-modified-since", "accept_encoding"}) {
    EXPECT_FALSE(field(got, gone)) << gone;
  }
  EXPECT_EQ(field(got, "if-match"), "\"y\"");
  EXPECT_EQ(field(got, "accept"), "a/b");
  const std::string put = c.ask(request_text("PUT", "/", "If-None-Match: *\r\n")).body;
  EXPECT_EQ(field(put, "if-none-match"), "*") << "what is there must not be replaced";
  EXPECT_FALSE(field(put, "accept-encoding"));
}

TEST_F(AnswerReading, nothing_is_changed_where_no_enforced_policy_reads_the_answer) {
  origin(OriginServer::answering([](std::string_view head, std::string) { return ok(head); }));
  start();
  auto c = client();
  const std::string got = c.get("/", "Accept-Encoding: br\r\nRange: bytes=0-9\r\n").body;
  EXPECT_EQ(field(got, "accept-encoding"), "br");
  EXPECT_EQ(field(got, "range"), "bytes=0-9");
}

TEST_F(AnswerReading, what_is_asked_for_is_kept_while_a_request_is_held) {
  origin(OriginServer::answering([](std::string_view head, std::string) { return ok(head); }));
  judge().asks_for_whole_answers = true;
  judge().decide = [](const Request&, bool) {
    Effect effect;
    effect.kind = Effect::Kind::delay;
    effect.hold = milliseconds(5);
    return effect;
  };
  start();
  auto c = client();
  EXPECT_FALSE(field(c.get("/", "Range: bytes=0-9\r\n").body, "range"));
}

/// An app that sends `first`, waits until the client has left, then sends `last`.
struct Parted {
  std::promise<void> sent, left;
  void serve(Stream& s, std::string_view first, std::string_view last) {
    s.read_head();
    s.write(first);
    sent.set_value();
    left.get_future().wait();
    s.write(last);
    s.read_to_end();
  }
};

TEST_F(AnswerReading, a_client_that_leaves_before_the_end_is_read_on_for) {
  Parted app;
  origin(
      [&](Stream& s, int) { app.serve(s, head_of("") + "3\r\nabc\r\n", "2\r\nde\r\n0\r\n\r\n"); });
  start();
  {
    auto c = client();
    c.send(request_text("GET", "/x"));
    app.sent.get_future().wait();
    c.stream().read_exactly(50);
    c.stream().reset();
    ASSERT_TRUE(metric_becomes(Metric::client_aborts, 1));
  }
  app.left.set_value();
  EXPECT_TRUE(judge().wait_for("finish /x complete"));
  EXPECT_EQ(bodies(), (Log{"body /x complete 5", "finish /x complete"}));
  EXPECT_TRUE(metric_becomes(Metric::connections_open, 0));
}

TEST_F(AnswerReading, an_app_that_says_no_more_is_not_waited_for_without_end) {
  settings.answer = milliseconds(50);
  Parted app;
  origin([&](Stream& s, int) { app.serve(s, head_of("") + "3\r\nabc\r\n", ""); });
  start();
  {
    auto c = client();
    c.send(request_text("GET", "/x"));
    app.sent.get_future().wait();
    c.stream().read_exactly(50);
    c.stream().reset();
    EXPECT_TRUE(judge().wait_for("finish /x complete"));
  }
  app.left.set_value();
  EXPECT_EQ(bodies(), (Log{"body /x broken 0", "finish /x complete"}));
  EXPECT_TRUE(metric_becomes(Metric::connections_open, 0));
}

TEST_F(AnswerReading, what_cannot_be_read_is_not_read_on) {
  Parted app;
  std::promise<void> cut;
  origin([&](Stream& s, int) {
    s.read_head();
    s.write(head_of("Content-Encoding: br\r\n") + "3\r\nabc\r\n");
    app.sent.set_value();
    s.read_to_end();
    cut.set_value();
  });
  start();
  auto c = client();
  c.send(request_text("GET", "/x"));
  app.sent.get_future().wait();
  c.stream().read_exactly(50);
  c.stream().reset();
  cut.get_future().wait();  // the app sees that the client has left
  EXPECT_TRUE(judge().wait_for("finish /x complete"));
  EXPECT_EQ(bodies(), (Log{"body /x encoded 0", "finish /x complete"}));
}

TEST_F(AnswerReading, a_drain_that_cuts_leaves_what_was_streamed_counted) {
  Parted app;
  origin([&](Stream& s, int) { app.serve(s, head_of("") + "3\r\nabc\r\n", ""); });
  start();
  auto c = client();
  c.send(request_text("GET", "/x"));
  app.sent.get_future().wait();
  c.stream().read_exactly(50);
  std::promise<void> stopped;
  on_worker([&] {
    servers[0]->stop_accepting();
    servers[0]->finish_by((*pool)[0].now(), [&] { stopped.set_value(); });
  });
  stopped.get_future().wait();
  EXPECT_EQ(bodies(), (Log{"body /x broken 0", "finish /x complete"}));
  app.left.set_value();
}

TEST_F(AnswerReading, an_app_that_cuts_its_answer_short_has_streamed_it) {
  origin([&](Stream& s, int) {
    s.read_head();
    s.write("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc");
  });
  start();
  auto c = client();
  c.send(request_text("GET", "/x"));
  c.stream().read_to_end();
  EXPECT_TRUE(judge().wait_for("finish /x complete"));
  EXPECT_EQ(bodies(), (Log{"body /x broken 0", "finish /x complete"}));
}

TEST_F(AnswerReading, an_answer_that_cannot_be_accepted_is_not_an_app_that_failed) {
  static const std::vector<std::string> bad = {
      // outlives the threads of the origin
      "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "garbage\r\n\r\n"};
  origin([&](Stream& s, int number) {
    s.read_head();
    s.write(bad[static_cast<std::size_t>(number - 1) % bad.size()]);
  });
  start();
  for (std::size_t i = 0; i < bad.size(); ++i) {
    auto c = client();
    EXPECT_EQ(c.post("/x", "").status, 502);
    EXPECT_TRUE(judge().wait_for("finish /x unacceptable", static_cast<int>(i + 1)));
  }
}

TEST_F(AnswerReading, an_app_that_gives_no_answer_has_failed) {
  origin([&](Stream& s, int) { s.read_head(); });
  start();
  auto c = client();
  EXPECT_EQ(c.post("/x", "").status, 502);
  EXPECT_TRUE(judge().wait_for("finish /x upstream_failed"));
}

TEST_F(AnswerReading, an_upgrade_has_no_body_to_read) {
  origin([&](Stream& s, int) {
    const auto head = s.read_head();
    s.write(
        "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\nhello");
    s.read_to_end();
  });
  start();
  auto c = client();
  c.send(request_text("GET", "/ws",
                      "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
                      "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"));
  EXPECT_TRUE(judge().wait_for("body /ws complete 0"));
  c.stream().close();
  EXPECT_TRUE(judge().wait_for("finish /ws complete"));
}

}  // namespace
}  // namespace weir::test::answer_reading_test
