// The parts of a reading around a place, as cells say them (scripts/near.lua).
#include "store/redis/near_reading.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>

namespace weir::store::near_reading_test {
namespace {

using limiter::CounterSpec;
using limiter::Reading;

std::string part(double n, double value) {
  std::string out(2 * sizeof(double), '\0');
  std::memcpy(out.data(), &n, sizeof n);
  std::memcpy(out.data() + sizeof n, &value, sizeof value);
  return out;
}

NearReading reading_of(Metric metric, bool real = false) {
  CounterSpec spec;
  spec.metric = metric;
  spec.real = real;
  NearReading out;
  out.start(spec);
  return out;
}

void add(NearReading& reading, double n, double value, bool good = true) {
  std::string cell;
  append_cell(cell, part(n, value), part(n, value));
  EXPECT_EQ(reading.add(cell), good) << n << ' ' << value;
}

Reading result(NearReading& reading) {
  Reading out;
  reading.write(out);
  return out;
}

constexpr double kInfinite = std::numeric_limits<double>::infinity();

TEST(NearReading, AddsUpItsCells) {
  NearReading sum = reading_of(Metric::sum), average = reading_of(Metric::average);
  for (NearReading* const reading : {&sum, &average}) {
    add(*reading, 2, 30);
    add(*reading, 1, 6);
  }
  EXPECT_EQ(result(sum).value.integer(), 36);
  EXPECT_EQ(result(average).value.as_real(), 12);
}

TEST(NearReading, IntegersStopWhereDoublesDo) {
  NearReading sum = reading_of(Metric::sum);
  add(sum, 1, 6e63);  // from no script of ours
  EXPECT_EQ(result(sum).value.integer(), std::int64_t{1} << 53);
  NearReading below = reading_of(Metric::sum);
  add(below, 1, -kInfinite);
  EXPECT_EQ(result(below).value.integer(), -(std::int64_t{1} << 53));
}

TEST(NearReading, SumsThatOverflowAreNumbers) {
  NearReading sum = reading_of(Metric::sum, true);
  add(sum, 1, kInfinite);
  EXPECT_EQ(result(sum).value.as_real(), kInfinite);
  add(sum, 1, -kInfinite);
  EXPECT_EQ(result(sum).value.as_real(), 0);
}

TEST(NearReading, RefusesWhatIsNoCell) {
  NearReading sum = reading_of(Metric::sum);
  add(sum, -1, 1, false);
  add(sum, kInfinite, 1, false);
  add(sum, 1, std::numeric_limits<double>::quiet_NaN(), false);
  EXPECT_FALSE(sum.add(""));
  EXPECT_FALSE(sum.add(std::string("\xff\xff\xff\xff", 4) + part(1, 1)));
  EXPECT_FALSE(sum.add(std::string(4, '\0') + part(1, 1) + "x"));
}

}  // namespace
}  // namespace weir::store::near_reading_test
