// Forwarding: framing both ways, keep-alive, pipelining, upgrades.
#include "tests/proxy/proxy_fixture.h"

namespace weir::test::forward_test {
namespace {

using telemetry::Metric;

class Forward : public ProxyFixture {
 protected:
  static std::string echo(std::string_view head, std::string body) {
    return ok(body.empty() ? std::string(head) : body);
  }
};

TEST_F(Forward, a_get_reaches_the_app_with_its_target_and_fields) {
  origin(OriginServer::answering(echo));
  start();
  auto c = client();
  const auto answer = c.get("/a%20b?x=1&y", "X-Device-Id: d1\r\n");
  EXPECT_EQ(answer.status, 200);
  EXPECT_TRUE(answer.body.starts_with("GET /a%20b?x=1&y HTTP/1.1\r\n")) << answer.body;
  EXPECT_EQ(field(answer.body, "x-device-id"), "d1");
  EXPECT_EQ(field(answer.body, "host"), "app.example");
  EXPECT_EQ(field(answer.body, "x-forwarded-for"), "127.0.0.1");
  on_worker([] {});  // the answer is on its way before the judge hears of its end
  EXPECT_EQ(judge().log(), (std::vector<std::string>{"judge /a%20b", "answered /a%20b 200",
                                                     "finish /a%20b complete"}));
}

TEST_F(Forward, one_client_connection_serves_many_requests_over_one_connection_to_the_app) {
  origin(OriginServer::answering(echo));
  start();
  auto c = client();
  for (int i = 0; i < 100; ++i) EXPECT_EQ(c.get("/" + std::to_string(i)).status, 200);
  EXPECT_EQ(app().connections(), 1);
  EXPECT_EQ(metric(Metric::upstream_connects), 1);
  EXPECT_EQ(metric(Metric::upstream_reused), 99);
  EXPECT_EQ(metric(Metric::requests_2xx), 100);
  EXPECT_EQ(metric(Metric::connections_total), 1);
}

TEST_F(Forward, bodies_of_requests_pass_by_length_and_by_chunks) {
  origin(OriginServer::answering([](std::string_view head, std::string body) {
    return ok(field(head, "transfer-encoding").value_or("length") + ":" + body);
  }));
  start();
  auto c = client();
  EXPECT_EQ(c.post("/", "hello").body, "length:hello");
  EXPECT_EQ(c.ask("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
                  "3;x=y\r\nabc\r\n2\r\nde\r\n0\r\nX-Trailer: 1\r\n\r\n")
                .body,
            "chunked:abcde");
  EXPECT_EQ(c.ask("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n").body,
            "chunked:");
  EXPECT_EQ(c.ask("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n").body, "length:");
  EXPECT_EQ(app().connections(), 1);
}

TEST_F(Forward, bodies_of_answers_pass_by_length_by_chunks_and_until_close) {
  origin(OriginServer::answering([](std::string_view head, std::string) -> std::string {
    if (head.starts_with("GET /chunked")) {
      return "HTTP/1.1 200 OK\r\nTransfer-Encoding: "
             "chunked\r\n\r\n3;e=1\r\nabc\r\n2\r\nde\r\n0\r\n\r\n";
    }
    return ok("length");
  }));
  start();
  auto c = client();
  EXPECT_EQ(c.get("/").body, "length");
  const auto chunked = c.get("/chunked");
  EXPECT_EQ(chunked.body, "abcde");
  EXPECT_EQ(chunked.header("transfer-encoding"), "chunked");
  EXPECT_EQ(c.get("/").body, "length");
}

TEST_F(Forward, an_answer_that_ends_with_its_connection_is_chunked_for_1_1_and_closes_for_1_0) {
  origin([](Stream& s, int) {
    if (s.read_head()) s.write("HTTP/1.1 200 OK\r\n\r\nall of it");
  });
  start();
  auto c = client();
  const auto answer = c.get("/");
  EXPECT_EQ(answer.header("transfer-encoding"), "chunked");
  EXPECT_EQ(answer.body, "all of it");
  EXPECT_EQ(c.get("/").body, "all of it");  // the client's connection lives on
  auto old = client();
  old.send("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  const auto old_answer = old.read();
  EXPECT_EQ(old_answer.body, "all of it");
  EXPECT_EQ(old_answer.header("transfer-encoding"), "");
  EXPECT_TRUE(old.at_end());
}

TEST_F(Forward, an_http_1_0_client_gets_chunks_unwrapped) {
  origin(OriginServer::answering([](std::string_view, std::string) {
    return "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
  }));
  start();
  auto c = client();
  c.send("GET / HTTP/1.0\r\n\r\n");
  EXPECT_EQ(c.read().body, "abc");
  EXPECT_TRUE(c.at_end());
}

TEST_F(Forward, an_http_1_0_client_may_keep_its_connection) {
  origin(OriginServer::answering(echo));
  start();
  auto c = client();
  EXPECT_EQ(c.ask("GET /1 HTTP/1.0\r\nConnection: keep-alive\r\n\r\n").status, 200);
  const auto second = c.ask("GET /2 HTTP/1.0\r\n\r\n");
  EXPECT_EQ(second.status, 200);
  EXPECT_EQ(field(second.body, "host"), "app:80");
  EXPECT_TRUE(c.at_end());
}

TEST_F(Forward, answers_without_a_body_have_none) {
  origin(OriginServer::answering([](std::string_view head, std::string) -> std::string {
    if (head.starts_with("HEAD")) return "HTTP/1.1 200 OK\r\nContent-Length: 12345\r\n\r\n";
    if (head.starts_with("GET /204")) return "HTTP/1.1 204 No Content\r\n\r\n";
    return "HTTP/1.1 304 Not Modified\r\nContent-Length: 99\r\nETag: \"x\"\r\n\r\n";
  }));
  start();
  auto c = client();
  const auto head = c.ask(request_text("HEAD", "/"), true);
  EXPECT_EQ(head.header("content-length"), "12345");
  EXPECT_EQ(c.get("/204").status, 204);
  const auto unchanged = c.get("/304");
  EXPECT_EQ(unchanged.status, 304);
  EXPECT_EQ(unchanged.header("etag"), "\"x\"");
  EXPECT_EQ(c.ask(request_text("HEAD", "/"), true).status, 200);
  EXPECT_EQ(app().connections(), 1);
}

TEST_F(Forward, pipelined_requests_are_answered_in_order) {
  origin(OriginServer::answering([](std::string_view head, std::string) {
    return ok(head.substr(4, head.find(' ', 4) - 4));
  }));
  start();
  auto c = client();
  constexpr int kRequests = 10'000;
  std::thread writer([&] {
    std::string all;
    for (int i = 0; i < kRequests; ++i) all += request_text("GET", "/" + std::to_string(i));
    c.send(all);
  });
  for (int i = 0; i < kRequests; ++i) {
    const auto answer = c.read();
    ASSERT_EQ(answer.status, 200);
    ASSERT_EQ(answer.body, "/" + std::to_string(i));
  }
  writer.join();
}

TEST_F(Forward, a_request_cut_anywhere_by_the_network_is_the_same_request) {
  origin(OriginServer::answering([](std::string_view, std::string body) { return ok(body); }));
  start();
  const std::string request =
      "POST /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: "
      "chunked\r\n\r\n3\r\nabc\r\n4\r\ndefg\r\n0\r\n\r\n";
  for (std::size_t cut = 1; cut < request.size(); ++cut) {
    auto c = client();
    c.send(request.substr(0, cut));
    on_worker([] {});
    c.send(request.substr(cut));
    ASSERT_EQ(c.read().body, "abcdefg") << "cut at " << cut;
  }
}

TEST_F(Forward, an_answer_cut_anywhere_by_the_network_is_the_same_answer) {
  static const std::string answer =  // outlives the app's threads
      "HTTP/1.1 200 OK\r\nX-A: 1\r\nTransfer-Encoding: "
      "chunked\r\n\r\n3\r\nabc\r\n4\r\ndefg\r\n0\r\n\r\n";
  std::atomic<std::size_t> cut{1};
  origin([&](Stream& s, int) {
    while (s.read_head()) {
      s.write(answer.substr(0, cut));
      on_worker([] {});
      s.write(answer.substr(cut));
    }
  });
  start();
  auto c = client();
  for (; cut < answer.size(); ++cut) ASSERT_EQ(c.get("/").body, "abcdefg") << "cut at " << cut;
}

TEST_F(Forward, expect_continue_waits_for_the_app) {
  origin([](Stream& s, int) {
    const auto head = s.read_head();
    if (!head) return;
    s.write("HTTP/1.1 100 Continue\r\n\r\n");
    s.write(ok(s.read_exactly(5)));
  });
  start();
  auto c = client();
  c.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(c.read().status, 100);
  c.send("hello");
  EXPECT_EQ(c.read().body, "hello");
}

TEST_F(Forward, up_to_16_interim_answers_pass_and_the_17th_is_a_502) {
  origin([](Stream& s, int) {
    while (const auto head = s.read_head()) {
      const int count = std::stoi(head->substr(5));
      for (int i = 0; i < count; ++i) s.write("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n");
      s.write(ok("done"));
    }
  });
  start();
  auto c = client();
  auto answer = c.get("/16");
  for (int i = 0; i < 16; ++i) {
    EXPECT_EQ(answer.status, 103);
    answer = c.read();
  }
  EXPECT_EQ(answer.body, "done");
  auto d = client();
  answer = d.get("/17");
  while (answer.status == 103) answer = d.read();
  EXPECT_EQ(answer.status, 502);
  // HTTP/1.0 knows none of them.
  auto old = client();
  EXPECT_EQ(old.ask("GET /3 HTTP/1.0\r\n\r\n").body, "done");
}

TEST_F(Forward, a_websocket_passes_bytes_both_ways_and_each_end_by_itself) {
  origin([](Stream& s, int) {
    const auto head = s.read_head();
    if (!head) return;
    EXPECT_EQ(field(*head, "upgrade"), "websocket");
    s.write(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\nfirst");
    const std::string got = s.read_to_end();  // the client's half-close arrives
    s.write("echo:" + got);                   // and ours still goes the other way
  });
  start();
  auto c = client();
  const auto answer = c.ask(
      "GET /ws HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
      "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n");
  EXPECT_EQ(answer.status, 101);
  EXPECT_EQ(c.stream().read_exactly(5), "first");
  std::string big(300'000, 'w');
  c.send(big);
  c.stream().shutdown_write();
  EXPECT_EQ(c.stream().read_to_end(), "echo:" + big);
  EXPECT_TRUE(judge().wait_for("finish /ws complete"));
}

// The app has ended its side, and reads nothing until the tunnel is over. The first tunnel finds
// how much its socket takes; the second one ends with a piece that does not go any more.
TEST_F(Forward, the_last_bytes_of_a_tunnel_wait_for_the_app) {
  const std::string piece(2'000, 'p');
  std::promise<void> go[2];
  std::promise<std::size_t> got[2];
  origin_unix([&](Stream& s, int number) {
    const auto at = static_cast<std::size_t>(number - 1);
    if (!s.read_head() || at > 1) return;
    s.write(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n");
    s.shutdown_write();
    go[at].get_future().wait();
    got[at].set_value(s.read_to_end().size());
  });
  start();
  std::size_t pieces = 0;  // the last of them is kept by the proxy
  for (const std::size_t tunnel : {0U, 1U}) {
    auto c = client();
    EXPECT_EQ(c.ask("GET /ws HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
                    "Sec-WebSocket-Version: 13\r\n\r\n")
                  .status,
              101);
    EXPECT_EQ(c.stream().read_to_end(), "");
    if (tunnel == 0) {
      for (bool full = false; !full && pieces < 10'000; ++pieces) {
        c.send(piece);
        for (int i = 0; i < 3; ++i) on_worker([&] { full = (*pool)[0].blocks().in_use() != 0; });
      }
      c.stream().shutdown_write();
    } else {
      for (std::size_t i = 1; i < pieces; ++i) {
        c.send(piece);
        for (int j = 0; j < 3; ++j) on_worker([] {});
      }
      on_worker([&] {
        c.send(piece);
        c.stream().shutdown_write();
      });
      for (int j = 0; j < 3; ++j) on_worker([] {});
    }
    go[tunnel].set_value();
    EXPECT_EQ(got[tunnel].get_future().get(), pieces * piece.size()) << tunnel;
  }
}

TEST_F(Forward, a_101_that_proves_nothing_is_a_502) {
  origin([](Stream& s, int) {
    if (!s.read_head()) return;
    s.write(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Accept: AAAAAAAAAAAAAAAAAAAAAAAAAAA=\r\n\r\n");
    s.read_to_end();
  });
  start();
  auto c = client();
  EXPECT_EQ(
      c.ask("GET /ws HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n")
          .status,
      502);
}

TEST_F(Forward, a_client_that_shuts_its_side_still_gets_its_answer) {
  origin(OriginServer::answering(echo));
  start();
  auto c = client();
  c.send(request_text("GET", "/half"));
  c.stream().shutdown_write();
  EXPECT_EQ(c.read().status, 200);
  EXPECT_TRUE(c.at_end());
}

TEST_F(Forward, the_app_learns_that_a_client_has_shut_its_side_once_it_has_all_requests) {
  std::promise<void> ended;
  origin([&](Stream& s, int) {
    ASSERT_TRUE(s.read_head());
    s.write(ok("one"));
    ASSERT_TRUE(s.read_head());
    EXPECT_EQ(s.read_to_end(), "");  // the end, and no answer has been asked for since
    ended.set_value();
    s.write(ok("two"));
  });
  start();
  auto c = client();
  c.send(request_text("GET", "/one") + request_text("GET", "/two"));
  c.stream().shutdown_write();
  EXPECT_EQ(c.read().body, "one");
  ended.get_future().wait();
  EXPECT_EQ(c.read().body, "two") << "an app that goes on is still heard";
  EXPECT_TRUE(c.at_end());
}

TEST_F(Forward, an_app_that_gives_up_on_a_client_that_left_has_not_failed) {
  origin([&](Stream& s, int) {
    s.read_head();
    s.read_to_end();  // as servers do whose client has left
  });
  start();
  auto c = client();
  c.send(request_text("GET", "/left"));
  c.stream().shutdown_write();
  EXPECT_EQ(c.read().status, 502);
  EXPECT_TRUE(judge().wait_for("finish /left aborted"));
  EXPECT_EQ(app().connections(), 1) << "and nothing is sent twice";
}

TEST_F(Forward, options_asterisk_is_answered_here) {
  start();
  auto c = client();
  EXPECT_EQ(c.ask("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n").status, 200);
  EXPECT_TRUE(judge().log().empty());
}

TEST_F(Forward, who_is_the_last_hop_answers_by_itself) {
  origin([](Stream& s, int) {
    const std::string head = s.read_head().value_or(std::string());
    const bool one_less = head.find("Max-Forwards: 0\r\n") != std::string::npos;
    s.write(std::string("HTTP/1.1 ") + (one_less ? "207" : "500") +
            " X\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
  });
  start();
  auto c = client();
  EXPECT_EQ(c.ask("OPTIONS /x HTTP/1.1\r\nHost: a\r\nMax-Forwards: 0\r\n\r\n").status, 200);
  EXPECT_EQ(c.ask("TRACE /x HTTP/1.1\r\nHost: a\r\nMax-Forwards: 0\r\n\r\n").status, 405);
  EXPECT_TRUE(judge().log().empty()) << "what the app does not see is not counted";
  EXPECT_EQ(c.ask("OPTIONS /x HTTP/1.1\r\nHost: a\r\nMax-Forwards: 1\r\n\r\n").status, 207);
}

TEST_F(Forward, an_early_answer_comes_before_the_body_is_through) {
  origin([](Stream& s, int) {
    if (!s.read_head()) return;
    s.write("HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno");
    s.read_to_end();
  });
  start();
  auto c = client();
  c.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100000000\r\n\r\nsome");
  const auto answer = c.read();
  EXPECT_EQ(answer.status, 413);
  EXPECT_EQ(answer.body, "no");
}

TEST_F(Forward, a_unix_socket_serves_as_upstream_and_as_listener) {
  origin_unix(OriginServer::answering(echo));
  listen_path = ::testing::TempDir() + "weir-listen-" + std::to_string(::getpid()) + ".sock";
  start(2);
  for (int i = 0; i < 20; ++i) {
    HttpClient c(listen_path);
    const auto answer = c.get("/u");
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(field(answer.body, "x-forwarded-for"), "127.0.0.1");
    EXPECT_EQ(c.post("/", "body").body, "body");
  }
  ::unlink(listen_path.c_str());
}

}  // namespace
}  // namespace weir::test::forward_test
