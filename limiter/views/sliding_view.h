#pragma once

#include <algorithm>
#include <deque>
#include <limits>
#include <memory>
#include <vector>

#include "limiter/views/index.h"
#include "limiter/views/ranking.h"
#include "limiter/views/spans.h"
#include "limiter/views/view.h"
#include "limiter/views/view_delta.h"
#include "limiter/views/view_part.h"

namespace weir::limiter {

/// A view whose windows slide by panes.
///
///     panes   | p | p | p | p | p | p |
///     window      [  under way  )          the first that is not complete and has an event
///                 ^ left at     ^ entered at the next slide
///
/// Events of the panes inside count at once, those of later panes wait in their pane's log. If an
/// event comes whose windows begin before the one under way, and are still open, that one is built
/// again from the logs: rare, since it takes a view that was idle.
template <class Store>
class SlidingView final : public View {
  using Pane = typename Store::Pane;

 public:
  explicit SlidingView(const ViewSpec& spec)
      : spans_(spec), ranking_(spec.top, spec.per), store_(spec) {}

  Seen observe(const ViewEvent& event) override {
    const std::int64_t at = to_ms(event.at);
    if (at < hot_span_.start || at >= hot_span_.end) {
      if (!find_pane(at)) {
        ++stats_.late;
        return Seen::late;
      }
    }
    ++hot_->pane->events;
    if (hot_->inside) ++events_;
    ++stats_.events;
    spans_.note(at);
    const Seen seen = store_.add(*hot_->pane, event, hot_->inside, budget_);
    if (seen == Seen::dropped) ++stats_.dropped;
    return seen;
  }

  Seen absorb(const ViewPane& pane) override {
    if ((pane.start < hot_span_.start || pane.start >= hot_span_.end) && !find_pane(pane.start)) {
      stats_.late += static_cast<std::uint64_t>(pane.events);
      return Seen::late;
    }
    hot_->pane->events += pane.events;
    if (hot_->inside) events_ += pane.events;
    stats_.events += static_cast<std::uint64_t>(pane.events);
    spans_.note(pane.first);
    spans_.note(pane.last);
    store_.absorb_whole(*hot_->pane, pane.whole, hot_->inside);
    return Seen::counted;
  }

  Seen absorb(const ViewEvent& key, const ViewPart& part) override {
    const std::int64_t at = to_ms(key.at);
    if ((at < hot_span_.start || at >= hot_span_.end) && !find_pane(at)) return Seen::late;
    const Seen seen = store_.absorb(*hot_->pane, key, part, hot_->inside, budget_);
    if (seen == Seen::dropped) {
      stats_.dropped += static_cast<std::uint64_t>(std::max<std::int64_t>(part.events, 1));
    }
    return seen;
  }

  void advance(TimePoint watermark, const ViewSink& sink) override {
    closed_ = std::max(closed_, to_ms(watermark));
    while (open_ && window_.end - 1 <= closed_) {
      if (events_ != 0) show(sink, true);
      slide();
    }
  }

  void flush(const ViewSink& sink) override {
    while (open_) {
      if (events_ != 0) show(sink, spans_.endless());
      closed_ = std::max(closed_, window_.end - 1);
      slide();
    }
  }

  void running(const ViewSink& sink) override {
    if (open_ && events_ != 0) show(sink, false);
  }

  void tell_all(ViewDelta& out) const override {
    for (const Place& place : panes_) {
      const Pane& pane = *place.pane;
      const Span named = spans_.named({pane.start, pane.start + 1});
      out.add(ViewPane{pane.start, named.start, named.end - 1, pane.events, store_.whole(pane)});
      store_.tell(pane, out);
    }
  }

  ViewStats stats() const noexcept override {
    ViewStats out = stats_;
    out.bytes = budget_.used;
    out.dropped += budget_.pruned;
    out.keys = store_.keys();
    return out;
  }
  void limit(std::size_t bytes) noexcept override { budget_.limit = bytes; }

