#include "config/text/edit_distance.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

#include "tests/support/seed.h"

namespace weir::config::edit_distance_test {
namespace {

/// By the definition, without a bound.
std::size_t plain_distance(std::string_view a, std::string_view b) {
  if (a.empty() || b.empty()) return a.size() + b.size();
  std::size_t least = std::min(plain_distance(a.substr(1), b), plain_distance(a, b.substr(1))) + 1;
  least = std::min(least, plain_distance(a.substr(1), b.substr(1)) + (a[0] != b[0] ? 1 : 0));
  if (a.size() > 1 && b.size() > 1 && a[0] == b[1] && a[1] == b[0])
    least = std::min(least, plain_distance(a.substr(2), b.substr(2)) + 1);
  return least;
}

TEST(EditDistance, IsAsDefinedUpToTheBound) {
  const std::uint32_t seed = test::new_seed();
  SCOPED_TRACE("WEIR_TEST_SEED=" + std::to_string(seed));
  std::mt19937 random(seed);
  const auto word = [&] {
    // Few letters, so that words are often near. Two of them share a bit of the letters' set.
    static constexpr std::string_view kLetters = "abc!\xe1";
    std::string out(random() % 7, ' ');
    for (char& c : out) c = kLetters[random() % kLetters.size()];
    return out;
  };
  for (int i = 0; i < 3000; ++i) {
    const std::string a = word(), b = word();
    const std::size_t bound = random() % 4;
    EXPECT_EQ(edit_distance(a, b, bound), std::min(plain_distance(a, b), bound + 1))
        << a << " | " << b << " | " << bound;
  }
}

}  // namespace
}  // namespace weir::config::edit_distance_test
