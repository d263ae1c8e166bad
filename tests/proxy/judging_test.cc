// The verdicts of the judge, and their effects on every path.
#include "tests/proxy/proxy_fixture.h"

namespace weir::test::judging_test {
namespace {

using telemetry::Metric;
using Log = std::vector<std::string>;

Effect answer(std::uint16_t status, std::string_view body = {}) {
  Effect effect;
  effect.kind = Effect::Kind::answer;
  effect.status = status;
  effect.response_headers = "Retry-After: 7\r\n";
  if (!body.empty()) effect.content_type = "text/plain";
  effect.body = body;
  return effect;
}

Effect of_kind(Effect::Kind kind) {
  Effect effect;
  effect.kind = kind;
  return effect;
}

class Judging : public ProxyFixture {
 protected:
  void echo_app() {
    origin(OriginServer::answering([](std::string_view head, std::string body) {
      return ok(body.empty() ? std::string(head) : body);
    }));
  }
};

TEST_F(Judging, a_denied_request_is_answered_here_and_the_connection_lives_on) {
  judge().decide = [](const Request&, bool) { return answer(429, "slow down"); };
  start();
  auto c = client();
  for (int i = 0; i < 3; ++i) {
    const auto got = c.get("/x");
    EXPECT_EQ(got.status, 429);
    EXPECT_EQ(got.body, "slow down");
    EXPECT_EQ(got.header("retry-after"), "7");
    EXPECT_FALSE(got.header("date").empty());
  }
  const auto head = c.ask(request_text("HEAD", "/x"), true);
  EXPECT_EQ(head.header("content-length"), "9");
  EXPECT_EQ(c.get("/y").status, 429);
  EXPECT_EQ(metric(Metric::requests_4xx), 5);
  EXPECT_EQ(metric(Metric::connections_total), 1);
}

TEST_F(Judging, many_pipelined_denials_keep_their_order) {
  int n = 0;
  std::string body;
  judge().decide = [&](const Request&, bool) {
    body = std::to_string(n++);
    return answer(429, body);
  };
  start();
  auto c = client();
  std::thread writer([&] {
    std::string all;
    for (int i = 0; i < 5'000; ++i) all += request_text("GET", "/");
    c.send(all);
  });
  for (int i = 0; i < 5'000; ++i) ASSERT_EQ(c.read().body, std::to_string(i));
  writer.join();
}

TEST_F(Judging, a_small_body_of_a_denied_request_is_drained_and_a_large_one_closes) {
  judge().decide = [](const Request&, bool) { return answer(429); };
  start();
  auto c = client();
  EXPECT_EQ(c.post("/", std::string(60'000, 'x')).header("connection"), "");
  c.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n12345");
  EXPECT_EQ(c.read().status, 429);
  c.send("67890" + request_text("GET", "/next"));
  EXPECT_EQ(c.read().status, 429);
  EXPECT_EQ(c.ask("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
                  "3\r\nabc\r\n0\r\n\r\n")
                .status,
            429);
  c.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100000000\r\n\r\n");
  const auto large = c.read();
  EXPECT_EQ(large.status, 429);
  EXPECT_EQ(large.header("connection"), "close");
  EXPECT_TRUE(c.at_end());
}

TEST_F(Judging, a_denied_request_that_waits_for_100_gets_its_answer_and_a_close) {
  judge().decide = [](const Request&, bool) { return answer(403); };
  start();
  auto c = client();
  c.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n");
  const auto got = c.read();
  EXPECT_EQ(got.status, 403);
  EXPECT_EQ(got.header("connection"), "close");
  EXPECT_TRUE(c.at_end());
}

TEST_F(Judging, how_servers_may_read_a_path_is_told_where_they_differ) {
  judge().strict_paths = false;
  constexpr int kPlain = 401, kAmbiguous = 403, kFolded = 404;
  judge().decide = [](const Request& r, bool) {
    return answer(r.readings == nullptr        ? kPlain
                  : r.readings->is_ambiguous() ? kAmbiguous
                                               : kFolded);
  };
  start();
  auto c = client();  // one connection: such a refusal says nothing of the requests behind it
  for (const auto& [path, is] : {std::pair{"/a/b?c=%2f", kPlain}, std::pair{"/a%2fb", kAmbiguous},
                                 std::pair{"/a;x=1/b", kFolded}, std::pair{"/", kPlain}}) {
    EXPECT_EQ(c.ask("GET " + std::string(path) + " HTTP/1.1\r\nHost: a\r\n\r\n").status, is);
  }
}

TEST_F(Judging, lines_of_the_effect_go_upstream_and_downstream) {
  echo_app();
  judge().decide = [](const Request&, bool) {
    Effect effect;
    effect.upstream_headers = "X-Weir-Verdict: flag\r\nX-Weir-Score: 3\r\n";
    effect.response_headers = "RateLimit: \"p\";r=1\r\n";
    return effect;
  };
  start();
  auto c = client();
  const auto got = c.get("/", "X-Weir-Verdict: forged\r\n");
  EXPECT_EQ(field(got.body, "x-weir-verdict"), "flag");
  EXPECT_EQ(field(got.body, "x-weir-score"), "3");
  EXPECT_EQ(got.header("ratelimit"), "\"p\";r=1");
}

TEST_F(Judging, a_body_that_a_policy_reads_is_judged_whole_and_then_forwarded) {
  origin(OriginServer::answering([](std::string_view, std::string body) { return ok(body); }));
  std::string seen;
  judge().reads_body = [](const Request&) { return true; };
  judge().decide = [&](const Request& r, bool) {
    seen = r.body;
    return Effect{};
  };
  start();
  auto c = client();
  EXPECT_EQ(c.post("/cl", "user=a").body, "user=a");
  on_worker([] {});
  EXPECT_EQ(seen, "user=a");
  c.send("POST /slow HTTP/1.1\r\nHost: a\r\nContent-Length: 6\r\n\r\nus");
  on_worker([] {});
  c.send("er");
  on_worker([] {});
  c.send("=b" + request_text("GET", "/next"));
  EXPECT_EQ(c.read().body, "user=b");
  EXPECT_EQ(c.read().status, 200);
  const std::string chunked =
      "POST /ch HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
      "3\r\nabc\r\n4\r\ndefg\r\n0\r\n\r\n";
  for (std::size_t cut = 1; cut < chunked.size(); ++cut) {
    c.send(chunked.substr(0, cut));
    on_worker([] {});
    c.send(chunked.substr(cut));
    ASSERT_EQ(c.read().body, "abcdefg") << cut;
    on_worker([] {});
    ASSERT_EQ(seen, "abcdefg") << cut;
  }
  const auto log = judge().log();
  EXPECT_EQ(log.front(), "judge /cl complete 6");
}

TEST_F(Judging, a_body_that_is_read_here_gets_its_100_from_here) {
  origin([](Stream& s, int) {
    const auto head = s.read_head();
    if (!head) return;
    EXPECT_FALSE(field(*head, "expect"));
    s.write(ok(s.read_exactly(5)));
  });
  judge().reads_body = [](const Request&) { return true; };
  start();
  auto c = client();
  c.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(c.read().status, 100);
  c.send("hello");
  EXPECT_EQ(c.read().body, "hello");
}

TEST_F(Judging, a_body_too_large_or_encoded_is_judged_as_such_and_still_streams) {
  settings.body_bytes_max = 1'000;
  origin(OriginServer::answering(
      [](std::string_view, std::string body) { return ok(std::to_string(body.size())); }));
  judge().reads_body = [](const Request&) { return true; };
  start();
  auto c = client();
  EXPECT_EQ(c.post("/cl", std::string(5'000, 'x')).body, "5000");
  std::string chunks;
  for (int i = 0; i < 100; ++i) chunks += "64\r\n" + std::string(100, 'y') + "\r\n";
  EXPECT_EQ(c.ask("POST /ch HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks +
                  "0\r\n\r\n")
                .body,
            "10000");
  EXPECT_EQ(c.post("/gz", "zzzz", "Content-Encoding: gzip\r\n").body, "4");
  Log judged;
  for (const auto& line : judge().log()) {
    if (line.starts_with("judge")) judged.push_back(line);
  }
  EXPECT_EQ(judged, (Log{"judge /cl too_large 0", "judge /ch too_large 0", "judge /gz encoded 0"}));
  EXPECT_EQ(metric(Metric::limit_body), 2);
}

TEST_F(Judging, a_delayed_request_is_held_and_then_sent) {
  echo_app();
  judge().decide = [](const Request&, bool) {
    Effect effect = of_kind(Effect::Kind::delay);
    effect.hold = milliseconds(50);
    effect.upstream_headers = "X-Weir-Verdict: delay\r\n";
    effect.response_headers = "X-Held: yes\r\n";
    return effect;
  };
  start();
  auto c = client();
  const auto before = Clock::wall();
  const auto got = c.get("/slow");
  EXPECT_GE(Clock::wall() - before, milliseconds(50));
  EXPECT_EQ(field(got.body, "x-weir-verdict"), "delay");
  EXPECT_EQ(got.header("x-held"), "yes");
  EXPECT_EQ(c.post("/slow", "body").body, "body");
  EXPECT_EQ(judge().log()[1], "end_hold");
}

/// Holds `/hold/N` for N ms.
Effect hold_by_path(const Request& request, bool) {
  if (!request.path.starts_with("/hold/")) return {};
  Effect effect = of_kind(Effect::Kind::delay);
  effect.hold = milliseconds(std::stoi(std::string(request.path.substr(6))));
  return effect;
}

TEST_F(Judging, a_judged_body_that_trickles_is_a_408) {
  settings.body_time = milliseconds(100);
  echo_app();
  judge().reads_body = [](const Request& request) { return request.method == "POST"; };
  judge().decide = hold_by_path;
  start();
  auto c = client();
  c.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n");
  auto clock = client();
  for (int i = 0; i < 100 && metric(Metric::timeout_body) == 0; ++i) {
    c.send("x");  // often enough, and too little
    clock.get("/hold/20");
  }
  EXPECT_EQ(c.read().status, 408);
}

TEST_F(Judging, a_body_that_streams_to_the_app_and_trickles_is_a_408) {
  settings.body_time = milliseconds(500);
  echo_app();
  judge().decide = hold_by_path;
  start();
  auto c = client();
  c.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n");
  auto clock = client();
  for (int i = 0; i < 150 && metric(Metric::timeout_body) == 0; ++i) {
    c.send("x");  // often enough between two reads, and too little in all
    clock.get("/hold/20");
  }
  EXPECT_EQ(metric(Metric::timeout_body), 1) << "while it was still sending";
  EXPECT_EQ(c.read().status, 408);
}

TEST_F(Judging, a_body_that_streams_to_the_app_fast_enough_may_take_its_time) {
  settings.body_time = milliseconds(200);
  echo_app();
  judge().decide = hold_by_path;
  start();
  auto c = client();
  const std::string piece(50, 'x');  // for each a fifth of a second
  c.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n");
  auto clock = client();
  for (int i = 0; i < 20; ++i) {
    c.send(piece);
    clock.get("/hold/30");
  }
  EXPECT_EQ(c.read().body.size(), 1000U);
}

TEST_F(Judging, how_long_a_request_was_held_leaves_its_body_time_to_be_thrown_away) {
  settings.body_time = milliseconds(400);
  origin([](Stream& s, int) {
    while (s.read_head()) s.write(ok("early"));
  });
  judge().decide = hold_by_path;
  start();
  auto c = client();
  c.send("POST /hold/600 HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\n");
  EXPECT_EQ(c.read().body, "early");
  auto clock = client();
  for (int i = 0; i < 3; ++i) {
    c.send("x");
    clock.get("/hold/60");
  }
  EXPECT_EQ(c.get("/next").body, "early") << "the connection has gone on";
}

TEST_F(Judging, a_client_that_leaves_while_held_gives_its_place_back) {
  judge().decide = [](const Request&, bool) {
    Effect effect = of_kind(Effect::Kind::delay);
    effect.hold = std::chrono::hours(1);
    return effect;
  };
  start();
  {
    auto c = client();
    c.send(request_text("GET", "/held"));
    ASSERT_TRUE(judge().wait_for("judge /held"));
    on_worker([] {});  // it is held now
  }
  EXPECT_TRUE(judge().wait_for("finish /held not_sent"));
  EXPECT_EQ(judge().log(), (Log{"judge /held", "end_hold", "finish /held not_sent"}));
  EXPECT_TRUE(metric_becomes(Metric::connections_open, 0));
}

TEST_F(Judging, a_waiting_request_goes_on_when_it_is_resumed) {
  origin(OriginServer::answering([](std::string_view, std::string body) { return ok(body); }));
  std::atomic<bool> crowded{true};
  judge().decide = [&](const Request&, bool may_wait) {
    return crowded && may_wait ? of_kind(Effect::Kind::wait) : Effect{};
  };
  start();
  auto c = client();
  c.send(request_text("POST", "/w", {}, "hello") + request_text("POST", "/w2", {}, "again"));
  ASSERT_TRUE(judge().wait_for("park"));
  crowded = false;
  on_worker([&] { judge().release_waiters(); });
  EXPECT_EQ(c.read().body, "hello");
  EXPECT_EQ(c.read().body, "again");
}

TEST_F(Judging, a_wait_that_is_over_is_judged_for_the_last_time) {
  judge().wait_time = milliseconds(30);
  judge().decide = [](const Request&, bool may_wait) {
    return may_wait ? of_kind(Effect::Kind::wait) : answer(429);
  };
  start();
  auto c = client();
  EXPECT_EQ(c.get("/w").status, 429);  // by tick(): nothing else happens on this worker
  EXPECT_EQ(judge().log(), (Log{"judge /w", "park", "judge /w last"}));
}

TEST_F(Judging, a_full_queue_refuses_at_once) {
  judge().park_room = 0;
  judge().decide = [](const Request&, bool may_wait) {
    return may_wait ? of_kind(Effect::Kind::wait) : answer(429);
  };
  start();
  auto c = client();
  EXPECT_EQ(c.get("/w").status, 429);
  EXPECT_EQ(judge().log(), (Log{"judge /w", "judge /w last"}));
}

TEST_F(Judging, a_client_that_leaves_while_parked_is_forgotten) {
  judge().decide = [](const Request&, bool) { return of_kind(Effect::Kind::wait); };
  start();
  {
    auto c = client();
    c.send(request_text("GET", "/w"));
    ASSERT_TRUE(judge().wait_for("park"));
  }
  EXPECT_TRUE(judge().wait_for("unpark"));
  EXPECT_TRUE(metric_becomes(Metric::connections_open, 0));
}

TEST_F(Judging, the_answers_body_is_copied_beside_the_stream) {
  settings.body_bytes_max = 1'000;
  judge().reads_answers = true;
  origin(OriginServer::answering([](std::string_view head, std::string) -> std::string {
    if (head.starts_with("GET /large")) return ok(std::string(5'000, 'x'));
    if (head.starts_with("GET /gzip")) return ok("zz", "Content-Encoding: gzip\r\n");
    if (head.starts_with("GET /chunked")) {
      return "HTTP/1.1 200 OK\r\nTransfer-Encoding: "
             "chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n";
    }
    if (head.starts_with("GET /none")) return "HTTP/1.1 204 No Content\r\n\r\n";
    return ok("small");
  }));
  start();
  auto c = client();
  EXPECT_EQ(c.get("/small").body, "small");
  EXPECT_EQ(c.get("/chunked").body, "abcde");
  EXPECT_EQ(c.get("/large").body.size(), 5'000u);
  EXPECT_EQ(c.get("/gzip").body, "zz");
  EXPECT_EQ(c.get("/none").status, 204);
  on_worker([] {});
  Log bodies;
  for (const auto& line : judge().log()) {
    if (line.starts_with("body")) bodies.push_back(line);
  }
  EXPECT_EQ(bodies,
            (Log{"body /small complete 5", "body /chunked complete 5", "body /large too_large 0",
                 "body /gzip broken 0", "body /none complete 0"}));
}

TEST_F(Judging, a_client_that_hangs_up_after_sending_counts_as_aborted) {
  std::promise<void> hang_up;
  origin([&](Stream& s, int) {
    s.read_head();
    hang_up.set_value();
    s.read_to_end();
  });
  start();
  auto c = client();
  c.send(request_text("POST", "/login", {}, "user=a"));
  hang_up.get_future().wait();
  c.stream().reset();
  EXPECT_TRUE(judge().wait_for("finish /login aborted"));
  EXPECT_EQ(metric(Metric::client_aborts), 1);
}

TEST_F(Judging, a_client_that_leaves_in_the_middle_of_its_body_counts_as_aborted) {
  std::promise<void> arrived;
  origin([&](Stream& s, int) {
    s.read_head();
    arrived.set_value();
    s.read_to_end();
  });
  start();
  auto c = client();
  c.send("POST /login HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nuser");
  arrived.get_future().wait();
  c.stream().close();
  EXPECT_TRUE(judge().wait_for("finish /login aborted"));
}

TEST_F(Judging, the_client_address_comes_from_trusted_hops_only) {
  settings.client_rules = net::ClientAddressRules({*Cidr::parse("127.0.0.0/8")}, "x-forwarded-for");
  std::string seen;
  judge().decide = [&](const Request& r, bool) {
    seen = r.client.to_string() + " " + std::string(r.host) + " " + std::string(r.path) + " " +
           std::string(r.query) + " " + std::string(r.scheme);
    return answer(403);
  };
  start();
  auto c = client();
  c.ask(
      "GET /a/../b?q=1 HTTP/1.1\r\nHost: App.Example:80\r\nX-Forwarded-Proto: https\r\n"
      "X-Forwarded-For: 9.9.9.9, 203.0.113.7, 127.0.0.3\r\n\r\n");
  on_worker([] {});
  EXPECT_EQ(seen, "203.0.113.7 app.example /b q=1 https");
  c.ask(
      "GET /two HTTP/1.1\r\nHost: a\r\nX-Forwarded-Proto: https\r\n"
      "X-Forwarded-Proto: http\r\n\r\n");
  on_worker([] {});
  EXPECT_EQ(seen, "127.0.0.1 a /two  http") << "what the app is told as well";
}

}  // namespace
}  // namespace weir::test::judging_test
