#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <cmath>
#include <map>
#include <random>
#include <set>

#include "limiter/views/hyperloglog.h"
#include "limiter/views/view_delta.h"
#include "limiter/views/view_row.h"
#include "policies/set/view_bank.h"
#include "tests/support/seed.h"

namespace weir::policies::shared_views_test {
namespace {

namespace json = boost::json;
using limiter::ViewSpec;

const HashSecret kSecret = HashSecret::from_bytes({5});
const limiter::SharedView::PaneFilter kAll = [](std::int64_t) { return true; };
constexpr std::int64_t kStart = 1'800'000'000'000;
constexpr std::size_t kChunk = 200;  // bytes: small, so that most are cut

struct Told {
  std::int64_t at = 0;
  std::string key;
  Number amount{1};
  std::string member{};
};

void tell(LiveView& view, const Told& told) {
  KeyBuilder builder;
  builder.start();
  builder.add_text(told.key);
  limiter::ViewEvent event;
  event.at = from_ms(told.at);
  event.parts = builder.bytes();
  event.key = kSecret.hash(event.parts);
  event.amount = told.amount;
  event.member = kSecret.hash(told.member);
  view.observe(event);
}

/// All windows, as they would be if the events had ended.
std::vector<std::string> windows(LiveView& view) {
  std::vector<std::string> out;
  view.flush([&](const limiter::ViewWindow& window) {
    limiter::append_view_row(out.emplace_back(), "v", window);
  });
  return out;
}

/// The expected text of a window, from a list of all events.
std::string naive(const ViewSpec& spec, const std::vector<Told>& events, const std::string& line) {
  json::object window = json::parse(line).as_object();
  const std::int64_t start = window.at("start").to_number<std::int64_t>();
  const std::int64_t end = window.at("end").to_number<std::int64_t>();
  std::map<std::string, std::vector<const Told*>> groups;
  std::vector<const Told*> all;
  for (const Told& told : events) {
    if (told.at < start || told.at >= end) continue;
    groups[told.key].push_back(&told);
    all.push_back(&told);
  }
  const auto measure = [&](const std::vector<const Told*>& of) -> Number {
    Number sum = 0, best = of.front()->amount;
    std::set<std::string> members;
    for (const Told* told : of) {
      sum = sum + told->amount;
      if (spec.metric == Metric::minimum ? told->amount < best : told->amount > best) {
        best = told->amount;
      }
      members.insert(told->member);
    }
    const auto n = static_cast<std::int64_t>(of.size());
    switch (spec.metric) {
      case Metric::count:
        return n;
      case Metric::sum:
        return sum;
      case Metric::average:
        return Number::real(sum.as_real() / static_cast<double>(n));
      case Metric::distinct:
        return static_cast<std::int64_t>(members.size());
      default:
        return best;
    }
  };
  std::vector<std::pair<std::string, Number>> rows;
  for (const auto& [key, of] : groups) rows.emplace_back(key, measure(of));
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  if (spec.top != 0 && rows.size() > spec.top) rows.resize(spec.top);
  std::string out = R"({"type":"view","view":"v","start":)" + std::to_string(start) + R"(,"end":)" +
                    std::to_string(end) + R"(,"complete":)" + (spec.endless ? "true" : "false") +
                    R"(,"total":)" + measure(all).to_string() + R"(,"rows":[)";
  for (const auto& [key, value] : rows) {
    out += (&key == &rows.front().first ? "[\"" : ",[\"") + key + "\"," + value.to_string() + "]";
  }
  return out + "]}";
}

ViewSpec random_spec(std::mt19937_64& random) {
  const auto pick = [&](std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(random);
  };
  constexpr Metric kMetrics[] = {Metric::count,   Metric::sum,     Metric::average,
                                 Metric::minimum, Metric::maximum, Metric::distinct};
  ViewSpec spec;
  spec.metric = kMetrics[pick(0, 5)];
  switch (pick(0, 3)) {
    case 0:
      spec.endless = true;
      break;
    case 1:
      spec.zone = TimeZone::find("Asia/Shanghai");
      spec.unit = CalendarUnit::day;
      break;
    case 2:
      spec.length = spec.hop = milliseconds{pick(1, 20) * 1'000};
      break;
    default:
      spec.hop = milliseconds{pick(1, 10) * 1'000};
      spec.length = spec.hop * pick(1, 6);
  }
  if (pick(0, 1) == 0) spec.top = static_cast<std::size_t>(pick(1, 12));
  return spec;
}

/// Sends the counts that one has not sent yet to all others.
void exchange(std::vector<std::unique_ptr<LiveView>>& replicas, std::size_t from,
              std::vector<std::string>& log) {
  std::vector<std::string> chunks;
  replicas[from]->take_delta(kChunk, chunks);
  for (const std::string& chunk : chunks) {
    for (std::size_t to = 0; to < replicas.size(); ++to) {
      if (to != from) {
        EXPECT_TRUE(replicas[to]->absorb(chunk, kAll));
      }
    }
    log.push_back(chunk);
  }
}

TEST(SharedViews, EveryReplicaHasTheNumbersOfAllEvents) {
  const auto base = ::weir::test::new_seed();
  for (std::uint64_t seed = base; seed < base + 120; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const auto pick = [&](std::int64_t least, std::int64_t most) {
      return std::uniform_int_distribution<std::int64_t>(least, most)(random);
    };
    const ViewSpec spec = random_spec(random);
    std::vector<std::unique_ptr<LiveView>> replicas;
    for (int i = 0; i < 3; ++i) replicas.push_back(std::make_unique<LiveView>("v", spec, kSecret));
    std::vector<Told> events;
    std::vector<std::string> log;
    for (int i = 0; i < 400; ++i) {
      Told told;
      told.at = kStart + pick(0, 60'000);
      told.key = std::string("k") + static_cast<char>('a' + pick(0, 15));
      told.amount = pick(0, 3) == 0 ? Number::real(static_cast<double>(pick(1, 40)) / 4)
                                    : Number{pick(-5, 50)};
      told.member = std::to_string(pick(0, 30));
      events.push_back(told);
      const auto replica = static_cast<std::size_t>(pick(0, 2));
      tell(*replicas[replica], told);
      if (pick(0, 20) == 0) exchange(replicas, static_cast<std::size_t>(pick(0, 2)), log);
      // A replica that begins again and gets everything loses nothing and counts nothing twice.
      if (pick(0, 99) == 0) {
        const auto again = static_cast<std::size_t>(pick(0, 2));
        replicas[again]->begin_again();
        for (const std::string& chunk : log) ASSERT_TRUE(replicas[again]->absorb(chunk, kAll));
      }
    }
    for (std::size_t i = 0; i < 3; ++i) exchange(replicas, i, log);
    // One that starts later hears of a fold of everything.
    limiter::ViewDelta fold(spec);
    for (const std::string& chunk : log) ASSERT_TRUE(fold.absorb(chunk, kSecret));
    std::vector<std::string> folded;
    fold.take(kChunk, folded);
    replicas.push_back(std::make_unique<LiveView>("v", spec, kSecret));
    for (const std::string& chunk : folded) ASSERT_TRUE(replicas.back()->absorb(chunk, kAll));

    // So does one that hears of all that another has.
    limiter::SharedView::Panes panes;
    std::vector<std::string> rest;
    replicas[1]->take_all(kChunk, 100'000'000, panes, rest);
    EXPECT_TRUE(rest.empty());
    replicas.push_back(std::make_unique<LiveView>("v", spec, kSecret));
    for (const auto& [pane, all] : panes) {
      for (const std::string& chunk : all) ASSERT_TRUE(replicas.back()->absorb(chunk, kAll));
    }

    const std::vector<std::string> first = windows(*replicas[0]);
    ASSERT_FALSE(first.empty());
    for (const std::string& line : first) EXPECT_EQ(line, naive(spec, events, line));
    for (std::size_t i = 1; i < replicas.size(); ++i) EXPECT_EQ(windows(*replicas[i]), first) << i;
  }
}

TEST(SharedViews, SketchesOfReplicasAreTheSketchOfAll) {
  for (const bool endless : {true, false}) {
    ViewSpec spec;
    spec.metric = Metric::distinct;
    spec.method = ViewSpec::Method::hll;
    spec.endless = endless;
    spec.length = milliseconds{20'000};
    spec.hop = milliseconds{5'000};
    std::vector<std::unique_ptr<LiveView>> replicas;
    for (int i = 0; i < 3; ++i) replicas.push_back(std::make_unique<LiveView>("v", spec, kSecret));
    LiveView alone("v", spec);
    std::vector<std::string> log;
    for (int i = 0; i < 30'000; ++i) {
      const Told told{kStart + i, i % 3 == 0 ? "a" : "b", 1, std::to_string(i % 7'919)};
      tell(*replicas[static_cast<std::size_t>(i % 3)], told);
      tell(alone, told);
      if (i % 5'000 == 4'999) {
        for (std::size_t k = 0; k < 3; ++k) exchange(replicas, k, log);
      }
    }
    const std::vector<std::string> wanted = windows(alone);
    if (endless) {  // windows that overlap don't know what came when
      limiter::SharedView::Panes panes;
      std::vector<std::string> rest;
      replicas[1]->take_all(10'000, 100'000'000, panes, rest);
      replicas.push_back(std::make_unique<LiveView>("v", spec, kSecret));
      for (const auto& [pane, all] : panes) {
        for (const std::string& chunk : all) ASSERT_TRUE(replicas.back()->absorb(chunk, kAll));
      }
    }
    for (const auto& replica : replicas) EXPECT_EQ(windows(*replica), wanted);
  }
}

TEST(SharedViews, AMemberThatIsKnownIsNotToldAgain) {
  ViewSpec spec;
  spec.metric = Metric::distinct;
  spec.length = spec.hop = milliseconds{60'000};
  std::vector<std::unique_ptr<LiveView>> replicas;
  for (int i = 0; i < 2; ++i) replicas.push_back(std::make_unique<LiveView>("v", spec, kSecret));
  std::vector<std::string> log;
  tell(*replicas[0], {kStart, "a", 1, "x"});
  exchange(replicas, 0, log);
  ASSERT_EQ(log.size(), 1u);
  tell(*replicas[0], {kStart + 5, "a", 1, "x"});
  tell(*replicas[1], {kStart + 5, "a", 1, "x"});
  exchange(replicas, 0, log);
  exchange(replicas, 1, log);
  ASSERT_EQ(log.size(), 3u);
  EXPECT_LT(log[1].size(), log[0].size() - 16) << "that there was an event, and no member";
  EXPECT_EQ(log[2].size(), log[1].size());
  EXPECT_EQ(replicas[0]->stats().counted.events, 3u);
}

TEST(SharedViews, AHotKeyIsToldOnceHoweverOftenItCame) {
  ViewSpec spec;
  spec.endless = true;
  LiveView view("v", spec, kSecret);
  for (int i = 0; i < 100'000; ++i) tell(view, {kStart + i, "a"});
  std::vector<std::string> chunks;
  view.take_delta(kChunk, chunks);
  ASSERT_EQ(chunks.size(), 1u);
  EXPECT_LT(chunks[0].size(), 60u);
}

TEST(SharedViews, WhatFindsNoRoomIsInTheTotalAndSaid) {
  ViewSpec spec;
  spec.endless = true;
  LiveView one("v", spec, kSecret), other("v", spec, kSecret);
  one.limit(400'000);
  for (int i = 0; i < 2'000; ++i) tell(one, {kStart + i, "key-" + std::to_string(i)});
  std::vector<std::string> chunks;
  one.take_delta(kChunk, chunks);
  for (const std::string& chunk : chunks) EXPECT_TRUE(other.absorb(chunk, kAll));
  const std::string shown = other.results(1).running;
  EXPECT_NE(shown.find(R"("total":2000)"), std::string::npos) << shown.substr(0, 200);
  const auto rows = static_cast<std::uint64_t>(std::count(shown.begin(), shown.end(), '[')) - 1;
  EXPECT_LT(rows, 2'000u);
  EXPECT_GT(rows, 50u);
  EXPECT_EQ(rows + one.sharing().lost, 2'000u);
}

TEST(SharedViews, ResultsSayWhetherAllReplicasAreInThem) {
  ViewSpec spec;
  spec.endless = true;
  LiveView view("v", spec, kSecret);
  tell(view, {kStart, "a"});
  const auto ends = [&](std::string_view end) {
    return view.results(1).running.find(end) != std::string::npos;
  };
  EXPECT_TRUE(ends(R"(,"share":"redis","whole":false})"));
  limiter::ViewSharing sharing;
  sharing.up = true;
  sharing.replicas = 2;
  sharing.synced = from_ms(kStart);
  view.heard(sharing);
  EXPECT_TRUE(ends(R"("whole":true})"));
  sharing.silent = 1;
  view.heard(sharing);
  EXPECT_TRUE(ends(R"("whole":false})"));
  EXPECT_EQ(view.behind(from_ms(kStart + 2'000)).count(), 0);
  EXPECT_EQ(view.behind(from_ms(kStart + 9'000)).count(), 7'000);
  EXPECT_EQ(view.behind(from_ms(kStart + 900'000)), LiveView::kHoldMax);
  EXPECT_EQ(LiveView("v", spec).behind(from_ms(kStart)).count(), 0) << "not shared";
}

TEST(SharedViews, APaneWithoutATotalIsNoCrash) {
  for (const Metric metric : {Metric::minimum, Metric::average, Metric::count}) {
    ViewSpec spec;
    spec.metric = metric;
    spec.endless = true;
    limiter::ChunkWriter chunk(limiter::ViewShape::of(spec));
    limiter::ViewPane pane;
    pane.start = limiter::Spans(spec).pane(0).start;
    pane.events = 1;
    chunk.pane(pane, 0);
    LiveView view("v", spec, kSecret);
    EXPECT_TRUE(view.absorb(chunk.take(), kAll));
    EXPECT_NE(view.results(0).running.find(R"("total":0,"rows":[])"), std::string::npos);
  }
}

/// Redis may hold anything. What a replica takes from there it also writes, into the base that all
/// replicas read: a sum that is taken can be read again, also added to others.
TEST(SharedViews, SumsThatAreTakenCanBeReadAgain) {
  ViewSpec spec;
  spec.metric = Metric::sum;
  spec.endless = true;
  const limiter::ViewShape shape = limiter::ViewShape::of(spec);
  constexpr double kMost = 0x1p964;
  constexpr std::int64_t kReals = 48;
  const double most = kMost * kReals;
  const auto chunk_of = [&](double high, double low) {
    limiter::ViewPart part;
    part.events = kReals;
    part.sum = limiter::Sum({0, high, low, kReals});
    limiter::ViewPane pane;
    pane.start = limiter::Spans(spec).pane(0).start;
    pane.events = kReals;
    pane.whole = part;
    limiter::ChunkWriter chunk(shape);
    chunk.pane(pane, 1);
    chunk.key({}, part);
    return chunk.take();
  };
  const double half_ulp = (std::nextafter(most, 2 * most) - most) / 2;
  const std::pair<double, double> impossible[] = {
      {4e291, 4e291},       {4e291, -1e280},        {most * 2, 0}, {-most * 2, 0},
      {most, half_ulp / 2}, {-most, -half_ulp / 2}, {1, 1},        {0, 1}};
  for (const auto& [high, low] : impossible) {
    limiter::ViewDelta delta(spec);
    EXPECT_FALSE(delta.absorb(chunk_of(high, low), kSecret)) << high << " " << low;
  }
  const auto seed = ::weir::test::new_seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (int round = 0; round < 200; ++round) {
    limiter::ViewDelta fold(spec);
    const int others = 1 + static_cast<int>(random() % 5);
    for (int i = 0; i < others; ++i) {
      const double part = random() % 3 == 0 ? 1 : std::ldexp(static_cast<double>(random()), -64);
      const double size = part * most, sign = random() % 4 == 0 ? -1 : 1;
      const double ulp = std::nextafter(size, 2 * most) - size;
      const double low = random() % 2 == 0 ? 0 : -sign * ulp / 8;
      ASSERT_TRUE(fold.absorb(chunk_of(sign * size, low), kSecret)) << size << " " << low;
    }
    std::vector<std::string> chunks;
    fold.take(kChunk, chunks);
    for (const std::string& chunk : chunks) {
      EXPECT_TRUE(limiter::ViewDelta(spec).absorb(chunk, kSecret));
    }
  }
}

TEST(SharedViews, BytesThatAreNoChunkAreRefused) {
  ViewSpec spec;
  spec.metric = Metric::sum;
  spec.endless = true;
  LiveView view("v", spec, kSecret), other("v", spec, kSecret);
  tell(view, {kStart, "a", Number::real(0.5)});
  tell(view, {kStart, "b", 7});
  std::vector<std::string> chunks;
  view.take_delta(100'000, chunks);
  ASSERT_EQ(chunks.size(), 1u);
  const std::string& whole = chunks[0];
  for (std::size_t size = 4; size < whole.size(); ++size) {
    EXPECT_FALSE(other.absorb(whole.substr(0, size), kAll)) << size;
  }
  ViewSpec counts = spec;
  counts.metric = Metric::count;
  EXPECT_FALSE(LiveView("v", counts, kSecret).absorb(whole, kAll)) << "of another view";
  EXPECT_TRUE(other.absorb(whole, kAll));
}

}  // namespace
}  // namespace weir::policies::shared_views_test
