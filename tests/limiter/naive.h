#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <string>

#include "limiter/kinds/counter_spec.h"
#include "limiter/kinds/windows.h"

namespace weir::limiter::test {

/// A counter as one would write it on a blackboard: every event of one key in a list, read from end
/// to end.
class NaiveCounter {
 public:
  struct Event {
    std::int64_t ms;
    Amount amount;
    int id;
    std::string datum;  ///< last: the remembered value, spelt out
  };
  /// No value: average, minimum, maximum or last of nothing.
  struct Value {
    std::optional<Number> number;
    std::string datum;
  };

  explicit NaiveCounter(const CounterSpec& spec) : spec_(spec), rule_(Rule::of(spec)) {}

  /// The reading at `now`, perhaps with one event more, perhaps with what is in flight.
  Value value(std::int64_t now, const Amount* extra, bool with_reserved) const {
    if (spec_.window == Window::leaky) return {level(now, extra, with_reserved), {}};
    std::deque<Event> in;
    for (const Event& e : settled_) {
      if (counts(e, now)) in.push_back(e);
    }
    std::stable_sort(in.begin(), in.end(),
                     [](const Event& a, const Event& b) { return a.ms < b.ms; });
    if (spec_.metric == Metric::last) {
      if (spec_.window == Window::events) keep_newest(in, spec_.events);
      return {std::nullopt, in.empty() ? "none" : in.back().datum};
    }
    if (with_reserved) in.insert(in.end(), reserved_.begin(), reserved_.end());
    const bool asks = spec_.metric == Metric::exists;
    if (extra != nullptr && !asks) in.push_back({now, *extra, 0, {}});
    if (spec_.window == Window::events) keep_newest(in, spec_.events);
    if (!asks) return {measure(in), {}};
    const bool had = extra != nullptr && std::any_of(in.begin(), in.end(), [&](const Event& e) {
                       return e.amount.member == extra->member;
                     });
    return {Number(std::int64_t{had}), {}};
  }

  /// The events in (now - window, now], as docs/accuracy.md defines it; `late` ms of clock skew
  /// more.
  Number truth(std::int64_t now, double window, const Amount* extra) const {
    std::deque<Event> in;
    for (const Event& e : settled_) {
      if (static_cast<double>(now - e.ms) < window) in.push_back(e);
    }
    if (extra != nullptr) in.push_back({now, *extra, 0, {}});
    return *measure(in);
  }

  void charge(std::int64_t ms, std::int64_t now, const Amount& amount, int id,
              std::string datum = {}) {
    if (spec_.window == Window::every_first) {
      if (settled_.empty() || now - start_ >= rule_.length) {
        settled_.clear();
        start_ = ms;
      }
      ms = std::max(ms, start_);
    }
    if (spec_.window == Window::leaky) ms = drained_to_ = std::max(ms, drained_to_);
    settled_.push_back({ms, amount, id, std::move(datum)});
  }
  void uncharge(int id) {
    std::erase_if(settled_, [&](const Event& e) { return e.id == id; });
    forget_if_empty();
    const bool members = spec_.metric == Metric::distinct || spec_.metric == Metric::exists;
    if (members && !settled_.empty()) {
      start_ = settled_.front().ms;
      for (const Event& e : settled_) start_ = std::min(start_, e.ms);
    }
  }
  void reserve(std::int64_t ms, const Amount& amount, int id) {
    reserved_.push_back({ms, amount, id, {}});
  }
  void settle(int id, std::int64_t event_ms, std::int64_t now, bool matched,
              std::string datum = {}) {
    auto it = std::find_if(reserved_.begin(), reserved_.end(),
                           [&](const Event& e) { return e.id == id; });
    const Event e = *it;
    // Equal reservations of one millisecond cannot be told apart: the latest of them goes.
    auto last = it;
    for (auto other = it; other != reserved_.end(); ++other) {
      if (other->ms == e.ms && other->amount.amount == e.amount.amount &&
          other->amount.member == e.amount.member) {
        last = other;
      }
    }
    it->id = last->id;
    reserved_.erase(last);
    if (matched && could_count(event_ms, now)) charge(event_ms, now, e.amount, id, datum);
    forget_if_empty();
  }
  void reset() {
    settled_.clear();
    forget_if_empty();
  }
  /// Events that have left the window at `now` stay out, also for later calls with earlier clocks.
  void prune(std::int64_t now) {
    if (spec_.window == Window::leaky) {
      drained_to_ = std::max(drained_to_, now);
      forget_if_empty();
      return;
    }
    std::erase_if(settled_, [&](const Event& e) {
      return rule_.kept != 0 ? (now / rule_.quantum - e.ms / rule_.quantum) > rule_.kept
                             : !counts(e, now);
    });
  }

