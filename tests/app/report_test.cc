#include "app/serve/report.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "app/support/configuration.h"
#include "app/support/verdict_line.h"

namespace weir::app::report_test {
namespace {

struct ReportTest : testing::Test {
  boost::asio::io_context control{1};
  HashSecret secret = HashSecret::from_bytes({});
  Log log{Level::error, true};
  telemetry::Metrics metrics{1};
  Report report{control, 1, secret, log, metrics.control()};

  static News verdict() {
    News news;
    news.effect = Action::deny;
    news.status = 429;
    news.decider = std::string_view("rewards");
    news.time = from_ms(1'800'000'000'000);
    return news;
  }
};

TEST_F(ReportTest, a_verdict_on_an_event_names_it) {
  News news = verdict();
  news.event = std::string_view("ad_reward");
  const std::string line = report.line_of(news).to_text(Level::info, news.time);
  EXPECT_NE(line.find(" event=ad_reward "), std::string::npos) << line;
  for (const char* absent : {"client=", "method=", "path="})
    EXPECT_EQ(line.find(absent), std::string::npos) << line;
  EXPECT_EQ(verdict_line(news, false),
            "08:00:00.000  -                ad_reward                 deny 429   rewards\n");
}

TEST_F(ReportTest, a_verdict_on_a_request_has_its_marks_and_no_event) {
  News news = verdict();
  news.client = *Address::parse("203.0.113.7");
  news.method = std::string_view("GET");
  news.path = std::string_view("/");
  const std::string line = report.line_of(news).to_text(Level::info, news.time);
  EXPECT_NE(line.find(" client=#"), std::string::npos) << line;
  EXPECT_NE(line.find(" method=GET path=/ "), std::string::npos) << line;
  EXPECT_EQ(line.find("event="), std::string::npos) << line;
}

/// The output of a log into a pipe.
struct Written {
  Written() { EXPECT_EQ(::pipe2(ends, O_NONBLOCK), 0); }
  ~Written() {
    for (const int end : ends) ::close(end);
  }
  std::string text(const Log& log) {
    log.flush(milliseconds{10'000});
    char bytes[65'536];
    const ssize_t n = ::read(ends[0], bytes, sizeof(bytes));
    return n > 0 ? std::string(bytes, static_cast<std::size_t>(n)) : std::string();
  }
  int ends[2];
};

std::size_t count_of(const std::string& text, std::string_view part) {
  std::size_t n = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

TEST_F(ReportTest, verdicts_and_list_entries_are_limited_and_counted) {
  const Configuration configuration = compile(config::load_text("weir.yaml", R"(weir: 1
log: {verdicts_per_second: 3}
policies: [{name: p, watch: request, key: ip, window: 1m, then: [{over: 1, do: graylist, for: 1h}]}]
)"));
  ASSERT_TRUE(configuration.good());
  Written written;
  Log to_pipe(Level::info, true, written.ends[1]);
  Report limited(control, 1, secret, to_pipe, metrics.control());
  limited.use(configuration.model());
  const TimePoint start = from_ms(1'800'000'000'000);
  policies::Verdict refused;
  refused.kind = policies::Verdict::Kind::refuse;
  refused.effect = Action::deny;
  refused.status = 429;
  Request request;
  policies::Observer::Listed entry{};
  entry.policy = &configuration.set->policies.front();
  entry.rung = &entry.policy->rungs.front();
  entry.created = true;
  for (int i = 0; i < 10; ++i) {
    limited.observer(0).judged(*configuration.set, request, refused);
    limited.observer(0).listed(*configuration.set, entry, start);
    if (i % 4 == 0) limited.drain();
  }
  limited.drain();
  std::string text = written.text(to_pipe);
  EXPECT_EQ(count_of(text, "\"message\":\"verdict\""), 3U) << text;
  EXPECT_EQ(count_of(text, "\"message\":\"listed\""), 3U) << text;
  limited.tick(start + milliseconds{1'000});
  text = written.text(to_pipe);
  EXPECT_EQ(count_of(text, "verdicts left out of the log\",\"count\":7"), 1U) << text;
  EXPECT_EQ(count_of(text, "list entries left out of the log\",\"count\":7"), 1U) << text;
  EXPECT_EQ(metrics.sum(telemetry::Metric::log_left_out), 14);
  limited.observer(0).judged(*configuration.set, request, refused);
  limited.drain();
  EXPECT_EQ(count_of(written.text(to_pipe), "\"message\":\"verdict\""), 1U) << "a new second";
}

// The tail keeps nothing before the first request, or once requests have stopped for a while.
TEST_F(ReportTest, whoever_asks_sees_the_verdicts_from_then_on) {
  const Configuration configuration = compile(config::load_text("weir.yaml", R"(weir: 1
policies: [{name: p, watch: request, key: ip, window: 1m, then: [{over: 1, do: flag}]}]
)"));
  ASSERT_TRUE(configuration.good());
  const TimePoint start = from_ms(1'800'000'000'000);
  Request request;
  request.method = "GET";
  request.path = "/seen";
  request.client = *Address::parse("203.0.113.7");
  policies::Verdict flagged;
  flagged.effect = Action::flag;
  const auto judge = [&](int times) {
    for (int i = 0; i < times; ++i) report.observer(0).judged(*configuration.set, request, flagged);
    report.drain();
  };
  judge(3);
  EXPECT_EQ(report.verdicts({}, 10, start).next, 0U) << "those before are not kept";
  judge(3);
  admin::VerdictPage page = report.verdicts(0, 2, start);
  ASSERT_EQ(page.rows.size(), 2U);
  EXPECT_EQ(page.rows[0].path, "/seen");
  EXPECT_EQ(page.rows[0].client, "203.0.113.7");
  EXPECT_EQ(page.rows[0].effect, "flag");
  EXPECT_EQ(page.next, 2U);
  page = report.verdicts(page.next, 10, start);
  EXPECT_EQ(page.rows.size(), 1U);
  EXPECT_EQ(report.verdicts(3, 10, start).rows.size(), 0U);
  EXPECT_EQ(report.verdicts(999, 10, start).next, 3U) << "a number of another life";

  for (int second = 1; second <= 4; ++second) {
    report.tick(start + milliseconds{second * 1000});
    judge(400);
  }
  page = report.verdicts(3, 10, start);
  EXPECT_EQ(page.missed, 600U) << "a thousand are kept";
  EXPECT_EQ(page.rows.size(), 10U);
  report.tick(start + Report::kTailFor);
  judge(5);
  page = report.verdicts(1'603, 10, start);
  EXPECT_EQ(page.next, 1'603U) << "nobody asked for ten seconds: none was kept";
}

}  // namespace
}  // namespace weir::app::report_test
