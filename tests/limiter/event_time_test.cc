// Counters whose events bring their own times, in any order, against a naive list of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "limiter/counters/bank.h"
#include "limiter/kinds/kinds.h"
#include "tests/support/allocations.h"
#include "tests/support/seed.h"

namespace weir::limiter::event_time_test {
namespace {

constexpr std::int64_t kStart = 1'700'000'000'123;

std::uint64_t new_seed(const char* what) {
  const std::uint64_t seed = ::weir::test::new_seed();
  std::cout << what << ": seed " << seed << '\n';
  return seed;
}

/// Whether the metric looks at the events before the one in hand, and not at that one.
bool looks_back(Metric metric) { return metric == Metric::exists || metric == Metric::last; }

/// A counter on a blackboard: every event in a list; a reading goes through all of it.
class Blackboard {
 public:
  explicit Blackboard(const CounterSpec& spec) : spec_(spec) {}

  struct Event {
    std::int64_t ms = 0;
    Amount amount;
    std::string text;
    int id = 0;
    bool reserved = false;
  };

  /// As text; "none" has no value. With the event in hand, if there is one.
  std::string read(std::int64_t now, const Event* event, bool with_reserved) const {
    std::vector<Event> in;
    for (const Event& e : events_) {
      if ((with_reserved || !e.reserved) && counts(e.ms, now)) in.push_back(e);
    }
    // By time, and in the order in which they came; events in flight count as the latest.
    std::stable_sort(in.begin(), in.end(), [](const Event& a, const Event& b) {
      return a.reserved != b.reserved ? b.reserved : !a.reserved && a.ms < b.ms;
    });
    if (spec_.metric == Metric::last) {
      std::erase_if(in, [](const Event& e) { return e.reserved; });
      return in.empty() ? "none" : in.back().text;
    }
    if (event != nullptr && spec_.metric != Metric::exists) in.push_back(*event);
    if (spec_.window == Window::events && in.size() > spec_.events)
      in.erase(in.begin(), in.end() - spec_.events);
    if (spec_.metric == Metric::exists) {
      return event != nullptr && std::any_of(in.begin(), in.end(),
                                             [&](const Event& e) {
                                               return e.amount.member == event->amount.member;
                                             })
                 ? "1"
                 : "0";
    }
    return measure(in);
  }

  /// The sum or count of (now - window, now], with the event in hand.
  double truth(std::int64_t now, double window, const Event& event) const {
    double sum = event.amount.amount.as_real();
    for (const Event& e : events_) {
      const auto age = static_cast<double>(now - e.ms);
      if (age >= 0 && age < window) sum += e.amount.amount.as_real();
    }
    return sum;
  }

  void add(const Event& event) { events_.push_back(event); }
  void remove(int id) {
    std::erase_if(events_, [&](const Event& e) { return e.id == id; });
  }
  void settle(int id, const std::string& text) {
    const auto it =
        std::find_if(events_.begin(), events_.end(), [&](const Event& e) { return e.id == id; });
    Event settled = *it;
    events_.erase(it);
    settled.reserved = false;
    settled.text = text;
    events_.push_back(settled);
  }
  void reset(std::int64_t until) {
    const std::int64_t bucket = merges() && spec_.window == Window::ring
                                    ? until / quantum() * quantum() + quantum() - 1
                                    : until;
    std::erase_if(events_, [&](const Event& e) {
      return !e.reserved &&
             (merges() && spec_.window != Window::ring ? begin(e.ms) <= until : e.ms <= bucket);
    });
  }

