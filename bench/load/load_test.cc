#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "bench/load/answer_scan.h"
#include "bench/load/endpoint.h"
#include "bench/load/histogram.h"
#include "bench/load/requests.h"

namespace weir::load::load_test {
namespace {

TEST(Endpoint, TakesLoopbackAndUnixSocketsOnly) {
  for (const char* good : {"127.0.0.1:80", "[::1]:65535", "unix:/tmp/a.sock"}) {
    EXPECT_NO_THROW(parse_endpoint(good)) << good;
  }
  for (const char* bad :
       {"", "localhost:80", "127.0.0.2:80", "10.0.0.1:80", "0.0.0.0:80", "[::]:80", "[::2]:80",
        "127.0.0.1", "127.0.0.1:", "127.0.0.1:0", "127.0.0.1:65536", "127.0.0.1:80x",
        "127.0.0.1.example.org:80", "http://127.0.0.1:80", "unix:"}) {
    EXPECT_THROW(parse_endpoint(bad), UsageError) << bad;
  }
}

TEST(Histogram, QuantilesAreAtMostOnePercentAboveTheTruth) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  Histogram histogram;
  std::vector<std::int64_t> values;
  for (int i = 0; i < 20'000; ++i) {
    values.push_back(static_cast<std::int64_t>(random() >> (1 + random() % 63)));
    histogram.add(values.back());
  }
  std::sort(values.begin(), values.end());
  for (const double q : {0.001, 0.5, 0.9, 0.99, 0.999, 1.0}) {
    const auto rank = static_cast<std::size_t>(q * static_cast<double>(values.size()) + 0.9999999);
    const auto truth = static_cast<double>(values[rank - 1]);
    const auto got = static_cast<double>(histogram.quantile(q));
    EXPECT_GE(got, truth) << q;
    EXPECT_LE(got, truth * 1.0079 + 1) << q;
  }
}

TEST(Histogram, EmptyIsZeroAndNegativeCountsAsZero) {
  Histogram histogram;
  EXPECT_EQ(histogram.quantile(0.5), 0U);
  histogram.add(-5);
  EXPECT_EQ(histogram.quantile(1), 0U);
  EXPECT_EQ(histogram.count(), 1U);
}

TEST(Requests, RealIsThatOfThePerformancePage) {
  Requests requests({});
  const std::string text(requests.next());
  EXPECT_EQ(text.size(), 541U);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1 + 9 + 1);
}

TEST(Requests, VariesFieldsInTurn) {
  Requests::Options options;
  options.login = true;
  options.users = 3;
  options.devices = 2;
  options.addresses = 200;
  Requests requests(options);
  std::vector<std::string> texts;
  for (int i = 0; i < 4; ++i) texts.emplace_back(requests.next());
  EXPECT_NE(texts[0].find("\"user00000000\""), std::string::npos);
  EXPECT_NE(texts[2].find("\"user00000002\""), std::string::npos);
  EXPECT_NE(texts[3].find("\"user00000000\""), std::string::npos);
  EXPECT_NE(texts[1].find("d0000000000000001"), std::string::npos);
  EXPECT_NE(texts[3].find("100.100.100.103"), std::string::npos);
  for (int i = 4; i < 130; ++i) requests.next();
  EXPECT_NE(requests.next().find("100.100.101.102"), std::string::npos);
}

TEST(Requests, DrawsByZipfsLaw) {
  Requests::Options options;
  options.addresses = 1'000;
  options.skew = 1;
  Requests requests(options);
  constexpr int kDraws = 20'000;
  int first = 0, second = 0;
  for (int i = 0; i < kDraws; ++i) {
    const std::string_view text = requests.next();
    first += text.find("100.100.100.100") != text.npos;
    second += text.find("100.100.100.101") != text.npos;
  }
  // 1 of 7.485 (the thousandth harmonic number) and half of that; five standard deviations.
  EXPECT_NEAR(first, kDraws / 7.485, 5 * 48);
  EXPECT_NEAR(second, kDraws / 7.485 / 2, 5 * 35);
}

TEST(AnswerScan, FindsTheEndOfAMessage) {
  const auto scan = [](std::string_view text) { return scan_head(text, true); };
  EXPECT_EQ(scan("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n").status, HeadScan::Status::incomplete);
  const HeadScan whole =
      scan("HTTP/1.1 429 No\r\ncontent-length:  12 \r\nConnection: close\r\n\r\nabc");
  EXPECT_EQ(whole.status, HeadScan::Status::complete);
  EXPECT_EQ(whole.code, 429);
  EXPECT_EQ(whole.body_bytes, 12U);
  EXPECT_TRUE(whole.closes);
  EXPECT_EQ(scan("HTTP/1.1 204 No\r\n\r\n").status, HeadScan::Status::complete);
  for (const char* bad : {"HTTP/1.1 200 OK\r\n\r\n", "HTTP/1.1 2x0 OK\r\nContent-Length: 1\r\n\r\n",
                          "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n",
                          "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", "junk\r\n\r\n",
                          "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"}) {
    EXPECT_EQ(scan(bad).status, HeadScan::Status::malformed) << bad;
  }
}

}  // namespace
}  // namespace weir::load::load_test
