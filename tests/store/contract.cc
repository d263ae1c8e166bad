#include "tests/store/contract.h"

#include <iostream>
#include <map>
#include <random>

#include "tests/limiter/naive.h"
#include "tests/support/seed.h"

namespace weir::store::test {
namespace {

using namespace limiter;
using limiter::test::NaiveCounter;

constexpr std::int64_t kDay = 86'400'000;

struct Schedule {
  std::int64_t start, length;
  unsigned buckets;
  bool outcome;
};
constexpr Schedule kSchedules[] = {
    {1'700'000'000'000, 60'000, 60, false},
    {1'700'000'000'123, 60'000, 60, true},
    {1'700'000'000'000, 1'000, 60, true},
    {1'700'000'000'000, 7, 3, false},
    {1'700'000'000'000, 10'000, 1, true},
    {1'700'000'000'000, 31 * kDay, 3600, false},
    {1'000, 60'000, 60, true},
};

CounterSpec spec_of(const Kind& kind, const Schedule& s) {
  CounterSpec out;
  out.metric = kind.metric;
  out.window = kind.window;
  out.real = kind.real;
  if (kind.near) out.radius = 1'000;  // and nowhere: near_contract.cc has places
  out.length = milliseconds(s.length);
  out.buckets = s.buckets;
  out.outcome = s.outcome;
  if (out.window == Window::events) {
    out.events = s.buckets;
    if (s.length >= 31 * kDay) out.length = milliseconds(0);
  }
  if (out.window == Window::calendar) {
    out.unit = s.length >= kDay    ? CalendarUnit::month
               : s.buckets == 1    ? CalendarUnit::week
               : s.length > 50'000 ? CalendarUnit::day
                                   : CalendarUnit::hour;
    out.zone = TimeZone::find(s.outcome ? "Europe/Berlin" : "Asia/Shanghai");
  }
  if (out.window == Window::leaky) {
    out.capacity = s.buckets == 3 ? Number::real(2.5) : Number(std::int64_t{s.buckets});
    out.drain = milliseconds(std::max<std::int64_t>(1, s.length / s.buckets));
    if (s.outcome) out.drains = 3;  // a rate: three in that time
  }
  return out;
}

std::string spelt(const Datum& d) {
  switch (d.type) {
    case Datum::Type::none:
      return "none";
    case Datum::Type::boolean:
      return d.boolean ? "true" : "false";
    case Datum::Type::number:
      return (d.number.is_real() ? "real " : "") + d.number.to_string();
    case Datum::Type::text:
      return d.text.size() > Datum::kTextMax ? "none" : "text " + std::string(d.text);
  }
  return {};
}
std::string spelt(const CounterSpec& spec, const Reading& r) {
  if (spec.metric == Metric::last) return r.has_value ? spelt(*r.datum) : "none";
  return r.has_value ? r.value.to_string() : "none";
}
std::string spelt(const NaiveCounter::Value& v) {
  return v.number ? v.number->to_string() : "none " + v.datum;
}

bool agree(const CounterSpec& spec, const Reading& r, Number value,
           const NaiveCounter::Value& expected) {
  if (spec.metric == Metric::last) return spelt(spec, r) == expected.datum;
  if (!expected.number) return !r.has_value;
  if (!r.has_value) return false;
  if (spec.window != Window::leaky) return value == *expected.number;
  const double a = value.as_real(), b = expected.number->as_real();
  return std::abs(a - b) <= (spec.real ? 1e-6 : 4e-16 * std::abs(a + b));
}

std::int64_t random_step(const CounterSpec& spec, const Rule& rule, std::int64_t now,
                         std::mt19937_64& random) {
  const std::int64_t w = spec.window == Window::leaky ? spec.drain.count()
                         : spec.length.count() == 0   ? 31 * kDay
                                                      : spec.length.count();
  std::int64_t to_edge = rule.quantum - now % rule.quantum;
  if (spec.window == Window::calendar)
    to_edge = to_ms(spec.zone->span(spec.unit, from_ms(now)).end) - now;
  if (rule.aligned && spec.window == Window::every) to_edge = w - now % w;
  const auto below = [&](std::int64_t n) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
  };
  switch (below(12)) {
    case 0:
      return 0;
    case 1:
      return 1;
    case 2:
      return to_edge;
    case 3:
      return to_edge - 1;
    case 4:
      return to_edge + 1;
    case 5:
      return below(10) == 0 ? w - 1 + below(3) : 0;
    case 6:
      return below(30) == 0 ? w + below(3 * w) : 0;
    default:
      return below(w / 8 + 2);
  }
}

/// One counter and key, its operations, and a naive list.
class Stream {
 public:
  Stream(const Kind& kind, const Schedule& s, std::uint64_t seed, std::uint64_t number)
      : name_(std::string(kind.name) + " over " + std::to_string(s.length) + " ms from " +
              std::to_string(s.start) + (s.outcome ? ", with outcomes" : "") +
              (number % 3 == 0 ? ", exchanged" : "")),
        counter_({seed * 1000 + number, number}, spec_of(kind, s), number % 3 == 0),
        naive_(counter_.spec),
        random_(seed + number * 977),
        key_("k" + std::to_string(number)),
        now_(s.start) {}

  /// Appends this step's operations.
  void ask(Ask& batch, SharedId& next_id) {
    const CounterSpec& spec = counter_.spec;
    first_ = batch.all.size();
    take_back_ = undoable_ != 0 && random_() % 3 == 0;
    if (take_back_) {
      SharedOp& op = append(batch, SharedVerb::take_back, added_);
      batch.parts.back()[0].undo = undo_;
      op.at = from_ms(now_);
      op.id = added_id_;
    }
    if (undoable_ != 0) undoable_ = 0;
    now_ += random_step(spec, counter_.rule, now_, random_);
    // Events of one ms are in the order of their requests; the naive list has them as they settle.
    if (spec.outcome && spec.window == Window::events) ++now_;
    draw_event();
    append(batch, SharedVerb::look, event_);
    append(batch, SharedVerb::read, event_);
    id_ = next_id;
    ++next_id.sequence;
    const std::uint64_t what = random_() % 10;
    limited_ = random_() % 2 == 0;
    verb_ = SharedVerb::read;
    if (what < 5) {
      verb_ = SharedVerb::add;
      ceiling_ = {Number(static_cast<std::int64_t>(random_() % 30)), random_() % 2 == 0};
    } else if (what < 7 && spec.outcome) {
      verb_ = SharedVerb::reserve;
      limited_ = true;
      ceiling_ = {Number(static_cast<std::int64_t>(random_() % 40)), false};
    } else if (what < 9 && !open_.empty()) {
      verb_ = random_() % 2 == 0 ? SharedVerb::settle : SharedVerb::release;
      settled_ = std::next(open_.begin(), static_cast<std::ptrdiff_t>(random_() % open_.size()));
    } else if (random_() % 30 == 0) {
      verb_ = SharedVerb::reset;
    }
    SharedOp& op = append(batch, verb_, event_);
    op.id = id_;
    op.lifetime = milliseconds(36'500 * kDay);
    if ((verb_ == SharedVerb::add || verb_ == SharedVerb::reserve) && limited_)
      batch.parts.back()[0].ceiling = ceiling_;
    if (verb_ == SharedVerb::settle || verb_ == SharedVerb::release) {
      op.id = settled_->second.id;
      op.event = settled_->second.event;
      if (spec.metric == Metric::last) op.event.datum = &datum_;
      // A bucket settles late as if poured at its time; the model of that is in leaky_test.cc.
      op.at = spec.window == Window::leaky ? from_ms(now_) : from_ms(settled_->second.ms);
    }
  }

  void check(const Ask& batch, int step) {
    const CounterSpec& spec = counter_.spec;
    SCOPED_TRACE(name_ + ", step " + std::to_string(step) + " at " + std::to_string(now_));
    std::size_t at = first_;
    if (take_back_) {
      EXPECT_EQ(batch.answers[at++].error, SharedError::none);
      naive_.uncharge(added_number_);
    }
    const NaiveCounter::Value expected = naive_.value(now_, &event_, true);
    const Reading before = reading(batch, at++);
    ASSERT_TRUE(agree(spec, before, before.value, expected))
        << "look: " << spelt(spec, before) << " for " << spelt(expected);
    const NaiveCounter::Value settled = naive_.value(now_, &event_, false);
    if (settled.number && spec.metric != Metric::last) {
      ASSERT_TRUE(agree(spec, before, before.settled, settled))
          << "settled: " << before.settled.to_string() << " for " << spelt(settled);
    }
    const Reading without = reading(batch, at++);
    ASSERT_TRUE(agree(spec, without, without.value, naive_.value(now_, nullptr, true)))
        << "read: " << spelt(spec, without) << " for " << spelt(naive_.value(now_, nullptr, true));
    contract(before);
    const SharedReply& reply = batch.answers[at];
    const Reading r = reading(batch, at);
    const bool over = limited_ && before.has_value && ceiling_.broken_by(before.value);
    ++number_;
    switch (verb_) {
      case SharedVerb::add:
        ASSERT_TRUE(agree(spec, r, r.value, expected)) << "add: " << spelt(spec, r);
        ASSERT_EQ(reply.admitted, !over);
        naive_.prune(now_);
        changed_ = now_;
        if (over) break;
        naive_.charge(now_, now_, event_, number_, spelt(datum_));
        undoable_ = number_;
        added_ = event_;
        added_id_ = id_;
        added_number_ = number_;
        undo_ = reply.parts[0].undo;
        break;
      case SharedVerb::reserve:
        ASSERT_EQ(reply.admitted, !over);
        ASSERT_EQ(r.in_flight, open_.size());
        naive_.prune(now_);
        if (over) break;
        naive_.reserve(now_, event_, number_);
        open_[number_] = {id_, event_, now_};
        break;
      case SharedVerb::settle:
      case SharedVerb::release: {
        naive_.prune(now_);
        const bool matched = verb_ == SharedVerb::settle;
        const bool leaky = spec.window == Window::leaky;
        const std::int64_t ms = leaky ? now_ : settled_->second.ms;
        // The level before capping: the bucket with the event.
        const NaiveCounter::Value poured = naive_.value(now_, &settled_->second.event, false);
        naive_.settle(settled_->first, ms, now_, matched, spelt(datum_));
        const NaiveCounter::Value after =
            leaky && matched ? poured : naive_.value(now_, nullptr, false);
        ASSERT_TRUE(agree(spec, r, r.value, after))
            << "settle: " << spelt(spec, r) << " for " << spelt(after);
        open_.erase(settled_);
        break;
      }
      case SharedVerb::reset:
        naive_.reset();
        break;
      default:
        break;
    }
  }

 private:
  struct Open {
    SharedId id;
    Amount event;
    std::int64_t ms = 0;
  };

  SharedOp& append(Ask& batch, SharedVerb verb, const Amount& event) {
    SharedPart part;
    part.counter = &counter_;
    SharedOp& op = batch.add(verb, {part}, key_);
    op.event = event;
    op.now = from_ms(now_);
    return op;
  }

  Reading reading(const Ask& batch, std::size_t at) const {
    EXPECT_EQ(batch.answers[at].error, SharedError::none) << row_of(batch.answers[at].error).name;
    Reading r = batch.answers[at].parts[0].reading;
    if (r.datum != nullptr) r.datum = &batch.answers[at].datum;
    return r;
  }

  void draw_event() {
    const CounterSpec& spec = counter_.spec;
    event_ = {};
    const bool amounts = spec.metric == Metric::sum || spec.metric == Metric::average ||
                         spec.metric == Metric::minimum || spec.metric == Metric::maximum;
    if (amounts) {
      const auto n = static_cast<std::int64_t>(random_() % 20) + 1;
      event_.amount = spec.real ? Number::real(static_cast<double>(n) / 4) : Number(n);
    }
    if (amounts && spec.metric != Metric::sum && random_() % 4 == 0)
      event_.amount = Number(std::int64_t{0}) - event_.amount;
    if (spec.metric == Metric::distinct || spec.metric == Metric::exists)
      event_.member = random_() % 12 * 0x9E37'79B9'7F4A'7C15U;
    datum_.type = static_cast<Datum::Type>(random_() % 4);
    datum_.boolean = random_() % 2 == 0;
    datum_.number = random_() % 2 == 0 ? Number(static_cast<std::int64_t>(random_()) >> 3)
                                       : Number::real(static_cast<double>(random_() % 1000) / 8);
    text_.assign(random_() % 4 == 0 ? random_() % 270 : random_() % 20,
                 static_cast<char>(random_()));
    datum_.text = text_;
    if (spec.metric == Metric::last) event_.datum = &datum_;
  }

  /// Design 3.2, for the windows over the past.
  void contract(const Reading& before) const {
    const CounterSpec& spec = counter_.spec;
    const bool trailing = spec.window == Window::ring || spec.window == Window::log;
    const bool counts = spec.metric == Metric::count || spec.metric == Metric::sum ||
                        spec.metric == Metric::distinct;
    if (!open_.empty() || !trailing || !counts || now_ < changed_) return;
    const auto w = static_cast<double>(spec.length.count());
    const double slack = spec.window == Window::ring ? w / spec.buckets : 0;
    EXPECT_LE(naive_.truth(now_, w, &event_), before.value);
    EXPECT_LE(before.value, naive_.truth(now_, w + slack, &event_));
  }

  std::string name_;
  SharedCounter counter_;
  NaiveCounter naive_;
  std::mt19937_64 random_;
  std::string key_;
  std::int64_t now_, changed_ = 0;
  Amount event_, added_;
  Datum datum_;
  std::string text_;
  SharedId id_, added_id_;
  SharedVerb verb_ = SharedVerb::read;
  bool limited_ = false, take_back_ = false;
  Ceiling ceiling_{};
  double undo_ = 0;
  int number_ = 0, undoable_ = 0, added_number_ = 0;
  std::size_t first_ = 0;
  std::map<int, Open> open_;
  std::map<int, Open>::iterator settled_;
};

CounterSpec counting(Window window, std::int64_t ms) {
  CounterSpec out;
  out.window = window;
  out.length = milliseconds(ms);
  out.buckets = 10;
  return out;
}

struct Plain {
  World& world;
  SharedStore& store;
  SharedId id{std::random_device{}(), 1};

  SharedReply one(SharedVerb verb, std::vector<SharedPart> parts, const std::string& key,
                  std::int64_t ms, Amount event = {}, milliseconds lifetime = milliseconds(0),
                  SharedId which = {}) {
    Ask ask;
    SharedOp& op = ask.add(verb, std::move(parts), key);
    op.event = event;
    op.now = op.at = from_ms(ms);
    op.lifetime = lifetime;
    op.id = which.sequence != 0 ? which : id;
    ++id.sequence;
    ask.run(world, store);
    EXPECT_EQ(ask.answers[0].error, SharedError::none) << row_of(ask.answers[0].error).name;
    return ask.answers[0];
  }
};

std::uint64_t fresh() {
  static std::mt19937_64 random(std::random_device{}());
  return random();
}

}  // namespace

void every_kind_counts_as_a_naive_list(World& world, SharedStore& store, int steps,
                                       const std::function<SharedStore&()>& own) {
  const std::uint64_t seed = ::weir::test::new_seed();
  std::cout << "seed " << seed << '\n';
  std::deque<Stream> streams;
  for (const Kind& kind : kinds()) {
    if (kind.metric == Metric::in_flight) continue;
    for (const Schedule& s : kSchedules) streams.emplace_back(kind, s, seed, streams.size());
  }
  std::vector<SharedStore*> stores;
  for (std::size_t i = 0; own && i < streams.size(); ++i) stores.push_back(&own());
  SharedId id{seed, 1};
  for (int step = 0; step < steps; ++step) {
    for (std::size_t i = 0; i < stores.size(); ++i) {
      Ask batch;
      streams[i].ask(batch, id);
      batch.run(world, *stores[i]);
      streams[i].check(batch, step);
      if (testing::Test::HasFatalFailure()) return;
    }
    if (own) continue;
    Ask batch;
    for (Stream& stream : streams) stream.ask(batch, id);
    batch.run(world, store);
    for (Stream& stream : streams) {
      stream.check(batch, step);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

void no_trailing_window_admits_more(World& world, SharedStore& store) {
  const std::uint64_t seed = fresh();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (const Window window : {Window::ring, Window::log}) {
    const SharedCounter counter({fresh(), 1}, counting(window, 1'000));
    SharedPart part;
    part.counter = &counter;
    part.ceiling = Ceiling{Number(7), false};
    std::deque<std::int64_t> admitted;
    std::int64_t now = 1'700'000'000'000;
    for (int round = 0; round < 40; ++round) {
      Ask ask;
      std::vector<std::int64_t> times;
      for (int i = 0; i < 20; ++i) {
        // Bursts at edges, which is where others let twice the limit through.
        now += random() % 3 == 0 ? static_cast<std::int64_t>(random() % 400) : 0;
        SharedOp& op = ask.add(SharedVerb::add, {part}, "edge");
        op.now = from_ms(now);
        op.id = {seed, static_cast<std::uint64_t>(round * 100 + i + 1)};
        times.push_back(now);
      }
      ask.run(world, store);
      for (std::size_t i = 0; i < times.size(); ++i) {
        if (!ask.answers[i].admitted) continue;
        admitted.push_back(times[i]);
        while (admitted.front() <= times[i] - 1'000) admitted.pop_front();
        ASSERT_LE(admitted.size(), 7U);
      }
    }
    EXPECT_GT(admitted.size(), 0U);
  }
}

void keeps_what_keep_says(World& world, SharedStore& store) {
  Plain plain{world, store};
  const std::int64_t t = 1'700'000'000'000;
  CounterSpec spec = counting(Window::log, 60'000);
  spec.keep = 5;
  const SharedCounter counts({fresh(), 1}, spec);
  spec.metric = Metric::distinct;
  const SharedCounter members({fresh(), 2}, spec);
  spec.metric = Metric::sum;
  const SharedCounter sums({fresh(), 3}, spec);
  std::int64_t total = 0;
  for (std::int64_t i = 0; i < 60; ++i) {
    Amount event;
    event.member = static_cast<std::uint64_t>(i) * 77'777;
    event.amount = Number(1);
    const Number capped(std::min<std::int64_t>(i + 1, 5));
    SharedPart part;
    part.counter = &counts;
    EXPECT_EQ(plain.one(SharedVerb::add, {part}, "full", t + i, event).parts[0].reading.value,
              capped);
    part.counter = &members;
    EXPECT_EQ(plain.one(SharedVerb::add, {part}, "full", t + i, event).parts[0].reading.value,
              capped);
    event.amount = Number(i);
    total += i;
    part.counter = &sums;  // merges its oldest and never undercounts
    EXPECT_EQ(plain.one(SharedVerb::add, {part}, "full", t + i, event).parts[0].reading.value,
              Number(total));
  }
}

void parts_are_all_or_nothing(World& world, SharedStore& store) {
  Plain plain{world, store};
  const std::int64_t t = 1'700'000'000'000;
  const SharedCounter burst({fresh(), 1}, counting(Window::log, 1'000));
  const SharedCounter sustained({fresh(), 2}, counting(Window::ring, 60'000));
  SharedPart a, b;
  a.counter = &burst;
  a.ceiling = Ceiling{Number(2), false};
  b.counter = &sustained;
  b.ceiling = Ceiling{Number(3), false};
  const bool expected[] = {true, true, false, false};
  for (int i = 0; i < 4; ++i) {
    const SharedReply r = plain.one(SharedVerb::add, {a, b}, "both", t + i);
    EXPECT_EQ(r.admitted, expected[i]) << i;
    EXPECT_EQ(r.parts[1].reading.value, Number(std::min(i + 1, 3))) << "nothing of it was counted";
  }
  EXPECT_TRUE(plain.one(SharedVerb::add, {a, b}, "both", t + 2'000).admitted);
  const SharedReply r = plain.one(SharedVerb::add, {a, b}, "both", t + 4'000);
  EXPECT_FALSE(r.admitted);
  EXPECT_EQ(r.parts[0].reading.value, Number(1)) << "the event itself";
  EXPECT_EQ(r.parts[1].reading.value, Number(4));
}

void reservations_of_the_dead_end(World& world, SharedStore& store) {
  Plain plain{world, store};
  const std::int64_t t = 1'700'000'000'000;
  CounterSpec spec = counting(Window::log, 60'000);
  spec.outcome = true;
  const SharedCounter counter({fresh(), 1}, spec);
  SharedPart part;
  part.counter = &counter;
  part.ceiling = Ceiling{Number(1), false};
  const auto reserve = [&](std::int64_t at) {
    return plain.one(SharedVerb::reserve, {part}, "guess", at, {}, milliseconds(1'000));
  };
  EXPECT_TRUE(reserve(t).admitted);
  const SharedReply second = reserve(t + 999);
  EXPECT_FALSE(second.admitted);
  EXPECT_EQ(second.parts[0].reading.value, Number(2));
  EXPECT_EQ(second.parts[0].reading.settled, Number(1)) << "over only because of the other";
  EXPECT_EQ(second.parts[0].reading.in_flight, 1U);
  const SharedId third = plain.id;
  EXPECT_TRUE(reserve(t + 1'001).admitted) << "the first one's replica has died";

  // The third one's request is still under way, which its replica says now and then.
  SharedPart renewed;
  renewed.counter = &counter;
  for (const std::int64_t at : {t + 1'500, t + 2'300, t + 3'200})
    plain.one(SharedVerb::reserve, {renewed}, "guess", at, {}, milliseconds(1'000), third);
  EXPECT_FALSE(reserve(t + 4'199).admitted) << "renewed at 3,200";
  EXPECT_EQ(plain.one(SharedVerb::read, {part}, "guess", t + 4'199).parts[0].reading.in_flight, 1U)
      << "one reservation, however often it is renewed";
  plain.one(SharedVerb::release, {part}, "guess", t + 4'199, {}, {}, third);
  EXPECT_TRUE(reserve(t + 4'199).admitted) << "and ended by one release";
}

void events_in_flight_are_counted(World& world, SharedStore& store) {
  Plain plain{world, store};
  const std::int64_t t = 1'700'000'000'000;
  CounterSpec spec;
  spec.metric = Metric::in_flight;
  spec.window = Window::none;
  const SharedCounter counter({fresh(), 1}, spec);
  SharedPart part;
  part.counter = &counter;
  part.ceiling = Ceiling{Number(2), false};
  const SharedId first = plain.id;
  const auto enter = [&](std::int64_t at) {
    return plain.one(SharedVerb::add, {part}, "open", at, {}, milliseconds(10'000));
  };
  EXPECT_EQ(enter(t).parts[0].reading.value, Number(1));
  EXPECT_EQ(enter(t + 1).parts[0].reading.value, Number(2));
  EXPECT_FALSE(enter(t + 2).admitted);
  EXPECT_EQ(plain.one(SharedVerb::read, {part}, "open", t + 3).parts[0].reading.value, Number(2));
  plain.one(SharedVerb::take_back, {part}, "open", t + 4, {}, {}, first);
  EXPECT_EQ(plain.one(SharedVerb::read, {part}, "open", t + 5).parts[0].reading.value, Number(1));
  EXPECT_TRUE(enter(t + 6).admitted);
  EXPECT_EQ(plain.one(SharedVerb::read, {part}, "open", t + 10'003).parts[0].reading.value,
            Number(1))
      << "whose replica died has ended";
}

void whole_contract(World& world, SharedStore& store, int steps,
                    const std::function<SharedStore&()>& own) {
  every_kind_counts_as_a_naive_list(world, store, steps, own);
  what_is_near_counts_as_a_naive_list(world, store, 2 * steps);
  a_full_cell_reads_all_that_it_keeps(world, store);
  if (testing::Test::HasFatalFailure()) return;
  no_trailing_window_admits_more(world, store);
  keeps_what_keep_says(world, store);
  parts_are_all_or_nothing(world, store);
  reservations_of_the_dead_end(world, store);
  events_in_flight_are_counted(world, store);
  what_exchanges_rest_on(world, store);
}

}  // namespace weir::store::test
