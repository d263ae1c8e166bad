// Counters with a radius in a shared store, against a naive list of places: across the borders of
// cells, at the poles and on both sides of the 180th meridian.
#include <algorithm>
#include <cmath>
#include <iostream>
#include <optional>
#include <random>
#include <set>

#include "tests/store/contract.h"
#include "tests/support/seed.h"

namespace weir::store::test {
namespace {

using namespace limiter;

constexpr double kRadius = 1'000;
constexpr std::int64_t kWindow = 60'000, kNearStart = 1'700'000'000'000;

struct Event {
  int number = 0;
  std::int64_t ms = 0;
  Place place;
  Amount amount;
};

struct Said {
  std::optional<Number> value;
  std::size_t open = 0;
};

Said measure(Metric metric, bool real, const std::vector<Event>& events, const Amount* itself) {
  Said out;
  std::set<std::uint64_t> members;
  std::vector<Number> amounts;
  for (const Event& e : events) {
    members.insert(e.amount.member);
    amounts.push_back(e.amount.amount);
  }
  if (metric == Metric::exists) {
    out.value = Number(std::int64_t{itself != nullptr && members.contains(itself->member)});
    return out;
  }
  if (itself != nullptr) {
    members.insert(itself->member);
    amounts.push_back(itself->amount);
  }
  if (metric == Metric::distinct) {
    out.value = Number(static_cast<std::int64_t>(members.size()));
    return out;
  }
  Number sum = real ? Number::real(0) : Number(0);
  for (const Number& a : amounts) sum = sum + a;
  if (metric == Metric::count) out.value = Number(static_cast<std::int64_t>(amounts.size()));
  if (metric == Metric::sum) out.value = sum;
  if (amounts.empty() || out.value) return out;
  if (metric == Metric::average)
    out.value = Number::real(sum.as_real() / static_cast<double>(amounts.size()));
  if (metric == Metric::minimum) out.value = *std::min_element(amounts.begin(), amounts.end());
  if (metric == Metric::maximum) out.value = *std::max_element(amounts.begin(), amounts.end());
  return out;
}

CounterSpec spec_of(const Kind& kind, bool outcome) {
  CounterSpec out;
  out.metric = kind.metric;
  out.window = kind.window;
  out.real = kind.real;
  out.length = milliseconds(kWindow);
  out.radius = kRadius;
  out.outcome = outcome;
  return out;
}

std::string spelt(const std::optional<Number>& n) { return n ? n->to_string() : "none"; }

/// One counter, what is asked of it, and a list of all that has happened.
class Walk {
 public:
  Walk(const Kind& kind, bool outcome, std::uint64_t seed, std::uint64_t number)
      : name_(std::string(kind.name) + (outcome ? ", with outcomes" : "")),
        random_(seed + number * 7919),
        counter_({seed * 1000 + number, number}, spec_of(kind, outcome)) {
    constexpr Place kAnchors[] = {{31.2304, 121.4737}, {90, 0}, {-90, 0}, {10, 180}, {0, 0}};
    anchor_ = kAnchors[random_() % std::size(kAnchors)];
  }

