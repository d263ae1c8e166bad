#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "core/key.h"
#include "limiter/views/bloom.h"
#include "limiter/views/hyperloglog.h"
#include "limiter/views/view.h"
#include "tests/support/redis_server.h"

namespace weir::limiter::sketch_test {
namespace {

const HashSecret kSecret = HashSecret::from_bytes({9});

/// A size between 1 and 300,000, small ones as often as large ones.
std::size_t some_size(std::mt19937_64& random) {
  return static_cast<std::size_t>(
      std::pow(10.0, std::uniform_real_distribution<double>(0, 5.48)(random)));
}

TEST(Bloom, KnowsEveryMemberAndTakesFewStrangersForKnown) {
  Bloom filter(10'000, 0.01);
  const auto member = [](int i) { return kSecret.hash(std::to_string(i)); };
  for (int i = 0; i < 10'000; ++i) filter.add(member(i));
  for (int i = 0; i < 10'000; ++i) ASSERT_TRUE(filter.has(member(i)));
  int wrong = 0;
  for (int i = 10'000; i < 110'000; ++i) wrong += filter.has(member(i)) ? 1 : 0;
  EXPECT_LT(wrong, 1'100) << "0.01 of 100,000 is 1,000";
  EXPECT_GT(wrong, 500) << "and fewer would be bits wasted";
  EXPECT_EQ(filter.probes(), 7u);
  EXPECT_NEAR(static_cast<double>(filter.bytes()), 10'000 * 9.585 / 8, 16);
}

TEST(Bloom, CountsWithinItsErrorOverAHundredRandomSets) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const std::size_t size = some_size(random);
    const double error = seed % 2 == 0 ? 0.01 : 0.03;
    Bloom filter(size, error);
    double counted = 0;
    for (std::size_t i = 0; i < size; ++i) {
      const std::string text = std::to_string(seed) + ":" + std::to_string(i);
      counted += filter.add(kSecret.hash(text)) ? 1 : 0;
      if (i % 3 == 0) counted += filter.add(kSecret.hash(text)) ? 1 : 0;
    }
    EXPECT_NEAR(counted, static_cast<double>(size), error * static_cast<double>(size));
  }
}

TEST(HyperLogLog, EstimatesWithinItsErrorOverAHundredRandomSets) {
  double squares = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const std::size_t size = some_size(random);
    const double error = seed % 2 == 0 ? 0.01 : 0.05;
    HyperLogLog sketch(HyperLogLog::precision_for(error));
    for (std::size_t i = 0; i < size; ++i) {
      const auto hash = kSecret.hash(std::to_string(seed) + ":" + std::to_string(i)).lo;
      sketch.add(hash);
      if (i % 3 == 0) sketch.add(hash);
    }
    const double off = sketch.estimate() / static_cast<double>(size) - 1;
    EXPECT_LE(std::abs(off), error);
    squares += off * off / (error * error);
  }
  // Four standard errors make the stated error, so the mean square is a sixteenth of it.
  EXPECT_LT(std::sqrt(squares / 100), 0.33);
}

TEST(HyperLogLog, TheStandardErrorIsThatOfThePaper) {
  // 400 sets of 4,000 with 256 registers: 1.04 / 16 = 6.5 %.
  double squares = 0, sum = 0;
  for (int set = 0; set < 400; ++set) {
    HyperLogLog sketch(8);
    for (int i = 0; i < 4'000; ++i) {
      sketch.add(kSecret.hash(std::to_string(set) + "/" + std::to_string(i)).hi);
    }
    const double off = sketch.estimate() / 4'000 - 1;
    squares += off * off;
    sum += off;
  }
  EXPECT_NEAR(std::sqrt(squares / 400), 0.065, 0.008);
  EXPECT_NEAR(sum / 400, 0, 0.013) << "no bias";
}

TEST(HyperLogLog, FewMembersTakeFewBytesAndAreCountedExactly) {
  HyperLogLog sketch(18);
  EXPECT_EQ(sketch.estimate(), 0);
  for (int i = 0; i < 300; ++i) sketch.add(kSecret.hash(std::to_string(i)).lo);
  EXPECT_NEAR(sketch.estimate(), 300, 1.5);
  EXPECT_LE(sketch.bytes(), 4'096u);
  for (int i = 0; i < 300'000; ++i) sketch.add(kSecret.hash(std::to_string(i)).lo);
  EXPECT_EQ(sketch.bytes(), std::size_t{1} << 18);
  EXPECT_NEAR(sketch.estimate(), 300'000, 3'000);
}

TEST(HyperLogLog, PrecisionIsTheLeastThatKeepsTheError) {
  EXPECT_EQ(HyperLogLog::precision_for(0.5), 7u);
  EXPECT_EQ(HyperLogLog::precision_for(0.01), 18u);
  EXPECT_EQ(HyperLogLog::precision_for(0.002), 23u);
}

TEST(HyperLogLog, IsAsGoodAsPfcountOfARealRedis) {
  weir::test::RedisServer redis;
  ASSERT_TRUE(redis.running());
  constexpr int kSets = 100;
  double ours = 0, theirs = 0;
  for (int set = 0; set < kSets; ++set) {
    SCOPED_TRACE("set " + std::to_string(set));
    std::mt19937_64 random(static_cast<std::uint64_t>(set));
    const std::size_t size = some_size(random) / 8 + 1;
    HyperLogLog sketch(14);  // as many registers as Redis has
    std::vector<std::string> command{"PFADD", "k" + std::to_string(set)};
    for (std::size_t i = 0; i < size; ++i) {
      const std::string member = std::to_string(set) + "-" + std::to_string(i);
      sketch.add(kSecret.hash(member).lo);
      command.push_back(member);
      if (command.size() == 2'000 || i + 1 == size) {
        redis.integer(command);
        command.resize(2);
      }
    }
    const auto truth = static_cast<double>(size);
    const double off = sketch.estimate() / truth - 1;
    const auto counted = redis.integer({"PFCOUNT", "k" + std::to_string(set)});
    const double other = static_cast<double>(counted) / truth - 1;
    // Each within four standard errors (and a half member, since PFCOUNT rounds).
    EXPECT_NEAR(off, 0, 4 * 0.0081);
    EXPECT_NEAR(other, 0, 4 * 0.0081 + 0.5 / truth);
    ours += off * off;
    theirs += other * other;
  }
  EXPECT_LE(std::sqrt(ours / kSets), 0.0081);
  EXPECT_LE(std::sqrt(ours), 1.3 * std::sqrt(theirs));
}

/// A view of distinct members per group over hopping windows, whose every number is near the truth.
void expect_close(Method method) {
  ViewSpec exact;
  exact.metric = Metric::distinct;
  exact.length = milliseconds{100};
  exact.hop = milliseconds{25};
  ViewSpec rough = exact;
  rough.method = method;
  rough.error = 0.03;
  rough.expect = 20'000;
  const auto truth = make_view(exact), view = make_view(rough);
  struct Result {
    std::int64_t end;
    double total;
    std::map<std::string, double> rows;
  };
  const auto into = [](std::vector<Result>& out) {
    return [&out](const ViewWindow& window) {
      Result result{to_ms(window.end), window.total.as_real(), {}};
      for (const ViewRow& row : window.rows) {
        result.rows[std::string(row.parts)] = row.value.as_real();
      }
      out.push_back(std::move(result));
    };
  };
  std::vector<Result> expected, seen;
  std::mt19937_64 random(5);
  for (std::int64_t at = 0; at < 400; ++at) {
    for (int i = 0; i < 60; ++i) {
      const std::string key(1, static_cast<char>('a' + random() % 3));
      const std::uint32_t size = 1;
      const std::string parts = std::string(reinterpret_cast<const char*>(&size), 4) + key;
      ViewEvent event;
      event.at = from_ms(at - static_cast<std::int64_t>(random() % 10));
      event.key = kSecret.hash(parts);
      event.parts = parts;
      event.member = kSecret.hash(std::to_string(random() % 9'000));
      // A sketch may take a new member for a known one.
      const bool late = truth->observe(event) == View::Seen::late;
      EXPECT_EQ(view->observe(event) == View::Seen::late, late);
    }
    truth->advance(from_ms(at - 8), into(expected));
    view->advance(from_ms(at - 8), into(seen));
  }
  truth->flush(into(expected));
  view->flush(into(seen));
  ASSERT_EQ(seen.size(), expected.size());
  ASSERT_GT(seen.size(), 15u);
  for (std::size_t i = 0; i < seen.size(); ++i) {
    EXPECT_EQ(seen[i].end, expected[i].end);
    EXPECT_NEAR(seen[i].total, expected[i].total, expected[i].total * 0.03 + 1);
    ASSERT_EQ(seen[i].rows.size(), expected[i].rows.size());
    for (const auto& [key, value] : expected[i].rows) {
      EXPECT_NEAR(seen[i].rows[key], value, value * 0.03 + 1);
    }
  }
  EXPECT_EQ(view->stats().bytes, 0u);
  EXPECT_EQ(view->stats().late, truth->stats().late);
}

TEST(SketchView, BloomIsNearTheTruthInEveryWindowAndGroup) { expect_close(Method::bloom); }
TEST(SketchView, HllIsNearTheTruthInEveryWindowAndGroup) { expect_close(Method::hll); }

TEST(SketchView, AFilterThatFindsNoRoomDropsTheEvent) {
  ViewSpec spec;
  spec.metric = Metric::distinct;
  spec.method = Method::bloom;
  spec.length = spec.hop = milliseconds{10};
  spec.grouped = false;
  const auto view = make_view(spec);
  view->limit(1'000);
  EXPECT_EQ(view->observe({from_ms(1), {}, {}, 1, kSecret.hash("a")}), View::Seen::dropped);
  EXPECT_EQ(view->stats().dropped, 1u);
}

}  // namespace
}  // namespace weir::limiter::sketch_test