 private:
  bool merges() const {
    return (spec_.metric == Metric::count || spec_.metric == Metric::sum) &&
           spec_.window != Window::log && spec_.window != Window::events;
  }
  std::int64_t quantum() const { return Rule::ring_quantum(spec_.length.count(), spec_.buckets); }
  std::int64_t begin(std::int64_t ms) const {
    if (spec_.window == Window::calendar)
      return to_ms(spec_.zone->span(spec_.unit, from_ms(ms)).begin);
    return ms - ms % spec_.length.count();
  }
  bool counts(std::int64_t ms, std::int64_t now) const {
    if (looks_back(spec_.metric) && ms > now) return false;
    switch (spec_.window) {
      case Window::ring: {
        const std::int64_t g = quantum();
        const std::int64_t n = (spec_.length.count() + g - 1) / g;
        return ms / g <= now / g && now / g - ms / g <= n;
      }
      case Window::every:
      case Window::calendar:
        return begin(ms) == begin(now);
      default:
        return ms <= now && (spec_.length.count() == 0 || now - ms < spec_.length.count());
    }
  }
  std::string measure(const std::vector<Event>& in) const {
    if (spec_.metric == Metric::distinct) {
      std::set<std::uint64_t> members;
      for (const Event& e : in) members.insert(e.amount.member);
      return std::to_string(members.size());
    }
    Number sum = spec_.real ? Number::real(0) : Number(0);
    std::optional<Number> least, most;
    for (const Event& e : in) {
      const Number a = e.amount.amount;
      sum = sum + a;
      if (!least || a < *least) least = a;
      if (!most || a > *most) most = a;
    }
    switch (spec_.metric) {
      case Metric::average:
        return in.empty()
                   ? "none"
                   : Number::real(sum.as_real() / static_cast<double>(in.size())).to_string();
      case Metric::minimum:
        return least ? least->to_string() : "none";
      case Metric::maximum:
        return most ? most->to_string() : "none";
      default:
        return sum.to_string();
    }
  }

  CounterSpec spec_;
  std::vector<Event> events_;
};

std::string spelt(const CounterSpec& spec, const Reading& r, const Number& value) {
  if (!r.has_value) return "none";
  if (spec.metric == Metric::last) return std::string(r.datum->text);
  return value.to_string();
}

struct Schedule {
  const char* name;
  std::int64_t start, length, late;
  unsigned buckets;
  bool outcome;
};

class EventTime : public testing::TestWithParam<Kind> {
 protected:
  static CounterSpec spec(const Schedule& s) {
    CounterSpec out;
    out.metric = GetParam().metric;
    out.window = GetParam().window;
    out.real = GetParam().real;
    if (GetParam().near) out.radius = 1000;  // of nowhere: all are near each other
    out.length = milliseconds(s.length);
    out.buckets = s.buckets;
    out.outcome = s.outcome;
    out.late = milliseconds(s.late);
    out.keep = 10'000;
    if (out.window == Window::events) {
      out.events = s.buckets;
      if (s.outcome) out.length = milliseconds(0);
    }
    if (out.window == Window::calendar) {
      out.unit = s.length > 100'000 ? CalendarUnit::day : CalendarUnit::hour;
      out.zone = TimeZone::find(s.outcome ? "Europe/Berlin" : "Asia/Shanghai");
    }
    return out;
  }
};

#ifdef WEIR_SANITIZED
constexpr int kSteps = 300;
#else
constexpr int kSteps = 900;
#endif

/// One schedule: a step of the newest time, then an event that is as late as may be, or later.
class Walk {
 public:
  Walk(const CounterSpec& spec, const Schedule& schedule, std::uint64_t seed)
      : spec_(spec),
        schedule_(schedule),
        random_(seed),
        board_(spec),
        clock_(schedule.start),
        newest_(schedule.start) {
    id_ = bank_.open({7, seed}, spec).value();
    bank_.observe(id_, from_ms(newest_));
  }

  void go() {
    for (int step = 0; step < kSteps && !testing::Test::HasFatalFailure(); ++step) {
      SCOPED_TRACE("step " + std::to_string(step));
      one();
    }
    for (const auto& [id, token] : open_) bank_.uncharge(id_, key_, token.first);
    bank_.reset(id_, key_);
    EXPECT_EQ(bank_.stats().keys, 0u) << "a key that holds nothing keeps a slot";
    EXPECT_EQ(bank_.stats().memory_used, 0u) << "a block was lost";
    EXPECT_GT(late_, 0);
  }

 private:
  std::int64_t below(std::int64_t n) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(n));
  }

  Blackboard::Event event(std::int64_t ms) {
    Blackboard::Event out;
    out.ms = ms;
    out.id = next_id_++;
    const bool amounts = spec_.metric == Metric::sum || spec_.metric == Metric::average ||
                         spec_.metric == Metric::minimum || spec_.metric == Metric::maximum;
    const std::int64_t n = below(20) + 1;
    if (amounts)
      out.amount.amount = spec_.real ? Number::real(static_cast<double>(n) / 4) : Number(n);
    if (spec_.metric == Metric::count && below(8) == 0) out.amount.amount = below(3);
    out.amount.member = random_() % 12;
    if (spec_.metric == Metric::last)
      out.text = std::string(random_() % 20, 'a') + std::to_string(out.id);
    return out;
  }