  void ask(Ask& batch, SharedId& next_id, std::int64_t now) {
    first_ = batch.all.size();
    now_ = now;
    event_ = {next_number_++, now_, somewhere(), {}};
    const CounterSpec& spec = counter_.spec;
    const auto n = static_cast<std::int64_t>(random_() % 20) + 1;
    if (spec.metric != Metric::count)
      event_.amount.amount = spec.real ? Number::real(static_cast<double>(n) / 4) : Number(n);
    event_.amount.member = random_() % 9 * 0x9E37'79B9'7F4A'7C15U;
    verb_ = SharedVerb::add;
    closes_ = open_.end();
    const std::uint64_t what = random_() % 12;
    if (what < 2) {
      verb_ = SharedVerb::read;
    } else if (what == 2) {
      verb_ = SharedVerb::look;
    } else if (what == 3 && random_() % 8 == 0) {
      verb_ = SharedVerb::reset;
    } else if (what < 8 && spec.outcome) {
      verb_ = SharedVerb::reserve;
      if (!open_.empty() && random_() % 2 == 0) {
        verb_ = random_() % 3 == 0 ? SharedVerb::release : SharedVerb::settle;
        closes_ = open_.begin() + static_cast<std::ptrdiff_t>(random_() % open_.size());
        event_ = closes_->event;
      }
    }
    ceiling_.reset();
    if (random_() % 2 == 0) ceiling_ = Ceiling{Number(std::int64_t(random_() % 12)), false};
    SharedPart part;
    part.counter = &counter_;
    if (verb_ == SharedVerb::add || verb_ == SharedVerb::reserve) part.ceiling = ceiling_;
    SharedOp& op = batch.add(verb_, {part}, "somebody");
    op.id = closes_ != open_.end() ? closes_->id : next_id;
    id_ = op.id;
    ++next_id.sequence;
    op.event = event_.amount;
    op.place = event_.place;
    op.now = from_ms(now_);
    op.at = from_ms(event_.ms);
    op.lifetime = milliseconds(100 * kWindow);
  }

  void check(const Ask& batch, int step) {
    SCOPED_TRACE(name_ + ", step " + std::to_string(step));
    const SharedReply& reply = batch.answers[first_];
    ASSERT_EQ(reply.error, SharedError::none) << row_of(reply.error).name;
    const bool admits = verb_ == SharedVerb::add || verb_ == SharedVerb::reserve;
    const bool counts_itself = admits || verb_ == SharedVerb::look;
    if (verb_ == SharedVerb::release || verb_ == SharedVerb::settle) {
      if (verb_ == SharedVerb::settle && now_ - event_.ms < kWindow) settled_.push_back(event_);
      open_.erase(closes_);
      return;
    }
    if (verb_ == SharedVerb::reset) {
      std::erase_if(settled_, [&](const Event& e) { return near(e); });
      return;
    }
    std::vector<Event> all = around(settled_);
    const Amount* const itself = counts_itself ? &event_.amount : nullptr;
    const Said settled = say(all, itself);
    std::vector<Event> open;
    for (const Open& o : open_) open.push_back(o.event);
    std::erase_if(open, [&](const Event& e) { return !near(e); });
    all.insert(all.end(), open.begin(), open.end());
    const Said value = say(all, itself);
    const Reading& r = reply.parts[0].reading;
    // Of what is read without an event nothing has been seen before.
    if (counter_.spec.metric != Metric::exists || counts_itself) {
      ASSERT_EQ(r.has_value ? r.value.to_string() : "none", spelt(value.value));
      if (settled.value && r.has_value) {
        ASSERT_EQ(r.settled.to_string(), settled.value->to_string());
      }
    }
    ASSERT_EQ(r.in_flight, open.size());
    if (!admits) return;
    const bool over = ceiling_ && value.value && ceiling_->broken_by(*value.value);
    ASSERT_EQ(reply.admitted, !over);
    if (over) return;
    if (verb_ == SharedVerb::add) settled_.push_back(event_);
    if (verb_ == SharedVerb::reserve) open_.push_back({id_, event_});
  }

 private:
  struct Open {
    SharedId id;
    Event event;
  };
  /// Within three kilometres of the anchor, or nowhere.
  Place somewhere() {
    if (random_() % 40 == 0) return {};
    const double part = static_cast<double>(random_() % 1'000'000) / 1'000'000;
    const double turn = static_cast<double>(random_() % 1'000'000) / 1'000'000 * 2 * M_PI;
    const double degrees = part * 3 * kRadius / kEarthRadiusMetres * 180 / M_PI;
    if (std::abs(anchor_.lat) == 90)
      return {anchor_.lat > 0 ? 90 - degrees : degrees - 90, turn * 180 / M_PI - 180};
    double lon = anchor_.lon + degrees * std::sin(turn) / std::cos(anchor_.lat * M_PI / 180);
    if (lon > 180) lon -= 360;
    return {anchor_.lat + degrees * std::cos(turn), lon};
  }
  bool near(const Event& e) const {
    if (e.place == Place{} || event_.place == Place{}) return e.place == event_.place;
    return distance_metres(e.place.lat, e.place.lon, event_.place.lat, event_.place.lon) <= kRadius;
  }
  std::vector<Event> around(const std::vector<Event>& events) const {
    std::vector<Event> out;
    for (const Event& e : events) {
      if (e.ms > now_ - kWindow && near(e)) out.push_back(e);
    }
    return out;
  }
  Said say(const std::vector<Event>& events, const Amount* itself) const {
    return measure(counter_.spec.metric, counter_.spec.real, events, itself);
  }