 private:
  struct Place {
    std::unique_ptr<Pane> pane;
    bool inside = false;  // entered: part of the window under way
  };

  /// Makes the pane of `at` the hot one. False: all its windows are complete.
  bool find_pane(std::int64_t at) {
    if (spans_.last(at).end - 1 <= closed_) return false;
    Span first = spans_.first(at);
    if (first.end - 1 <= closed_) first = spans_.first(closed_ + 1);
    if (!open_) {
      open_ = true;
      window_ = first;
    } else if (first.start < window_.start) {
      rebuild(first);
    }
    const Span span = spans_.pane(at);
    const auto is_before = [](const Place& place, std::int64_t start) {
      return place.pane->start < start;
    };
    auto found = panes_.end();
    if (!panes_.empty() && panes_.back().pane->start >= span.start) {
      found = std::lower_bound(panes_.begin(), panes_.end(), span.start, is_before);
    }
    if (found == panes_.end() || found->pane->start != span.start) {
      Place place;
      if (spare_.empty()) {
        place.pane = std::make_unique<Pane>();
      } else {
        place.pane = std::move(spare_.back());
        spare_.pop_back();
      }
      place.pane->start = span.start;
      if (++serial_ == 0) ++serial_;  // no pane has serial 0
      place.pane->serial = serial_;
      place.pane->events = 0;
      place.inside = span.start < window_.end;
      found = panes_.insert(found, std::move(place));
    }
    hot_ = &*found;
    hot_span_ = span;
    return true;
  }

  void rebuild(const Span& window) {
    store_.leave_all();
    events_ = 0;
    window_ = window;
    for (Place& place : panes_) {
      place.inside = false;
      enter(place);
    }
  }

  void enter(Place& place) {
    if (place.inside || place.pane->start >= window_.end) return;
    store_.enter(*place.pane);
    place.inside = true;
    events_ += place.pane->events;
  }

  void slide() {
    hot_span_ = {};
    hot_ = nullptr;
    Span next = spans_.next(window_);
    drop_before(next.start);
    if (panes_.empty()) {
      open_ = false;
      return;
    }
    // No window without an event: on to the first one that the next event is in.
    if (!panes_.front().inside) {
      const Span later = spans_.first(panes_.front().pane->start);
      if (later.start > next.start) next = later;
    }
    window_ = next;
    for (auto place = panes_.rbegin(); place != panes_.rend() && !place->inside; ++place) {
      enter(*place);
    }
  }

  void drop_before(std::int64_t start) {
    while (!panes_.empty() && panes_.front().pane->start < start) {
      Place& place = panes_.front();
      if (place.inside) events_ -= place.pane->events;
      store_.leave(*place.pane, place.inside, budget_);
      if (spare_.size() < kSpare) spare_.push_back(std::move(place.pane));
      panes_.pop_front();
    }
  }

  void show(const ViewSink& sink, bool complete) {
    ranking_.start();
    store_.each([&](std::uint32_t group, Number value) {
      if (ranking_.wants(value)) ranking_.offer({store_.parts(group), value});
    });
    ViewWindow out;
    const Span named = spans_.named(window_);
    out.start = from_ms(named.start);
    out.end = from_ms(named.end);
    out.complete = complete;
    out.total = store_.total();
    out.rows = ranking_.finish();
    sink(out);
  }

  static constexpr std::size_t kSpare = 2;  // panes whose memory the next ones take over

  Spans spans_;
  Ranking ranking_;
  Store store_;
  Budget budget_;
  ViewStats stats_;
  std::deque<Place> panes_;  // ascending
  std::vector<std::unique_ptr<Pane>> spare_;
  std::uint32_t serial_ = 0;
  bool open_ = false;
  Span window_;                                                         // under way, if open_
  std::int64_t events_ = 0;                                             // in the window under way
  std::int64_t closed_ = std::numeric_limits<std::int64_t>::min() / 2;  // the watermark
  Place* hot_ = nullptr;                                                // where the last event went
  Span hot_span_;                                                       // its times; empty: none
};

}  // namespace weir::limiter