  void one() {
    if (below(3) != 0) clock_ += below(spec_.length.count() / (below(4) == 0 ? 2 : 20) + 2);
    // Hugging the edges of what is late.
    std::int64_t ms = clock_;
    switch (below(6)) {
      case 0:
        ms = newest_ - schedule_.late + below(3) - 1;
        break;
      case 1:
      case 2:
        ms = newest_ - below(schedule_.late + 1);
        break;
      case 3:
        ms = newest_ - schedule_.late - below(spec_.length.count() + 1);
        break;
      default:
        break;
    }
    // Without a time of its own an event is as late as any, whatever its worker's clock says.
    const bool told = below(8) != 0;
    if (!told) ms = newest_ - below(4);
    const Moment at(from_ms(ms), told);
    if (!told) ms = newest_;
    const bool is_late = ms <= newest_ - schedule_.late - 1;
    newest_ = std::max(newest_, ms);
    ASSERT_EQ(bank_.in_time(id_, at), !is_late);
    ASSERT_EQ(bank_.observe(id_, at), !is_late);
    late_ += is_late;
    if (is_late) return;
    const Blackboard::Event e = event(ms);
    Amount amount = e.amount;
    Datum datum;
    datum.type = Datum::Type::text;
    datum.text = e.text;
    amount.datum = &datum;
    look(at, e, amount);
    if (!testing::Test::HasFatalFailure()) change(at, e, amount);
  }

  void look(const Moment& at, const Blackboard::Event& e, const Amount& amount) {
    const Reading with = bank_.peek(id_, key_, at, &amount);
    ASSERT_EQ(spelt(spec_, with, with.value), board_.read(e.ms, &e, true)) << "at " << e.ms;
    if (spec_.metric != Metric::last) {
      const std::string settled = board_.read(e.ms, &e, false);
      ASSERT_EQ(spelt(spec_, with, with.settled), settled) << "at " << e.ms;
    }
    const Reading without = bank_.peek(id_, key_, at);
    ASSERT_EQ(spelt(spec_, without, without.value), board_.read(e.ms, nullptr, true));
    const bool counts = spec_.metric == Metric::count || spec_.metric == Metric::sum;
    if (!counts || !open_.empty()) return;
    // The contract of docs/accuracy.md, of what has come so far; a ring tells no times within a
    // bucket.
    const auto w = static_cast<double>(spec_.length.count());
    if (spec_.window == Window::log) {
      ASSERT_EQ(with.value.as_real(), board_.truth(e.ms, w, e));
    } else if (spec_.window == Window::ring) {
      const std::int64_t g = Rule::ring_quantum(spec_.length.count(), spec_.buckets);
      const std::int64_t bucket_end = e.ms / g * g + g - 1;
      ASSERT_GE(with.value.as_real(), board_.truth(e.ms, w, e));
      ASSERT_LE(with.value.as_real(),
                board_.truth(bucket_end, w + w / spec_.buckets + static_cast<double>(g), e));
      if (e.ms == newest_) {
        ASSERT_LE(with.value.as_real(), board_.truth(e.ms, w + w / spec_.buckets, e));
      }
    }
  }

  void change(const Moment& at, Blackboard::Event e, const Amount& amount) {
    const std::int64_t what = below(10);
    const Ceiling ceiling{Number(below(40)), false};
    if (what < 5) {
      const bool limited = below(2) == 0;
      const Reading before = bank_.peek(id_, key_, at, &amount);
      Undo undo;
      const Reading r = bank_.charge(id_, key_, at, amount, limited ? &ceiling : nullptr, &undo);
      ASSERT_EQ(r.refused, limited && before.has_value && ceiling.broken_by(before.value));
      ASSERT_EQ(r.stored, !r.refused);
      if (r.refused) return;
      const std::string as_it_was = board_.read(newest_, nullptr, true);
      board_.add(e);
      if (below(4) != 0) return;
      bank_.uncharge(id_, key_, undo);
      board_.remove(e.id);
      const Reading after = bank_.peek(id_, key_, from_ms(newest_));
      ASSERT_EQ(spelt(spec_, after, after.value), as_it_was);
    } else if (what < 7 && spec_.outcome) {
      Undo undo;
      const Reading r = bank_.reserve(id_, key_, at, amount, nullptr, &undo);
      ASSERT_TRUE(r.stored);
      ASSERT_EQ(to_ms(undo.at), e.ms);
      e.reserved = true;
      board_.add(e);
      open_[e.id] = {undo, e};
    } else if (what < 9 && !open_.empty()) {
      settle(at, e.ms, amount);
    } else if (below(30) == 0) {
      bank_.reset(id_, key_, at);
      board_.reset(e.ms);
    }
  }

