#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <set>

#include "limiter/kind.h"
#include "limiter/windows.h"

namespace weir::limiter::test {

/// A counter as one would write it on a blackboard: every event of one key in a list, read from end
/// to end.
class NaiveCounter {
 public:
  struct Event {
    std::int64_t ms;
    Amount amount;
    int id;
  };

  explicit NaiveCounter(const CounterSpec& spec) : spec_(spec), rule_(Rule::of(spec)) {}

  /// The reading at `now`, perhaps with one event more, perhaps with what is in flight.
  Number value(std::int64_t now, const Amount* extra, bool with_reserved) const {
    std::deque<Event> in;
    for (const Event& e : settled_) {
      if (counts(e, now)) in.push_back(e);
    }
    if (with_reserved) in.insert(in.end(), reserved_.begin(), reserved_.end());
    if (extra != nullptr) in.push_back({now, *extra, 0});
    return measure(in);
  }

  /// What happened in (now - window, now], by the definition of design 3.2; `late` ms of clock skew
  /// more.
  Number truth(std::int64_t now, double window, const Amount* extra) const {
    std::deque<Event> in;
    for (const Event& e : settled_) {
      if (static_cast<double>(now - e.ms) < window) in.push_back(e);
    }
    if (extra != nullptr) in.push_back({now, *extra, 0});
    return measure(in);
  }

  void charge(std::int64_t ms, std::int64_t now, const Amount& amount, int id) {
    if (spec_.window == Window::every_first) {
      if (settled_.empty() || now - start_ >= rule_.length) {
        settled_.clear();
        start_ = ms;
      }
      ms = std::max(ms, start_);
    }
    settled_.push_back({ms, amount, id});
  }
  void uncharge(int id) {
    std::erase_if(settled_, [&](const Event& e) { return e.id == id; });
    if (spec_.metric == Metric::distinct && !settled_.empty()) {
      start_ = settled_.front().ms;
      for (const Event& e : settled_) start_ = std::min(start_, e.ms);
    }
  }
  void reserve(std::int64_t ms, const Amount& amount, int id) {
    reserved_.push_back({ms, amount, id});
  }
  void settle(int id, std::int64_t now, bool matched) {
    const auto it = std::find_if(reserved_.begin(), reserved_.end(),
                                 [&](const Event& e) { return e.id == id; });
    const Event e = *it;
    reserved_.erase(it);
    if (matched && could_count(e.ms, now)) charge(e.ms, now, e.amount, id);
  }
  void reset() { settled_.clear(); }
  const std::deque<Event>& reserved() const { return reserved_; }
  /// What has left the window at `now` stays out, also for who comes later with an earlier clock.
  void prune(std::int64_t now) {
    std::erase_if(settled_, [&](const Event& e) { return !counts(e, now); });
  }

 private:
  bool could_count(std::int64_t ms, std::int64_t now) const {
    switch (spec_.window) {
      case Window::ring:
        return now / rule_.quantum - ms / rule_.quantum <= rule_.span;
      case Window::every:
        return now / rule_.length == ms / rule_.length;
      default:
        return now - ms < rule_.length;
    }
  }
  bool counts(const Event& e, std::int64_t now) const {
    if (spec_.window == Window::every_first) return now - start_ < rule_.length;
    return could_count(e.ms, now);
  }
  Number measure(const std::deque<Event>& in) const {
    if (spec_.metric == Metric::distinct) {
      std::set<std::uint64_t> members;
      for (const Event& e : in) members.insert(e.amount.member);
      return static_cast<std::int64_t>(members.size());
    }
    Number sum = spec_.real ? Number::real(0) : Number(0);
    for (const Event& e : in) sum = sum + e.amount.amount;
    return sum;
  }

  CounterSpec spec_;
  Rule rule_;
  std::deque<Event> settled_, reserved_;
  std::int64_t start_ = 0;
};

}  // namespace weir::limiter::test
