#include "limiter/views/ranking.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

namespace weir::limiter::ranking_test {
namespace {

TEST(Ranking, DecimalIntegersAreNumbersAndStandFirstTextIsByCodePoint) {
  const std::vector<std::string> all = {"-99999999999999999999999",
                                        "-10",
                                        "-9",
                                        "-0",
                                        "0",
                                        "00",
                                        "07",
                                        "7",
                                        "9",
                                        "10",
                                        "123456789012345678901234567890",
                                        "",
                                        "-",
                                        "-1a",
                                        "/",
                                        "1 ",
                                        "1.5",
                                        "A",
                                        "a",
                                        "é",
                                        "ﬀ",
                                        "\U0001f600"};
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (std::size_t j = 0; j < all.size(); ++j) {
      EXPECT_EQ(compare_parts(all[i], all[j]) <=> 0, i <=> j) << all[i] << " against " << all[j];
    }
  }
}

TEST(Ranking, TopOfManyIsTheBeginningOfAll) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    std::vector<std::string> keys;
    const std::size_t count = random() % 60;
    for (std::size_t i = 0; i < count; ++i) {
      const std::string text = std::to_string(random() % 40) + (random() % 3 == 0 ? "x" : "");
      const auto size = static_cast<std::uint32_t>(text.size());
      std::string parts(reinterpret_cast<const char*>(&size), sizeof size);
      keys.push_back(parts + text);
    }
    std::sort(keys.begin(), keys.end());
    keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
    std::shuffle(keys.begin(), keys.end(), random);
    const std::size_t top = 1 + random() % 8;
    Ranking some(top, std::nullopt), all(0, std::nullopt);
    some.start();
    all.start();
    for (const std::string& key : keys) {
      const auto value = static_cast<std::int64_t>(random() % 5);
      const Number shown = value == 4 ? Number::real(1.5) : Number{value};
      some.offer({key, shown});
      all.offer({key, shown});
    }
    const auto best = some.finish(), every = all.finish();
    ASSERT_EQ(every.size(), keys.size());
    ASSERT_EQ(best.size(), std::min(top, keys.size()));
    for (std::size_t i = 0; i < best.size(); ++i) EXPECT_EQ(best[i].parts, every[i].parts);
    for (std::size_t i = 1; i < every.size(); ++i) EXPECT_GE(every[i - 1].value, every[i].value);
  }
}

}  // namespace
}  // namespace weir::limiter::ranking_test