  void settle(const Moment& at, std::int64_t ms, const Amount& amount) {
    const auto it = std::next(open_.begin(), below(static_cast<std::int64_t>(open_.size())));
    auto [undo, reserved] = it->second;
    // Equal reservations of one millisecond cannot be told apart.
    const bool twins = std::any_of(open_.begin(), open_.end(), [&](const auto& other) {
      return other.first != it->first && other.second.second.ms == reserved.ms;
    });
    if (twins) return;
    const bool matched = below(2) == 0;
    Amount settled = reserved.amount;
    settled.datum = amount.datum;
    const Reading r = bank_.settle(id_, key_, from_ms(0), at, settled, undo, matched);
    if (matched) {
      board_.settle(it->first, std::string(amount.datum->text));
    } else {
      board_.remove(it->first);
    }
    open_.erase(it);
    ASSERT_EQ(spelt(spec_, r, r.value), board_.read(ms, nullptr, false));
  }

  CounterSpec spec_;
  const Schedule& schedule_;
  std::mt19937_64 random_;
  Blackboard board_;
  Bank bank_{{std::uint64_t{8} << 20, 1000}};
  CounterId id_;
  const Hash128 key_{5, 6};
  std::int64_t clock_, newest_;
  int next_id_ = 1;
  int late_ = 0;
  std::map<int, std::pair<Undo, Blackboard::Event>> open_;
};

