#include "core/geo.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <iostream>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "tests/support/seed.h"

namespace weir::geo_test {
namespace {

constexpr double kDegree = kEarthRadiusMetres * 3.14159265358979323846 / 180;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

std::string hash_of(double lat, double lon, std::size_t n) {
  char out[kGeohashMax];
  return std::string(out, geohash(lat, lon, n, out));
}

TEST(Distance, IsThatOfAGreatCircle) {
  EXPECT_EQ(distance_metres(31.2, 121.5, 31.2, 121.5), 0);
  EXPECT_NEAR(distance_metres(0, 0, 0, 1), kDegree, 1e-6);
  EXPECT_NEAR(distance_metres(10, 7, 11, 7), kDegree, 1e-6);
  EXPECT_NEAR(distance_metres(0, 179.5, 0, -179.5), kDegree, 1e-6);  // across the 180th meridian
  EXPECT_NEAR(distance_metres(89.5, 0, 89.5, 180), kDegree, 1e-6);   // over the pole
  EXPECT_NEAR(distance_metres(90, 13, 90, -77), 0, 1e-6);            // the pole has every longitude
  EXPECT_NEAR(distance_metres(0, 0, 0, 180), 180 * kDegree, 1e-3);
  EXPECT_NEAR(distance_metres(-90, 0, 90, 0), 180 * kDegree, 1e-3);
  EXPECT_NEAR(distance_metres(52.205, 0.119, 48.857, 2.351), 404'279, 1000);  // Cambridge, Paris
}

TEST(Distance, AgreesWithTheAngleBetweenVectors) {
  const std::uint64_t seed = ::weir::test::new_seed();
  std::cout << "seed " << seed << '\n';
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> lat(-90, 90);
  std::uniform_real_distribution<double> lon(-180, 180);
  for (int i = 0; i < 2000; ++i) {
    const double a = lat(random), b = lon(random), c = lat(random), d = lon(random);
    const auto vector = [](double y, double x) {
      const double r = kDegree / kEarthRadiusMetres;
      return std::array{std::cos(y * r) * std::cos(x * r), std::cos(y * r) * std::sin(x * r),
                        std::sin(y * r)};
    };
    const auto p = vector(a, b), q = vector(c, d);
    const double dot = p[0] * q[0] + p[1] * q[1] + p[2] * q[2];
    const double x = p[1] * q[2] - p[2] * q[1], y = p[2] * q[0] - p[0] * q[2],
                 z = p[0] * q[1] - p[1] * q[0];
    const double angle = std::atan2(std::sqrt(x * x + y * y + z * z), dot);
    ASSERT_NEAR(distance_metres(a, b, c, d), angle * kEarthRadiusMetres, 0.5);
    ASSERT_EQ(distance_metres(a, b, c, d), distance_metres(c, d, a, b));
  }
}

TEST(Distance, OfWhatIsNoPlaceIsNoNumber) {
  EXPECT_TRUE(std::isnan(distance_metres(90.1, 0, 0, 0)));
  EXPECT_TRUE(std::isnan(distance_metres(0, 0, 0, -180.1)));
  EXPECT_TRUE(std::isnan(distance_metres(0, kNan, 0, 0)));
  EXPECT_FALSE(is_place(std::numeric_limits<double>::infinity(), 0));
}

TEST(Geohash, OfKnownPlaces) {
  EXPECT_EQ(hash_of(32.080306, 118.909199, 5), "wtsw9");
  EXPECT_EQ(hash_of(57.64911, 10.40744, 11), "u4pruydqqvj");
  EXPECT_EQ(hash_of(42.605, -5.603, 5), "ezs42");
  EXPECT_EQ(hash_of(-25.382708, -49.265506, 12), "6gkzwgjzn820");
}

TEST(Geohash, BordersBelongToTheNorthEasternCellAndTheEndsToTheLastOne) {
  EXPECT_EQ(hash_of(0, 0, 12), "s00000000000");
  EXPECT_EQ(hash_of(std::nextafter(0.0, -1), 0, 6), "kpbpbp");  // just south, not rounded over
  EXPECT_EQ(hash_of(0, std::nextafter(0.0, -1), 6), "ebpbpb");
  EXPECT_EQ(hash_of(90, 180, 12), "zzzzzzzzzzzz");
  EXPECT_EQ(hash_of(-90, -180, 12), "000000000000");
  EXPECT_EQ(hash_of(45, 90, 1), "y");
  EXPECT_EQ(hash_of(45, std::nextafter(90.0, 0), 1), "v");
}

TEST(Geohash, IsTheCellThatBisectionFinds) {
  const std::uint64_t seed = ::weir::test::new_seed();
  std::cout << "seed " << seed << '\n';
  std::mt19937_64 random(seed);
  for (int i = 0; i < 5000; ++i) {
    // Half of the points lie on borders of some depth, or one step beside them.
    const auto coordinate = [&](double half) {
      const double free = std::uniform_real_distribution<double>(-half, half)(random);
      if (random() % 2 == 0) return free;
      const double width = std::ldexp(half, -static_cast<int>(random() % 28));
      const double border = std::floor(free / width) * width;
      return random() % 2 == 0 ? border : std::nextafter(border, -1000.0);
    };
    const double lat = std::max(-90.0, coordinate(90)), lon = std::max(-180.0, coordinate(180));
    double south = -90, north = 90, west = -180, east = 180;
    std::string expected;
    for (int letter = 0, bit = 0; letter < 12; ++letter) {
      unsigned value = 0;
      for (int k = 0; k < 5; ++k, ++bit) {
        double& low = bit % 2 == 0 ? west : south;
        double& high = bit % 2 == 0 ? east : north;
        const double middle = (low + high) / 2;
        const bool upper = (bit % 2 == 0 ? lon : lat) >= middle;
        (upper ? low : high) = middle;
        value = value * 2 + upper;
      }
      expected += "0123456789bcdefghjkmnpqrstuvwxyz"[value];
      ASSERT_EQ(hash_of(lat, lon, expected.size()), expected) << lat << ' ' << lon;
    }
  }
}

TEST(Geohash, RefusesWhatIsNoPlaceAndLengthsOutOfRange) {
  EXPECT_EQ(hash_of(90.5, 0, 5), "");
  EXPECT_EQ(hash_of(0, 200, 5), "");
  EXPECT_EQ(hash_of(kNan, 0, 5), "");
  EXPECT_EQ(hash_of(0, 0, 0), "");
  EXPECT_EQ(hash_of(0, 0, 13), "");
}

}  // namespace
}  // namespace weir::geo_test
