#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "limiter/memory/frame.h"
#include "limiter/memory/make_room.h"
#include "limiter/patterns/pattern.h"

namespace weir::limiter {

/// Events of one key that wait for another, or for their deadline: by time, then by arrival.
class WaitingEvents {
 public:
  struct Event {
    TimePoint ts;
    std::uint64_t line = 0;
    std::uint64_t order = 0;  ///< of arrival
    std::string payload;
  };

  bool empty() const noexcept { return events_.empty(); }
  std::size_t size() const noexcept { return events_.size(); }
  const std::vector<Event>& events() const noexcept { return events_; }
  TimePoint oldest() const noexcept { return events_.empty() ? kNever : events_.front().ts; }

  /// Returns how many had to go for it: with `keep` of them waiting the oldest gives way.
  std::size_t add(const PatternEvent& event, std::uint64_t order, std::size_t keep) {
    // First all that may lack memory: then nothing has changed.
    Event added{event.ts, event.line, order, std::string(event.payload)};
    make_room(events_);
    std::size_t dropped = 0;
    if (events_.size() >= keep) {
      erase(0);
      dropped = 1;
    }
    const auto at = std::upper_bound(events_.begin(), events_.end(), event.ts,
                                     [](TimePoint ts, const Event& e) { return ts < e.ts; });
    payload_bytes_ += event.payload.size();
    events_.insert(at, std::move(added));
    return dropped;
  }
  void erase(std::size_t index, std::size_t count = 1) {
    const auto first = events_.begin() + static_cast<std::ptrdiff_t>(index);
    const auto last = first + static_cast<std::ptrdiff_t>(count);
    for (auto event = first; event != last; ++event) payload_bytes_ -= event->payload.size();
    events_.erase(first, last);
  }
  /// How many have ts <= last.
  std::size_t count_until(TimePoint last) const noexcept {
    const auto end = std::upper_bound(events_.begin(), events_.end(), last,
                                      [](TimePoint ts, const Event& e) { return ts < e.ts; });
    return static_cast<std::size_t>(end - events_.begin());
  }
  /// The oldest with first <= ts <= last; size() if there is none.
  std::size_t find(TimePoint first, TimePoint last) const noexcept {
    const auto at = std::lower_bound(events_.begin(), events_.end(), first,
                                     [](const Event& e, TimePoint ts) { return e.ts < ts; });
    if (at == events_.end() || at->ts > last) return events_.size();
    return static_cast<std::size_t>(at - events_.begin());
  }
  std::size_t bytes() const noexcept { return events_.capacity() * sizeof(Event) + payload_bytes_; }

  void put(std::string& out) const {
    put_varint(out, events_.size());
    for (const Event& event : events_) {
      limiter::put(out, to_ms(event.ts));
      put_varint(out, event.line);
      put_varint(out, event.order);
      put_text(out, event.payload);
    }
  }
  bool get(Reader& in, milliseconds back) {
    const std::uint64_t n = in.varint();
    for (std::uint64_t i = 0; i < n && in.ok(); ++i) {
      Event event;
      event.ts = from_ms(in.get<std::int64_t>()) - back;
      event.line = in.varint();
      event.order = in.varint();
      event.payload = in.text();
      if (!events_.empty() && event.ts < events_.back().ts) return false;
      payload_bytes_ += event.payload.size();
      events_.push_back(std::move(event));
    }
    return in.ok();
  }

 private:
  std::vector<Event> events_;
  std::size_t payload_bytes_ = 0;
};

}  // namespace weir::limiter