  std::string name_;
  std::mt19937_64 random_;
  SharedCounter counter_;
  Place anchor_;
  std::int64_t now_ = 0;
  int next_number_ = 0;
  Event event_;
  SharedVerb verb_{};
  SharedId id_;
  std::optional<Ceiling> ceiling_;
  std::vector<Event> settled_;
  std::vector<Open> open_;
  std::vector<Open>::iterator closes_;
  std::size_t first_ = 0;
};

}  // namespace

void what_is_near_counts_as_a_naive_list(World& world, SharedStore& store, int steps) {
  const std::uint64_t seed = ::weir::test::new_seed();
  std::cout << "near: seed " << seed << '\n';
  std::deque<Walk> walks;
  for (const Kind& kind : kinds()) {
    if (!kind.near) continue;
    for (const bool outcome : {false, true}) walks.emplace_back(kind, outcome, seed, walks.size());
  }
  SharedId id{seed, 1};
  std::mt19937_64 random(seed);
  std::int64_t now = kNearStart;
  for (int step = 0; step < steps; ++step) {
    now += static_cast<std::int64_t>(random() % 8 == 0 ? random() % kWindow : random() % 900);
    Ask batch;
    for (Walk& walk : walks) walk.ask(batch, id, now);
    batch.run(world, store);
    for (Walk& walk : walks) {
      walk.check(batch, step);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

void a_full_cell_reads_all_that_it_keeps(World& world, SharedStore& store) {
  constexpr std::uint32_t kKeep = 5;
  const std::uint64_t seed = ::weir::test::new_seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  SharedId id{seed, 1};
  std::uint64_t number = 0;
  for (const Kind& kind : kinds()) {
    const bool counts = kind.metric == Metric::count || kind.metric == Metric::distinct ||
                        kind.metric == Metric::exists || kind.metric == Metric::last;
    if (!kind.near || counts) continue;
    SCOPED_TRACE(kind.name);
    CounterSpec spec = spec_of(kind, false);
    spec.keep = kKeep;
    ++number;
    const SharedCounter counter({seed * 1000 + number, number}, spec);
    std::vector<Event> before;
    for (int i = 0; i < 30; ++i) {
      Event event{i, kNearStart + i, {31.2304, 121.4737}, {}};
      const auto n = static_cast<std::int64_t>(random() % 100) + 1;
      event.amount.amount = kind.real ? Number::real(static_cast<double>(n) / 4) : Number(n);
      SharedPart part;
      part.counter = &counter;
      Ask batch;
      SharedOp& op = batch.add(SharedVerb::add, {part}, "somebody");
      op.id = id;
      ++id.sequence;
      op.event = event.amount;
      op.place = event.place;
      op.now = op.at = from_ms(event.ms);
      batch.run(world, store);
      // Sums keep all: their two oldest events become one.
      if (kind.metric != Metric::sum && before.size() > kKeep) before.erase(before.begin());
      const Said said = measure(kind.metric, kind.real, before, &event.amount);
      const SharedReply& reply = batch.answers[0];
      ASSERT_EQ(reply.error, SharedError::none) << row_of(reply.error).name;
      ASSERT_EQ(reply.parts[0].reading.value.to_string(), spelt(said.value)) << "event " << i;
      before.push_back(event);
    }
  }
}

}  // namespace weir::store::test
