// Counters with a radius against a naive list of places, at the borders of cells, at the poles and
// on both sides of the 180th meridian.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <iostream>
#include <random>
#include <set>
#include <thread>

#include "limiter/counters/bank.h"
#include "limiter/kinds/kinds.h"
#include "limiter/kinds/place_grid.h"
#include "tests/support/allocations.h"
#include "tests/support/seed.h"

namespace weir::limiter::near_test {
namespace {

std::uint64_t new_seed(const char* what) {
  const std::uint64_t seed = ::weir::test::new_seed();
  std::cout << what << ": seed " << seed << '\n';
  return seed;
}

constexpr std::int64_t kStart = 1'700'000'000'000;

double wrapped(double lon) {
  while (lon > 180) lon -= 360;
  while (lon < -180) lon += 360;
  return lon;
}

/// Where grids are likely to be wrong.
Place awkward_place(std::mt19937_64& random) {
  const auto some = [&](double most) {
    return most * (static_cast<double>(random() % 2'000'001) / 1'000'000 - 1);
  };
  switch (random() % 8) {
    case 0:
      return {90, some(180)};
    case 1:
      return {-90, some(180)};
    case 2:
      return {some(90), random() % 2 == 0 ? 180.0 : -180.0};
    case 3:
      return {89.9999 * (random() % 2 == 0 ? 1 : -1), some(180)};
    case 4:
      return {some(90), wrapped(180 + some(0.001))};
    case 5:
      return {some(90), 0};
    case 6:
      return {0, some(180)};
    default:
      return {some(90), some(180)};
  }
}

/// A place so many metres from `from`, in any direction; over the pole if need be.
Place moved(const Place& from, double metres, std::mt19937_64& random) {
  constexpr double kRadian = 3.14159265358979323846 / 180;
  const double bearing = static_cast<double>(random() % 360'000) / 1000 * kRadian;
  const double angle = metres / kEarthRadiusMetres, lat = from.lat * kRadian;
  const double up =
      std::sin(lat) * std::cos(angle) + std::cos(lat) * std::sin(angle) * std::cos(bearing);
  const double to_lat = std::asin(std::clamp(up, -1.0, 1.0));
  const double turn = std::atan2(std::sin(bearing) * std::sin(angle) * std::cos(lat),
                                 std::cos(angle) - std::sin(lat) * std::sin(to_lat));
  const double turned = std::abs(from.lat) == 90 ? bearing : turn;
  return {to_lat / kRadian, wrapped(from.lon + turned / kRadian)};
}

TEST(PlaceGrid, WhoIsWithinTheRadiusIsInOneOfNineCells) {
  std::mt19937_64 random(new_seed("cells"));
  for (int n = 0; n < 400'000; ++n) {
    const double radius =
        std::exp(static_cast<double>(random() % 13'816) / 1000);  // 1 m .. 1000 km
    const PlaceGrid grid(std::min(radius, kRadiusMax));
    const Place here = awkward_place(random);
    const double far = static_cast<double>(random() % 1001) / 1000 * std::min(radius, kRadiusMax);
    const Place there = moved(here, far, random);
    // Rounded, also by the arcsine near a pole.
    if (distance_metres(here.lat, here.lon, there.lat, there.lon) > std::min(radius, kRadiusMax))
      continue;
    const PlaceGrid::Cells cells = grid.around(here);
    ASSERT_LE(cells.size, PlaceGrid::kCells);
    const PlaceGrid::Cell other = grid.around(there).cells[0];
    ASSERT_NE(std::find(cells.cells.begin(), cells.cells.begin() + cells.size, other),
              cells.cells.begin() + cells.size)
        << "radius " << radius << ", " << here.lat << " " << here.lon << " and " << there.lat << " "
        << there.lon;
    const std::set<PlaceGrid::Cell> different(cells.cells.begin(),
                                              cells.cells.begin() + cells.size);
    ASSERT_EQ(different.size(), cells.size) << "a cell is read twice";
  }
}

TEST(PlaceGrid, HasOneCellForNowhereAndOneMeridianAt180) {
  const PlaceGrid grid(1000);
  EXPECT_EQ(grid.around({}).size, 1u);
  EXPECT_EQ(grid.around({}).cells[0], PlaceGrid::kNowhere);
  for (const double lat : {-90.0, -60.0, 0.0, 12.3, 89.0, 90.0})
    EXPECT_EQ(grid.around({lat, 180}).cells[0], grid.around({lat, -180}).cells[0]) << lat;
  EXPECT_EQ(grid.around({90, 10}).cells[0], grid.around({90, -100}).cells[0]);
}

TEST(PlaceGrid, ItsDistanceIsTheHaversine) {
  std::mt19937_64 random(new_seed("distance"));
  for (int n = 0; n < 100'000; ++n) {
    const double radius = std::exp(static_cast<double>(random() % 13'816) / 1000);
    const PlaceGrid grid(radius);
    const Place a = awkward_place(random),
                b = moved(a, radius * (random() % 2 == 0 ? 1 - 1e-6 : 1 + 1e-6), random);
    const bool near = UnitVector::of(a).chord_squared(UnitVector::of(b)) <= grid.reach();
    const double metres = distance_metres(a.lat, a.lon, b.lat, b.lon);
    if (std::abs(metres - radius) < 1e-7 * radius + 1e-7) continue;
    ASSERT_EQ(near, metres <= radius) << metres << " of " << radius;
  }
}

struct NaiveEvent {
  std::int64_t ms;
  Place place;
  Amount amount;
  int id;
};

struct Naive {
  const CounterSpec& spec;
  std::vector<NaiveEvent> settled, reserved;

  bool near(const Place& a, const Place& b) const {
    if (a == Place{} || b == Place{}) return a == b;
    return distance_metres(a.lat, a.lon, b.lat, b.lon) <= spec.radius;
  }
  /// "none" or the number.
  std::string value(const Place& at, std::int64_t now, const Amount* event,
                    bool with_reserved) const {
    std::vector<Amount> in;
    for (const NaiveEvent& e : settled) {
      if (now - e.ms < spec.length.count() && near(e.place, at)) in.push_back(e.amount);
    }
    for (const NaiveEvent& e : reserved) {
      if (with_reserved && near(e.place, at)) in.push_back(e.amount);
    }
    if (spec.metric == Metric::exists) {
      return std::to_string(event != nullptr &&
                            std::any_of(in.begin(), in.end(), [&](const Amount& a) {
                              return a.member == event->member;
                            }));
    }
    if (event != nullptr) in.push_back(*event);
    if (spec.metric == Metric::count) return std::to_string(in.size());
    if (spec.metric == Metric::distinct) {
      std::set<std::uint64_t> members;
      for (const Amount& a : in) members.insert(a.member);
      return std::to_string(members.size());
    }
    if (in.empty() && spec.metric != Metric::sum) return "none";
    double sum = 0, least = 1e300, most = -1e300;
    for (const Amount& a : in) {
      sum += a.amount.as_real();
      least = std::min(least, a.amount.as_real());
      most = std::max(most, a.amount.as_real());
    }
    switch (spec.metric) {
      case Metric::average:
        return Number::real(sum / static_cast<double>(in.size())).to_string();
      case Metric::minimum:
        return number(least);
      case Metric::maximum:
        return number(most);
      default:
        return number(sum);
    }
  }
  std::string number(double v) const {
    return spec.real ? Number::real(v).to_string()
                     : Number(static_cast<std::int64_t>(v)).to_string();
  }
};

std::string spelt(const CounterSpec& spec, const Reading& r, Number value) {
  if (!r.has_value) return "none";
  return spec.metric == Metric::average ? Number::real(value.as_real()).to_string()
                                        : value.to_string();
}

class NearKinds : public testing::TestWithParam<Kind> {
 protected:
  CounterSpec spec(double radius) const {
    CounterSpec out;
    out.metric = GetParam().metric;
    out.window = Window::log;
    out.real = GetParam().real;
    out.length = milliseconds(60'000);
    out.radius = radius;
    out.outcome = true;
    out.keep = 5000;
    return out;
  }
  Amount amount(std::mt19937_64& random) const {
    const auto n = static_cast<std::int64_t>(random() % 20);
    return {GetParam().metric == Metric::count ? Number(1)
            : GetParam().real                  ? Number::real(static_cast<double>(n) / 4)
                                               : Number(n),
            random() % 9};
  }
  void run(double radius, std::uint64_t seed);
};

void NearKinds::run(double radius, std::uint64_t seed) {
  SCOPED_TRACE("radius " + std::to_string(radius) + ", seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  const CounterSpec spec = this->spec(radius);
  Bank bank({std::uint64_t{16} << 20, 3000});
  const CounterId id = bank.open({7, seed}, spec).value();
  const Hash128 key{random(), random()};
  Naive naive{spec, {}, {}};
  struct Open {
    int id;
    CounterKey key;
    Undo undo;
    Amount amount;
  };
  std::vector<Open> open;
  const Place centre = random() % 16 == 0 ? Place{} : awkward_place(random);
  std::int64_t now = kStart;
  for (int step = 0; step < 600; ++step) {
    now += random() % 40 == 0 ? 20'000 : static_cast<std::int64_t>(random() % 300);
    const TimePoint t = from_ms(now);
    Place place = centre;
    if (!(centre == Place{}) && random() % 8 != 0) {  // far, near, and just on either side
      // Never by a round part of the radius: two ways along a meridian might differ by just it. Nor
      // within a millionth of the radius, where the formulas of the two sides round differently.
      const double some = 1e-3 + std::ldexp(static_cast<double>(random() >> 11), -53);
      const double metres = radius * (random() % 3 == 0   ? 3 * some
                                      : random() % 2 == 0 ? 1 - some / 1000
                                                          : 1 + some / 1000);
      place = moved(centre, std::min(metres, 15'000'000.0), random);
    }
    const CounterKey where(key, place);
    const Amount event = amount(random);
    const std::string expected = naive.value(place, now, &event, true);
    const Reading before = bank.peek(id, where, t, &event);
    ASSERT_EQ(spelt(spec, before, before.value), expected) << "step " << step;
    ASSERT_EQ(spelt(spec, before, before.settled), naive.value(place, now, &event, false));
    const Reading without = bank.peek(id, where, t);
    ASSERT_EQ(spelt(spec, without, without.value), naive.value(place, now, nullptr, true));
    const auto in_flight =
        std::count_if(naive.reserved.begin(), naive.reserved.end(),
                      [&](const NaiveEvent& e) { return naive.near(e.place, place); });
    ASSERT_EQ(before.in_flight, static_cast<std::uint32_t>(in_flight));
    const Ceiling ceiling{Number(static_cast<std::int64_t>(random() % 30)), random() % 2 == 0};
    const bool limited = random() % 2 == 0;
    const bool over = limited && before.has_value && ceiling.broken_by(before.value);
    switch (random() % 10) {
      case 0:
      case 1:
      case 2:
      case 3: {
        Undo undo;
        const Reading r = bank.charge(id, where, t, event, limited ? &ceiling : nullptr, &undo);
        ASSERT_EQ(r.refused, over);
        ASSERT_EQ(r.stored, !over);
        if (r.stored && random() % 5 == 0) {
          bank.uncharge(id, where, undo);
        } else if (r.stored) {
          naive.settled.push_back({now, place, event, step});
        }
        break;
      }
      case 4:
      case 5: {
        Undo undo;
        const Reading r = bank.reserve(id, where, t, event, limited ? &ceiling : nullptr, &undo);
        ASSERT_EQ(r.stored, !over);
        if (!r.stored) break;
        naive.reserved.push_back({now, place, event, step});
        open.push_back({step, where, undo, event});
        break;
      }
      case 6:
      case 7: {
        if (open.empty()) break;
        const std::size_t i = random() % open.size();
        const Open one = open[i];
        open.erase(open.begin() + static_cast<std::ptrdiff_t>(i));
        const auto it = std::find_if(naive.reserved.begin(), naive.reserved.end(),
                                     [&](const NaiveEvent& e) { return e.id == one.id; });
        const NaiveEvent e = *it;
        naive.reserved.erase(it);
        const bool matched = random() % 2 == 0;
        const Reading r = bank.settle(id, one.key, from_ms(e.ms), t, one.amount, one.undo, matched);
        if (matched) naive.settled.push_back(e);
        ASSERT_EQ(spelt(spec, r, r.settled), naive.value(e.place, now, nullptr, false));
        break;
      }
      case 8:
        if (random() % 30 == 0) {
          bank.reset(id, where);
          std::erase_if(naive.settled,
                        [&](const NaiveEvent& e) { return naive.near(e.place, place); });
        }
        break;
      default:  // another key's events are no neighbours
        bank.charge(id, CounterKey(Hash128{key.lo + 1, key.hi}, place), t, event, nullptr, nullptr);
    }
  }
}

TEST_P(NearKinds, AgreeWithANaiveListOfPlaces) {
  const std::uint64_t seed = new_seed(GetParam().name.data());
  for (std::uint64_t n = 0; n < 60; ++n) {
    constexpr double kRadii[] = {1, 500, 1000, 25'000, 1'000'000};
    run(kRadii[n % 5], seed + n);
    if (HasFatalFailure()) return;
  }
}

TEST_P(NearKinds, ComeBackFromASnapshot) {
  std::mt19937_64 random(new_seed("snapshot"));
  const CounterSpec spec = this->spec(1000);
  Bank bank({std::uint64_t{16} << 20, 3000}), other({std::uint64_t{16} << 20, 3000});
  const CounterId id = bank.open({7, 1}, spec).value();
  const CounterId again = other.open({7, 1}, spec).value();
  std::vector<CounterKey> keys;
  for (int n = 0; n < 200; ++n) {
    keys.push_back(
        CounterKey({5, 5}, moved({89.999, 0}, static_cast<double>(random() % 3000), random)));
    bank.charge(id, keys.back(), from_ms(kStart + n), amount(random), nullptr, nullptr);
  }
  std::string bytes;
  Bank::Snapshot snapshot(bank, from_ms(kStart + 500), from_ms(kStart + 500));
  while (snapshot.next(bytes)) {
  }
  ASSERT_TRUE(other.import(bytes, from_ms(kStart + 500), from_ms(kStart + 500)));
  const Amount event = amount(random);
  for (const CounterKey& key : keys) {
    const TimePoint t = from_ms(kStart + 60'100);
    const Reading a = bank.peek(id, key, t, &event), b = other.peek(again, key, t, &event);
    ASSERT_EQ(spelt(spec, a, a.value), spelt(spec, b, b.value));
  }
}

INSTANTIATE_TEST_SUITE_P(Near, NearKinds, testing::ValuesIn([] {
                           std::vector<Kind> out;
                           for (const Kind& kind : kinds()) {
                             if (kind.near) out.push_back(kind);
                           }
                           return out;
                         }()),
                         [](const auto& row) { return std::string(row.param.name); });

CounterSpec count_spec(Metric metric, std::size_t keep) {
  CounterSpec spec;
  spec.metric = metric;
  spec.window = Window::log;
  spec.radius = 1000;
  spec.keep = keep;
  return spec;
}

TEST(Near, AFullCellDropsTheOldestButASumLosesNothing) {
  Bank bank({std::uint64_t{8} << 20, 1000});
  const CounterId counts = bank.open({1, 1}, count_spec(Metric::count, 10)).value();
  const CounterId sums = bank.open({1, 2}, count_spec(Metric::sum, 10)).value();
  const CounterKey key({5, 5}, Place{31.2, 121.4});
  for (int n = 0; n < 50; ++n) {
    bank.charge(counts, key, from_ms(kStart + n), {}, nullptr, nullptr);
    bank.charge(sums, key, from_ms(kStart + n), {Number(2)}, nullptr, nullptr);
  }
  EXPECT_EQ(bank.peek(counts, key, from_ms(kStart + 50)).value, Number(10));
  EXPECT_EQ(bank.peek(sums, key, from_ms(kStart + 50)).value, Number(100));
}

TEST(Near, ManyDifferentMembersAreCountedExactly) {
  Bank bank({std::uint64_t{64} << 20, 1000});
  const CounterId id = bank.open({1, 1}, count_spec(Metric::distinct, kNearKeepMax)).value();
  std::mt19937_64 random(new_seed("members"));
  std::set<std::uint64_t> members;
  for (int n = 0; n < 9000; ++n) {  // over the cells about a place
    const CounterKey key({5, 5}, moved({0, 0}, static_cast<double>(random() % 499), random));
    const std::uint64_t member = random() % 6000;
    members.insert(member);
    bank.charge(id, key, from_ms(kStart), {Number(1), member}, nullptr, nullptr);
  }
  EXPECT_EQ(bank.peek(id, CounterKey({5, 5}, Place{0, 0}), from_ms(kStart)).value,
            Number(static_cast<std::int64_t>(members.size())));
}

TEST(Near, AddIfBelowHoldsAcrossCellsForManyThreads) {
  constexpr int kThreads = 4, kLimit = 100;
  Bank bank({std::uint64_t{8} << 20, 1000});
  const CounterId id = bank.open({1, 1}, count_spec(Metric::count, 1000)).value();
  std::atomic<int> stored{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937_64 random(static_cast<std::uint64_t>(t));
      const Ceiling ceiling{Number(std::int64_t{kLimit}), false};
      for (int n = 0; n < 3000; ++n) {  // all within 1 km of each other, about where cells meet
        const CounterKey key({5, 5}, moved({0, 180}, static_cast<double>(random() % 490), random));
        stored += bank.charge(id, key, from_ms(kStart), {}, &ceiling, nullptr).stored;
        bank.charge(id, CounterKey({6, static_cast<std::uint64_t>(t)}, key.place), from_ms(kStart),
                    {}, &ceiling, nullptr);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(stored, kLimit);
}

TEST(Near, AllocatesNothingAndIdleCellsGo) {
  Bank bank({std::uint64_t{1} << 20, 2000});
  const CounterId id = bank.open({1, 1}, count_spec(Metric::distinct, 1000)).value();
  std::mt19937_64 random(new_seed("evictions"));
  const CounterKey pinned({5, 5}, Place{0.0001, 0.0001});
  bank.charge(id, pinned, from_ms(kStart), {}, nullptr, nullptr);
  bank.charge(id, CounterKey({5, 5}, Place{-0.0001, -0.0001}), from_ms(kStart), {Number(1), 77},
              nullptr, nullptr);
  bank.pin(id, pinned);
  const std::size_t before = weir::test::allocations();
  for (int n = 0; n < 50'000; ++n) {
    const CounterKey key({9, 9},
                         moved({45, 45}, static_cast<double>(random() % 4'000'000), random));
    bank.charge(id, key, from_ms(kStart + n / 10), {Number(1), random()}, nullptr, nullptr);
  }
  EXPECT_EQ(weir::test::allocations(), before);
  EXPECT_GT(bank.stats().evicted, 0u);
  EXPECT_EQ(bank.peek(id, pinned, from_ms(kStart + 5000)).value, Number(2))
      << "both cells were pinned";
}

TEST(Near, RefusesWhatIsNotBuilt) {
  CounterSpec spec = count_spec(Metric::count, 1000);
  EXPECT_NE(find_kind(spec), nullptr);
  spec.radius = 0.5;
  EXPECT_EQ(find_kind(spec), nullptr);
  spec.radius = 2e6;
  EXPECT_EQ(find_kind(spec), nullptr);
  spec = count_spec(Metric::last, 1000);
  EXPECT_EQ(find_kind(spec), nullptr);
  spec = count_spec(Metric::count, kNearKeepMax + 1);
  EXPECT_EQ(find_kind(spec), nullptr);
  spec = count_spec(Metric::count, 1000);
  spec.window = Window::ring;
  EXPECT_EQ(find_kind(spec), nullptr);
}

}  // namespace
}  // namespace weir::limiter::near_test
