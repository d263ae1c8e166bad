#include "limiter/views/view.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "limiter/views/view_row.h"

namespace weir::limiter::view_test {
namespace {

const HashSecret kSecret = HashSecret::from_bytes({3});

std::string encode(const std::vector<std::string>& parts) {
  KeyBuilder builder;
  builder.start();
  for (const std::string& part : parts) builder.add_text(part);
  return std::string(builder.bytes());
}

/// An event for a view, with text of its own.
struct Told {
  std::int64_t at = 0;
  std::vector<std::string> key;
  Number amount{1};
  std::string member{};
};

View::Seen tell(View& view, const Told& told) {
  const std::string parts = encode(told.key);
  ViewEvent event;
  event.at = from_ms(told.at);
  event.key = kSecret.hash(parts);
  event.parts = parts;
  event.amount = told.amount;
  event.member = kSecret.hash(told.member);
  return view.observe(event);
}

/// Collects results as JSON lines.
struct Lines {
  std::vector<std::string> all;
  ViewSink sink() {
    return [this](const ViewWindow& window) {
      all.emplace_back();
      append_view_row(all.back(), "v", window);
    };
  }
};

ViewSpec hopping(Metric metric, std::int64_t length, std::int64_t hop) {
  ViewSpec spec;
  spec.metric = metric;
  spec.length = milliseconds{length};
  spec.hop = milliseconds{hop};
  return spec;
}

TEST(View, ResultsAreOfWindowsWithAnEventLeadingAndTrailingOnesIncluded) {
  const auto view = make_view(hopping(Metric::count, 10, 5));
  Lines lines;
  tell(*view, {7, {"a"}});
  tell(*view, {8, {"b"}});
  tell(*view, {8, {"b"}});
  view->advance(from_ms(8), lines.sink());
  EXPECT_TRUE(lines.all.empty()) << "the first window ends at 10";
  view->advance(from_ms(9), lines.sink());
  ASSERT_EQ(lines.all.size(), 1u);
  EXPECT_EQ(
      lines.all[0],
      R"({"type":"view","view":"v","start":0,"end":10,"complete":true,"total":3,"rows":[["b",2],["a",1]]})");
  tell(*view, {100, {"a"}});
  view->advance(from_ms(99), lines.sink());
  ASSERT_EQ(lines.all.size(), 2u) << "nothing for the silence between";
  EXPECT_EQ(
      lines.all[1],
      R"({"type":"view","view":"v","start":5,"end":15,"complete":true,"total":3,"rows":[["b",2],["a",1]]})");
  view->running(lines.sink());
  view->flush(lines.sink());
  ASSERT_EQ(lines.all.size(), 5u);
  EXPECT_EQ(
      lines.all[2],
      R"({"type":"view","view":"v","start":95,"end":105,"complete":false,"total":1,"rows":[["a",1]]})");
  EXPECT_EQ(lines.all[2], lines.all[3]) << "what is running is shown without being ended";
  EXPECT_EQ(
      lines.all[4],
      R"({"type":"view","view":"v","start":100,"end":110,"complete":false,"total":1,"rows":[["a",1]]})");
  EXPECT_EQ(view->stats().keys, 0u);
  EXPECT_EQ(view->stats().bytes, 0u);
}

TEST(View, AnEventCountsInThoseOfItsWindowsThatAreOpenStill) {
  const auto view = make_view(hopping(Metric::count, 10, 5));
  Lines lines;
  tell(*view, {12, {"a"}});
  view->advance(from_ms(14), lines.sink());  // [5, 15) is complete, [10, 20) is not
  EXPECT_EQ(tell(*view, {11, {"a"}}), View::Seen::counted);
  EXPECT_EQ(tell(*view, {9, {"a"}}), View::Seen::late);
  view->flush(lines.sink());
  ASSERT_EQ(lines.all.size(), 2u);
  EXPECT_NE(lines.all[0].find(R"("end":15,"complete":true,"total":1)"), std::string::npos);
  EXPECT_NE(lines.all[1].find(R"("end":20,"complete":false,"total":2)"), std::string::npos);
  EXPECT_EQ(view->stats().late, 1u);
  EXPECT_EQ(view->stats().events, 2u);
}

TEST(View, WithoutAKeyThereIsOneRowWithTheValueAlone) {
  ViewSpec spec = hopping(Metric::distinct, 10, 10);
  spec.grouped = false;
  const auto view = make_view(spec);
  Lines lines;
  tell(*view, {1, {}, 1, "x"});
  tell(*view, {2, {}, 1, "y"});
  tell(*view, {3, {}, 1, "x"});
  view->flush(lines.sink());
  ASSERT_EQ(lines.all.size(), 1u);
  EXPECT_NE(lines.all[0].find(R"("total":2,"rows":[[2]]})"), std::string::npos) << lines.all[0];
}

TEST(View, NaturalDaysFollowTheirZone) {
  ViewSpec spec;
  spec.zone = TimeZone::find("Asia/Shanghai");
  ASSERT_TRUE(spec.zone);
  const auto view = make_view(spec);
  Lines lines;
  tell(*view, {1'511'658'000'000, {"a"}});
  view->flush(lines.sink());
  ASSERT_EQ(lines.all.size(), 1u);
  EXPECT_NE(lines.all[0].find(R"("start":1511625600000,"end":1511712000000)"), std::string::npos);
}

TEST(View, OneWithoutAnEndCountsOnAndIsNamedByItsEvents) {
  for (const Metric metric : {Metric::count, Metric::distinct}) {
    for (const auto method : {ViewSpec::Method::exact, ViewSpec::Method::hll}) {
      if (metric == Metric::count && method != ViewSpec::Method::exact) continue;
      ViewSpec spec;
      spec.metric = metric;
      spec.method = method;
      spec.endless = true;
      const auto view = make_view(spec);
      Lines lines;
      tell(*view, {1'000, {"a"}, 1, "x"});
      tell(*view, {900, {"a"}, 1, "y"});
      view->advance(from_ms(1'000'000'000'000), lines.sink());
      EXPECT_TRUE(lines.all.empty()) << "it is never complete while it lives";
      EXPECT_EQ(tell(*view, {2'000'000'000'000, {"b"}, 1, "x"}), View::Seen::counted);
      view->running(lines.sink());
      view->flush(lines.sink());
      ASSERT_EQ(lines.all.size(), 2u);
      const std::string rest = metric == Metric::count ? R"("total":3,"rows":[["a",2],["b",1]]})"
                                                       : R"("total":2,"rows":[["a",2],["b",1]]})";
      const std::string head =
          R"({"type":"view","view":"v","start":900,"end":2000000000001,"complete":)";
      EXPECT_EQ(lines.all[0], head + "false," + rest);
      EXPECT_EQ(lines.all[1], head + "true," + rest) << "the end of the input is its end";
    }
  }
}

TEST(View, OneWithoutAnEndMakesRoomForWhatBecomesHotLate) {
  for (const Metric metric : {Metric::count, Metric::sum, Metric::maximum}) {
    ViewSpec spec;
    spec.metric = metric;
    spec.endless = true;
    spec.top = 3;
    const auto view = make_view(spec);
    view->limit(200'000);
    for (int i = 0; i < 50; ++i) tell(*view, {1, {"old"}, 100});
    for (int i = 0; i < 5'000; ++i) {
      ASSERT_EQ(tell(*view, {2, {std::to_string(i)}}), View::Seen::counted);
    }
    for (int i = 0; i < 40; ++i) tell(*view, {3, {"late"}, 90});
    EXPECT_LE(view->stats().bytes, 200'000u);
    EXPECT_EQ(view->stats().dropped + view->stats().keys, 5'002u);
    Lines lines;
    view->flush(lines.sink());
    ASSERT_EQ(lines.all.size(), 1u);
    const std::string rows = metric == Metric::count ? R"([["old",50],["late",40],)"
                             : metric == Metric::sum ? R"([["old",5000],["late",3600],)"
                                                     : R"([["old",100],["late",90],)";
    EXPECT_NE(lines.all[0].find(rows), std::string::npos) << lines.all[0];
    EXPECT_EQ(view->stats().bytes, 0u);
  }
}

TEST(View, TopPerValueKeepsThatManyOfEachAndTheCommonOrder) {
  ViewSpec spec = hopping(Metric::count, 10, 10);
  spec.top = 1;
  spec.per = 0;
  const auto view = make_view(spec);
  Lines lines;
  for (int i = 0; i < 3; ++i) tell(*view, {1, {"books", "9"}});
  for (int i = 0; i < 2; ++i) tell(*view, {1, {"books", "10"}});
  for (int i = 0; i < 3; ++i) tell(*view, {1, {"apples", "7"}});
  tell(*view, {1, {"apples", "8"}});
  tell(*view, {1, {"chairs", "5"}});
  view->flush(lines.sink());
  ASSERT_EQ(lines.all.size(), 1u);
  EXPECT_NE(lines.all[0].find(
                R"("total":10,"rows":[["apples","7",3],["books","9",3],["chairs","5",1]]})"),
            std::string::npos)
      << lines.all[0];
}

TEST(View, ASumDoesNotDriftHoweverManyAmountsCameAndWent) {
  const auto view = make_view(hopping(Metric::sum, 10, 5));
  std::string last;
  for (int i = 0; i < 20'000; ++i) {
    tell(*view, {i * 5, {"a"}, Number::real(i % 2 == 0 ? 0.1 : 1e12)});
    view->advance(from_ms(i * 5), [&](const ViewWindow& window) {
      last.clear();
      append_view_row(last, "v", window);
    });
  }
  EXPECT_NE(last.find("\"total\":1000000000000.1,"), std::string::npos) << last;
}

TEST(View, WhatFindsNoRoomIsDroppedAndSaid) {
  const auto view = make_view(hopping(Metric::count, 1000, 1000));
  view->limit(20'000);
  int dropped = 0;
  for (int i = 0; i < 1000; ++i) {
    if (tell(*view, {1, {std::to_string(i)}}) == View::Seen::dropped) ++dropped;
  }
  EXPECT_EQ(tell(*view, {2, {"0"}}), View::Seen::counted) << "a key that is there goes on";
  EXPECT_GT(dropped, 800);
  EXPECT_EQ(view->stats().dropped, static_cast<std::uint64_t>(dropped));
  EXPECT_LE(view->stats().bytes, 20'000u);
  Lines lines;
  view->flush(lines.sink());
  EXPECT_NE(lines.all[0].find(R"("total":1001,)"), std::string::npos) << "the total has all events";
  EXPECT_EQ(view->stats().bytes, 0u);
}

TEST(View, ExtremesLongTextsAndOddBytesAreShownAsTheyAre) {
  const auto view = make_view(hopping(Metric::maximum, 10, 10));
  Lines lines;
  tell(*view, {1, {std::string(300, 'x') + "\"\\\n\x01\xff"}, Number::real(0.5)});
  view->flush(lines.sink());
  EXPECT_NE(lines.all[0].find("x\\\"\\\\\\u000a\\u0001\xef\xbf\xbd\",0.5]"), std::string::npos)
      << lines.all[0];
}

// The view as one would write it on a blackboard: all events in a list, every window read from end
// to end.
class NaiveView {
 public:
  explicit NaiveView(const ViewSpec& spec) : spec_(spec) {}

  void observe(const Told& told) {
    events_.push_back({told, closed_});
    for (std::int64_t end : ends_of(told.at)) {
      if (end - 1 > closed_) ends_.insert(end);
    }
  }
  std::vector<std::string> advance(std::int64_t watermark) {
    closed_ = std::max(closed_, watermark);
    std::vector<std::string> out;
    while (!ends_.empty() && *ends_.begin() - 1 <= closed_) out.push_back(take(true));
    return out;
  }
  std::vector<std::string> flush() {
    std::vector<std::string> out;
    while (!ends_.empty()) out.push_back(take(spec_.endless));
    return out;
  }

 private:
  struct Kept {
    Told told;
    std::int64_t closed;
  };
  static constexpr std::int64_t kNever = 1'000'000'000'000'000;
  std::int64_t start_of(std::int64_t end) const {
    if (spec_.endless) return -kNever;
    if (spec_.zone) return to_ms(spec_.zone->span(spec_.unit, from_ms(end - 1)).begin);
    return end - spec_.length.count();
  }
  std::vector<std::int64_t> ends_of(std::int64_t at) const {
    if (spec_.endless) return {kNever};
    if (spec_.zone) return {to_ms(spec_.zone->span(spec_.unit, from_ms(at)).end)};
    std::vector<std::int64_t> out;
    const std::int64_t hop = spec_.hop.count(), length = spec_.length.count();
    for (std::int64_t start = (at - length) / hop * hop - hop; start <= at; start += hop) {
      if (start <= at && at < start + length) out.push_back(start + length);
    }
    return out;
  }
  std::optional<Number> measure(const std::vector<const Told*>& events) const {
    if (events.empty()) return std::nullopt;
    Number sum = 0, best = events.front()->amount;
    std::set<std::string> members;
    for (const Told* told : events) {
      sum = sum + told->amount;
      if (spec_.metric == Metric::minimum && told->amount < best) best = told->amount;
      if (spec_.metric == Metric::maximum && told->amount > best) best = told->amount;
      members.insert(told->member);
    }
    const auto n = static_cast<std::int64_t>(events.size());
    switch (spec_.metric) {
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
  }
  static bool key_before(const std::vector<std::string>& a, const std::vector<std::string>& b) {
    for (std::size_t i = 0; i < a.size(); ++i) {
      const auto number = [](const std::string& s) {
        return !s.empty() && s.find_first_not_of("0123456789") == std::string::npos;
      };
      const bool x = number(a[i]), y = number(b[i]);
      if (x != y) return x;
      if (x) {
        if (std::stoull(a[i]) != std::stoull(b[i])) return std::stoull(a[i]) < std::stoull(b[i]);
        continue;
      }
      if (a[i] != b[i]) return a[i] < b[i];
    }
    return false;
  }
  std::string take(bool complete) {
    std::int64_t end = *ends_.begin(), start = start_of(end);
    ends_.erase(ends_.begin());
    std::vector<const Told*> all;
    std::map<std::vector<std::string>, std::vector<const Told*>> groups;
    for (const Kept& kept : events_) {
      if (kept.told.at < start || kept.told.at >= end || end - 1 <= kept.closed) continue;
      all.push_back(&kept.told);
      groups[kept.told.key].push_back(&kept.told);
    }
    if (spec_.endless) {  // it is named by its events
      start = all.front()->at;
      end = start + 1;
      for (const Told* told : all) {
        start = std::min(start, told->at);
        end = std::max(end, told->at + 1);
      }
    }
    std::vector<std::pair<std::vector<std::string>, Number>> rows;
    for (const auto& [key, events] : groups) rows.emplace_back(key, *measure(events));
    std::sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
      if (a.second != b.second) return a.second > b.second;
      return key_before(a.first, b.first);
    });
    std::map<std::string, std::size_t> taken;
    std::string out = R"({"type":"view","view":"v","start":)" + std::to_string(start) +
                      R"(,"end":)" + std::to_string(end) + R"(,"complete":)" +
                      (complete ? "true" : "false") + R"(,"total":)" + measure(all)->to_string() +
                      R"(,"rows":[)";
    bool first = true;
    for (const auto& [key, value] : rows) {
      if (spec_.top != 0 && taken[spec_.per ? key[*spec_.per] : ""]++ >= spec_.top) continue;
      out += first ? "[" : ",[";
      first = false;
      for (const std::string& part : key) out += '"' + part + "\",";
      out += value.to_string() + "]";
    }
    return out + "]}";
  }

  ViewSpec spec_;
  std::vector<Kept> events_;
  std::set<std::int64_t> ends_;
  std::int64_t closed_ = -1'000'000'000'000;
};

ViewSpec random_spec(std::mt19937_64& random) {
  const auto pick = [&](std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(random);
  };
  constexpr Metric kMetrics[] = {Metric::count,   Metric::sum,     Metric::average,
                                 Metric::minimum, Metric::maximum, Metric::distinct};
  ViewSpec spec;
  spec.metric = kMetrics[pick(0, 5)];
  switch (pick(0, 5)) {
    case 5:
      spec.endless = true;
      break;
    case 0:
      spec.length = spec.hop = milliseconds{pick(1, 50)};
      break;
    case 1:
      spec.zone = TimeZone::find("Asia/Kathmandu");
      spec.unit = CalendarUnit::hour;
      break;
    default:
      spec.hop = milliseconds{pick(1, 20)};
      spec.length = milliseconds{pick(spec.hop.count(), 60)};
  }
  if (pick(0, 2) > 0) spec.top = static_cast<std::size_t>(pick(1, 4));
  if (spec.top != 0 && pick(0, 1) == 0) spec.per = static_cast<std::size_t>(pick(0, 1));
  return spec;
}

TEST(View, EveryMetricWindowAndTopAgreesWithAList) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const auto pick = [&](std::int64_t least, std::int64_t most) {
      return std::uniform_int_distribution<std::int64_t>(least, most)(random);
    };
    const ViewSpec spec = random_spec(random);
    const std::int64_t pace = spec.zone ? 400'000 : pick(1, 12);
    const std::int64_t late = pick(0, 2) == 0 ? 0 : pick(0, 30) * pace;
    const std::int64_t lag = pick(0, 1) * pick(0, 25) * pace;
    const bool reals = pick(0, 2) == 0;
    const auto view = make_view(spec);
    NaiveView naive(spec);
    Lines lines;
    std::vector<std::string> expected;
    std::int64_t now = 1'000'000;
    for (int i = 0; i < 150; ++i) {
      now += pick(0, 15) == 0 ? pick(0, 200) * pace : pick(0, 2) * pace;
      Told told;
      told.at = now - (late == 0 ? 0 : pick(0, late));
      const auto part = [&] {
        const std::int64_t n = pick(0, 12);
        return n % 3 == 0 ? "k" + std::to_string(n) : std::to_string(n);
      };
      told.key = {part(), part()};
      told.amount = reals && pick(0, 1) == 0 ? Number::real(static_cast<double>(pick(-8, 8)) / 4)
                                             : Number{pick(-5, 9)};
      told.member = std::to_string(pick(0, 6));
      naive.observe(told);
      tell(*view, told);
      if (pick(0, 2) != 0) continue;
      view->advance(from_ms(now - lag), lines.sink());
      for (std::string& line : naive.advance(now - lag)) expected.push_back(std::move(line));
      ASSERT_EQ(lines.all, expected);
    }
    view->flush(lines.sink());
    for (std::string& line : naive.flush()) expected.push_back(std::move(line));
    ASSERT_EQ(lines.all, expected);
    EXPECT_EQ(view->stats().keys, 0u);
    EXPECT_EQ(view->stats().bytes, 0u) << "what was taken was given back";
  }
}

}  // namespace
}  // namespace weir::limiter::view_test