 private:
  void forget_if_empty() {
    if (spec_.window != Window::leaky || !level(drained_to_, nullptr, true).is_zero()) return;
    settled_.clear();
    drained_to_ = 0;
  }
  static void keep_newest(std::deque<Event>& in, std::size_t n) {
    while (in.size() > n) in.pop_front();
  }
  bool could_count(std::int64_t ms, std::int64_t now) const {
    switch (spec_.window) {
      case Window::ring:
        return now / rule_.quantum - ms / rule_.quantum <= std::max(rule_.span, rule_.kept);
      case Window::every:
        return now / rule_.length == ms / rule_.length;
      case Window::calendar: {
        const TimeZone::Span span = spec_.zone->span(spec_.unit, from_ms(now));
        return ms >= to_ms(span.begin) && ms < to_ms(span.end);
      }
      case Window::events:
        return spec_.length.count() == 0 || now - ms < spec_.length.count();
      case Window::leaky:
        return true;
      default:
        return now - ms < std::max(rule_.length, rule_.kept);
    }
  }
  bool counts(const Event& e, std::int64_t now) const {
    if (spec_.window == Window::every_first) return now - start_ < rule_.length;
    if (spec_.window == Window::ring)
      return now / rule_.quantum - e.ms / rule_.quantum <= rule_.span;
    if (spec_.window == Window::log) return now - e.ms < rule_.length;
    return could_count(e.ms, now);
  }

  std::optional<Number> measure(const std::deque<Event>& in) const {
    if (spec_.metric == Metric::distinct) {
      std::set<std::uint64_t> members;
      for (const Event& e : in) members.insert(e.amount.member);
      return static_cast<std::int64_t>(members.size());
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
        if (in.empty()) return std::nullopt;
        return Number::real(sum.as_real() / static_cast<double>(in.size()));
      case Metric::minimum:
        return least;
      case Metric::maximum:
        return most;
      default:
        return sum;
    }
  }

  /// Pours event by event; amounts are multiples of 1/4, drains whole ms: long doubles are exact
  /// enough to be rounded to what an exact bucket reads.
  Number level(std::int64_t now, const Amount* extra, bool with_reserved) const {
    const auto capacity = static_cast<long double>(spec_.capacity.as_real());
    const auto drain = static_cast<long double>(spec_.drain.count());
    const auto drains = static_cast<long double>(spec_.drains);
    long double full = 0;  // times drain
    std::int64_t at = 0;
    std::set<std::uint64_t> members;
    const auto pour = [&](const Event& e, bool cap) {
      full = std::max(0.0L, full - static_cast<long double>(e.ms - at) * drains);
      at = e.ms;
      if (full == 0) members.clear();
      if (spec_.metric == Metric::distinct && !members.insert(e.amount.member).second) return;
      const long double amount = spec_.metric == Metric::distinct
                                     ? 1
                                     : static_cast<long double>(e.amount.amount.as_real());
      full += amount * drain;
      if (cap) full = std::min(full, capacity * drain);
    };
    for (const Event& e : settled_) pour(e, true);
    now = std::max(now, drained_to_);
    full = std::max(0.0L, full - static_cast<long double>(now - at) * drains);
    at = now;
    if (full == 0) members.clear();
    std::deque<Event> more;
    if (with_reserved) more = reserved_;
    if (extra != nullptr) more.push_back({now, *extra, 0, {}});
    for (Event e : more) {
      e.ms = now;
      pour(e, false);
    }
    return Number::real(static_cast<double>(full / drain));
  }

  CounterSpec spec_;
  Rule rule_;
  std::deque<Event> settled_, reserved_;
  std::int64_t start_ = 0;
  std::int64_t drained_to_ = 0;  // leaky: no thread with an earlier clock fills it again
};

}  // namespace weir::limiter::test