TEST_P(EventTime, AgreesWithANaiveListOfEvents) {
  const Schedule schedules[] = {
      {"a minute, ten seconds late", kStart, 60'000, 10'000, 60, false},
      {"a minute, with outcomes", kStart, 60'000, 10'000, 60, true},
      {"a second, a minute late", kStart, 1'000, 60'000, 5, false},
      {"a second, nothing late", kStart, 1'000, 0, 7, true},
      {"seven ms, five late", kStart, 7, 5, 3, true},
      {"ten minutes in three buckets", kStart, 600'000, 90'000, 3, true},
      {"two minutes, a minute late", 1'711'846'799'000, 120'000, 60'000, 4, true},
  };
  const std::uint64_t seed = new_seed(GetParam().name.data());
  for (const Schedule& s : schedules) {
    for (std::uint64_t n = 0; n < 2 && !HasFatalFailure(); ++n) {
      SCOPED_TRACE(std::string(s.name) + ", seed " + std::to_string(seed + n));
      Walk(spec(s), s, seed + n).go();
    }
  }
}

TEST_P(EventTime, OrderDoesNotMatterForWhatIsReadInTheEnd) {
  if (looks_back(GetParam().metric)) return;
  const Schedule s{"", kStart, 60'000, 30'000, 6, false};
  const std::uint64_t seed = new_seed(GetParam().name.data());
  std::mt19937_64 random(seed);
  std::vector<std::pair<std::int64_t, Amount>> events;
  for (int n = 0; n < 200; ++n) {
    Amount amount{GetParam().real ? Number::real(static_cast<double>(random() % 9))
                                  : Number(static_cast<std::int64_t>(random() % 9)),
                  random() % 30};
    events.emplace_back(kStart + static_cast<std::int64_t>(random() % 30'000), amount);
  }
  std::string sorted;
  for (int order = 0; order < 5; ++order) {
    Bank bank({std::uint64_t{8} << 20, 1000});
    const CounterId id = bank.open({1, 1}, spec(s)).value();
    if (order == 0)
      std::stable_sort(events.begin(), events.end(),
                       [](const auto& a, const auto& b) { return a.first < b.first; });
    for (const auto& [ms, amount] : events)
      EXPECT_TRUE(bank.charge(id, {5, 5}, from_ms(ms), amount, nullptr, nullptr).stored);
    const Reading r = bank.peek(id, {5, 5}, from_ms(kStart + 30'000));
    if (order == 0) sorted = spelt(spec(s), r, r.value);
    // The last n of one time are those that came last.
    if (GetParam().window != Window::events) {
      EXPECT_EQ(spelt(spec(s), r, r.value), sorted) << "seed " << seed;
    }
    std::shuffle(events.begin(), events.end(), random);
  }
}

TEST_P(EventTime, SurvivesARestartWithItsClock) {
  const Schedule s{"", kStart, 60'000, 10'000, 6, false};
  Bank before({std::uint64_t{8} << 20, 1000});
  const CounterId id = before.open({1, 1}, spec(s)).value();
  Datum datum;
  datum.type = Datum::Type::text;
  datum.text = "text";
  const Amount amount{GetParam().real ? Number::real(1.5) : Number(3), 77, &datum};
  for (const std::int64_t ms : {kStart, kStart + 9'000, kStart + 4'000})
    before.charge(id, {5, 5}, from_ms(ms), amount, nullptr, nullptr);
  std::string image;
  // By the clock a month has passed; by the events nothing has.
  const TimePoint clock = from_ms(kStart + std::int64_t{31} * 86'400'000);
  Bank::Snapshot snapshot(before, clock, clock);
  while (snapshot.next(image)) {
  }
  Bank after({std::uint64_t{8} << 20, 1000});
  const CounterId again = after.open({1, 1}, spec(s)).value();
  ASSERT_EQ(after.import(image, clock, clock).value(), 1u);
  for (const std::int64_t ms : {kStart + 1'000, kStart + 5'000, kStart + 60'000}) {
    const Reading a = before.peek(id, {5, 5}, from_ms(ms), &amount);
    const std::string had = spelt(spec(s), a, a.value);
    const Reading b = after.peek(again, {5, 5}, from_ms(ms), &amount);
    EXPECT_EQ(spelt(spec(s), b, b.value), had) << ms - kStart;
  }
}

TEST_P(EventTime, AllocatesNothing) {
  const Schedule s{"", kStart, 1'000, 500, 6, true};
  Bank bank({std::uint64_t{8} << 20, 1000});
  const CounterId id = bank.open({1, 1}, spec(s)).value();
  const Amount amount{GetParam().real ? Number::real(1) : Number(1), 3};
  bank.charge(id, {5, 5}, from_ms(kStart), amount, nullptr, nullptr);
  const std::size_t before = weir::test::allocations();
  for (int n = 0; n < 2'000; ++n) {
    Undo undo;
    const Moment at(from_ms(kStart + n - n % 7 * 50), n % 5 != 0);
    bank.observe(id, at);
    bank.charge(id, {5, static_cast<std::uint64_t>(n % 3)}, at, amount, nullptr, &undo);
    if (n % 3 == 0) bank.uncharge(id, {5, static_cast<std::uint64_t>(n % 3)}, undo);
  }
  EXPECT_EQ(weir::test::allocations(), before);
}

std::vector<Kind> kinds_with_own_time() {
  std::vector<Kind> out;
  for (const Kind& kind : kinds()) {
    CounterSpec spec;
    spec.metric = kind.metric;
    spec.window = kind.window;
    spec.real = kind.real;
    if (kind.near) spec.radius = 1000;
    spec.events = 3;
    spec.zone = TimeZone::find("UTC");
    spec.capacity = 3;
    spec.drain = milliseconds(1000);
    spec.late = milliseconds(0);
    if (find_kind(spec) != nullptr) out.push_back(kind);
  }
  return out;
}

INSTANTIATE_TEST_SUITE_P(Kinds, EventTime, testing::ValuesIn(kinds_with_own_time()),
                         [](const auto& row) { return std::string(row.param.name); });

TEST(EventTimeKinds, AreAllButWhatRunsOnAClock) {
  std::size_t others = 0;
  for (const Kind& kind : kinds()) {
    others += kind.window == Window::leaky || kind.window == Window::every_first ||
              kind.window == Window::none;
  }
  EXPECT_EQ(kinds_with_own_time().size() + others, kinds().size());
  CounterSpec spec;
  spec.late = kLateMax;
  EXPECT_NE(find_kind(spec), nullptr);
  spec.late = kLateMax + milliseconds(1);
  EXPECT_EQ(find_kind(spec), nullptr);
  spec.late = milliseconds(-1);
  EXPECT_EQ(find_kind(spec), nullptr);
}

}  // namespace
}  // namespace weir::limiter::event_time_test
