#include "app/serve/notify.h"

#include <gtest/gtest.h>

#include "app/support/verdict_line.h"
#include "telemetry/ring.h"

namespace weir::app::notify_test {
namespace {

constexpr TimePoint kStart = from_ms(1'800'000'000'000);

TEST(MinuteQuota, sends_so_many_a_minute_and_then_says_how_many_it_left_out) {
  MinuteQuota quota;
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(quota.take(kStart + milliseconds{i}, 10)) << i;
  for (int i = 0; i < 37; ++i) EXPECT_FALSE(quota.take(kStart + milliseconds{1'000}, 10)) << i;
  EXPECT_EQ(quota.summary(kStart + milliseconds{59'999}), 0);
  EXPECT_FALSE(quota.take(kStart + milliseconds{60'001}, 10)) << "the summary goes first";
  EXPECT_EQ(quota.summary(kStart + milliseconds{60'002}), 38);
  EXPECT_EQ(quota.summary(kStart + milliseconds{60'003}), 0);
  for (int i = 0; i < 9; ++i) EXPECT_TRUE(quota.take(kStart + milliseconds{60'010}, 10)) << i;
  EXPECT_FALSE(quota.take(kStart + milliseconds{60'011}, 10)) << "the summary was one of ten";
}

TEST(MinuteQuota, begins_anew_after_a_quiet_minute) {
  MinuteQuota quota;
  EXPECT_TRUE(quota.take(kStart, 1));
  EXPECT_TRUE(quota.take(kStart + milliseconds{60'000}, 1));
  EXPECT_EQ(quota.summary(kStart + milliseconds{200'000}), 0);
}

News listed_news() {
  News news;
  news.kind = News::Kind::listed;
  news.effect = Action::graylist;
  news.created = true;
  news.list = true;
  news.time = kStart;
  news.until = kStart + milliseconds{900'000};
  news.window = milliseconds{600'000};
  news.value = Number{11};
  news.limit = Number{10};
  news.decider = std::string_view("login-per-ip");
  news.list_name = std::string_view("gray");
  const std::string_view key = "203.0.113.7\"\n";
  news.key.set({&key, 1});
  return news;
}

TEST(Notifier, tells_a_webhook_who_was_listed_and_why) {
  EXPECT_EQ(
      Notifier::message_of("ops", listed_news()),
      R"({"notification":"ops","time":"2027-01-15T08:00:00.000Z","policy":"login-per-ip","list":"gray",)"
      R"("key":"203.0.113.7\"\u000a","action":"graylist","value":11,"limit":10,"window":"10m",)"
      R"("until":"2027-01-15T08:15:00.000Z"})"
      "\n");
}

struct NotifierTest : testing::Test {
  /// The log lines of a tick.
  std::string tick(TimePoint now) {
    testing::internal::CaptureStderr();
    notifier.tick(now);
    log.flush(milliseconds{10'000});
    return testing::internal::GetCapturedStderr();
  }
  void burst(int count, TimePoint now) {
    News news = listed_news();
    news.notify = std::string_view("ops");
    for (int i = 0; i < count; ++i) notifier.notify(news, "#1", now);
  }
  static std::vector<config::NotifyDef> channel(unsigned per_minute) {
    config::NotifyDef def;
    def.name.value = "ops";
    def.webhook = config::Text{"http://127.0.0.1:1/", {}};
    def.per_minute = per_minute;
    return {def};
  }

  boost::asio::io_context control;  // never run: nothing is delivered
  Log log{Level::info, true};
  telemetry::Metrics metrics{1};
  Notifier notifier{control, log, metrics.control()};
};

TEST_F(NotifierTest, a_burst_that_finds_no_room_is_counted_and_logged_once_a_minute) {
  constexpr auto kRoom = static_cast<int>(Notifier::kWaitingMax) + 1;  // one is on its way
  notifier.use(channel(10'000));
  burst(1'000, kStart);
  EXPECT_EQ(metrics.sum(telemetry::Metric::notify_dropped), 1'000 - kRoom);
  const std::string line = tick(kStart + milliseconds{500});
  EXPECT_NE(line.find("\"count\":" + std::to_string(1'000 - kRoom)), std::string::npos) << line;
  burst(5, kStart + milliseconds{600});
  EXPECT_EQ(tick(kStart + milliseconds{1'500}), "") << "not more than once a minute";
  EXPECT_NE(tick(kStart + milliseconds{60'500}).find("\"count\":5"), std::string::npos);
  EXPECT_EQ(tick(kStart + milliseconds{180'500}), "");
  EXPECT_EQ(metrics.sum(telemetry::Metric::notify_dropped), 1'005 - kRoom);
}

TEST_F(NotifierTest, what_the_quota_leaves_out_is_logged_too) {
  notifier.use(channel(10));
  burst(47, kStart);
  EXPECT_EQ(metrics.sum(telemetry::Metric::notify_dropped), 37);
  EXPECT_NE(tick(kStart).find("\"count\":37"), std::string::npos);
}

TEST_F(NotifierTest, what_a_full_worker_queue_has_lost_is_counted_and_logged) {
  notifier.lost(3);
  EXPECT_EQ(metrics.sum(telemetry::Metric::notify_dropped), 3);
  EXPECT_NE(tick(kStart).find("\"count\":3"), std::string::npos);
  EXPECT_EQ(tick(kStart + milliseconds{1}), "");
}

TEST(VerdictLine, is_one_line_for_people) {
  EXPECT_EQ(
      verdict_line(listed_news(), false),
      "08:00:00.000  \"203.0.113.7\"\"\\u000a\"  listed  login-per-ip 11/10 in 10m, on gray, until "
      "08:15:00\n");
  News news = listed_news();
  news.kind = News::Kind::verdict;
  news.effect = Action::deny;
  news.status = 429;
  news.client = *Address::parse("203.0.113.7");
  news.method = std::string_view("POST");
  news.path = std::string_view("/api/login");
  EXPECT_EQ(verdict_line(news, false),
            "08:00:00.000  203.0.113.7      POST /api/login           deny 429   login-per-ip "
            "11/10 in 10m\n");
  EXPECT_NE(verdict_line(news, true).find("\x1b[31m"), std::string::npos) << "a refusal is red";
  news.shadow = true;
  news.status = 0;
  EXPECT_NE(verdict_line(news, false).find("would deny"), std::string::npos);
}

TEST(Ring, takes_what_has_room_and_gives_it_back_in_order) {
  telemetry::Ring<int, 4> ring;
  EXPECT_EQ(ring.front(), nullptr);
  for (int round = 0; round < 10; ++round) {
    for (int i = 0; i < 4; ++i) {
      int* place = ring.reserve();
      ASSERT_NE(place, nullptr);
      *place = round * 4 + i;
      ring.publish();
    }
    EXPECT_EQ(ring.reserve(), nullptr);
    for (int i = 0; i < 4; ++i) {
      ASSERT_NE(ring.front(), nullptr);
      EXPECT_EQ(*ring.front(), round * 4 + i);
      ring.drop();
    }
    EXPECT_EQ(ring.front(), nullptr);
  }
}

TEST(Url, takes_webhook_addresses_apart) {
  struct Case {
    const char *text, *host, *port, *target, *authority;
    bool tls;
  };
  const Case kGood[] = {
      {"http://h", "h", "80", "/", "h", false},
      {"https://hooks.example/x?y=1", "hooks.example", "443", "/x?y=1", "hooks.example", true},
      {"http://h:8080/a", "h", "8080", "/a", "h:8080", false},
      {"http://[::1]:81?q", "::1", "81", "/?q", "[::1]:81", false},
  };
  for (const Case& c : kGood) {
    const auto url = Url::parse(c.text);
    ASSERT_TRUE(url) << c.text;
    EXPECT_EQ(url->host, c.host);
    EXPECT_EQ(url->port, c.port);
    EXPECT_EQ(url->target, c.target);
    EXPECT_EQ(url->authority(), c.authority);
    EXPECT_EQ(url->tls, c.tls);
  }
  for (const char* bad :
       {"", "h", "ftp://h", "http://", "http:///x", "http://u@h/", "http://h:x/", "http://h:/",
        "http://h/a b", "http://h/#f", "http://h/\r\nX: y", "http://[::1"}) {
    EXPECT_FALSE(Url::parse(bad)) << bad;
  }
}

}  // namespace
}  // namespace weir::app::notify_test
