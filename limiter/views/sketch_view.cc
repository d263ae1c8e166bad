#include "limiter/views/sketch_view.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "limiter/memory/make_room.h"
#include "limiter/views/view_delta.h"
#include "limiter/views/view_part.h"

namespace weir::limiter {
namespace {

constexpr std::size_t kGroupBytes = Groups::kBytes + 64;

}  // namespace

SketchView::SketchView(const ViewSpec& spec)
    : spec_(spec),
      precision_(HyperLogLog::precision_for(spec.error)),
      spans_(spec),
      ranking_(spec.top, spec.per),
      closed_(std::numeric_limits<std::int64_t>::min() / 2) {}

View::Seen SketchView::observe(const ViewEvent& event) {
  const Seen seen = put_into_windows(event);
  if (seen == Seen::late) {
    ++stats_.late;
    return seen;
  }
  spans_.note(to_ms(event.at));
  ++stats_.events;
  if (seen == Seen::dropped) ++stats_.dropped;
  return seen;
}

View::Seen SketchView::absorb(const ViewPane& pane) {
  if (spans_.last(pane.start).end - 1 <= closed_) {
    stats_.late += static_cast<std::uint64_t>(pane.events);
    return Seen::late;
  }
  spans_.note(pane.first);
  spans_.note(pane.last);
  stats_.events += static_cast<std::uint64_t>(pane.events);
  return Seen::counted;
}

View::Seen SketchView::absorb(const ViewEvent& member, const ViewPart&) {
  const Seen seen = put_into_windows(member);
  if (seen == Seen::dropped) ++stats_.dropped;
  return seen;
}

/// Known if no window has learned anything.
View::Seen SketchView::put_into_windows(const ViewEvent& event) {
  const std::int64_t at = to_ms(event.at);
  const Span last = spans_.last(at);
  if (last.end - 1 <= closed_) return Seen::late;
  Span span = spans_.first(at);
  if (span.end - 1 <= closed_) span = spans_.first(closed_ + 1);
  Seen out = Seen::known;
  for (; span.start <= last.start; span = spans_.next(span)) {
    Window* window = window_at(span);
    const Seen seen = window == nullptr ? Seen::dropped : put(*window, event);
    if (out != Seen::dropped && seen != Seen::known) out = seen;
  }
  return out;
}

SketchView::Window* SketchView::window_at(const Span& span) {
  auto found = std::find_if(windows_.begin(), windows_.end(),
                            [&](const Window& w) { return w.span.start >= span.start; });
  if (found != windows_.end() && found->span == span) return &*found;
  Window fresh;
  fresh.span = span;
  if (spec_.method == Method::bloom) {
    // The total is counted in the same filter, by members of its own.
    const std::size_t expect = spec_.expect * (spec_.grouped ? 2 : 1);
    fresh.bytes = Bloom::bytes_for(expect, spec_.error);
    if (!budget_.has(fresh.bytes)) return nullptr;
    fresh.filter = std::make_unique<Bloom>(expect, spec_.error);
  }
  const std::size_t bytes = fresh.bytes;
  found = windows_.insert(found, std::move(fresh));
  budget_.used += bytes;
  return &*found;
}

View::Seen SketchView::put(Window& window, const ViewEvent& event) {
  bool fresh = spec_.grouped && count(window, window.whole, {}, event.member);
  const Index::Slot* slot = window.groups.find(event.key);
  if (slot == nullptr) {
    const std::size_t cost = kGroupBytes + event.parts.size();
    if (!budget_.has(cost)) return Seen::dropped;
    make_room(window.counted);
    slot = window.groups.add(event.key, event.parts);
    window.counted.emplace_back();
    budget_.used += cost;
    window.bytes += cost;
    fresh = true;
  } else if (!budget_.has(0)) {
    return Seen::dropped;
  }
  fresh = count(window, window.counted[slot->id], event.key, event.member) || fresh;
  return fresh ? Seen::counted : Seen::known;
}

/// Whether the member was new, according to the filter or the sketch.
bool SketchView::count(Window& window, Counted& counted, const Hash128& owner,
                       const Hash128& member) {
  if (window.filter) {
    constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15;
    const Hash128 pair{owner.lo * kOdd + member.lo, owner.hi * kOdd + member.hi};
    const bool fresh = window.filter->add(pair);
    counted.fresh += fresh ? 1 : 0;
    return fresh;
  }
  if (!counted.sketch) counted.sketch = std::make_unique<HyperLogLog>(precision_);
  const std::size_t before = counted.sketch->bytes();
  const bool fresh = counted.sketch->add(member.lo);
  const std::size_t after = counted.sketch->bytes();
  budget_.used += after - before;
  window.bytes += after - before;
  return fresh;
}

Number SketchView::value(const Counted& counted) const {
  if (!counted.sketch) return counted.fresh;
  return static_cast<std::int64_t>(std::llround(counted.sketch->estimate()));
}

void SketchView::advance(TimePoint watermark, const ViewSink& sink) {
  closed_ = std::max(closed_, to_ms(watermark));
  while (!windows_.empty() && windows_.front().span.end - 1 <= closed_) {
    show(windows_.front(), true, sink);
    drop_front();
  }
}

void SketchView::flush(const ViewSink& sink) {
  while (!windows_.empty()) {
    show(windows_.front(), spans_.endless(), sink);
    closed_ = std::max(closed_, windows_.front().span.end - 1);
    drop_front();
  }
}

void SketchView::running(const ViewSink& sink) {
  if (!windows_.empty()) show(windows_.front(), false, sink);
}

void SketchView::tell_all(ViewDelta& out) const {
  if (spec_.method != ViewSpec::Method::hll || spec_.overlap() != 1) return;
  for (const Window& window : windows_) {
    const std::int64_t start = spans_.pane(window.span.start).start;
    const Span named = spans_.named({start, start + 1});
    out.add(ViewPane{start, named.start, named.end - 1, 0, {}});
    for (std::uint32_t group = 0; group < window.counted.size(); ++group) {
      if (!window.counted[group].sketch) continue;
      window.counted[group].sketch->each_entry([&](std::uint32_t entry) {
        out.add(start, window.groups.key(group), window.groups.parts(group), entry);
      });
    }
  }
}

void SketchView::drop_front() {
  budget_.used -= windows_.front().bytes;
  windows_.pop_front();
}

void SketchView::show(const Window& window, bool complete, const ViewSink& sink) {
  ranking_.start();
  for (std::uint32_t group = 0; group < window.counted.size(); ++group) {
    const Number shown = value(window.counted[group]);
    // A group is 0 only if the filter took its first member for known.
    if (!shown.is_zero()) ranking_.offer({window.groups.parts(group), shown});
  }
  ViewWindow out;
  const Span named = spans_.named(window.span);
  out.start = from_ms(named.start);
  out.end = from_ms(named.end);
  out.complete = complete;
  out.rows = ranking_.finish();
  out.total = spec_.grouped      ? value(window.whole)
              : out.rows.empty() ? Number{0}
                                 : out.rows.front().value;
  sink(out);
}

ViewStats SketchView::stats() const noexcept {
  ViewStats out = stats_;
  out.bytes = budget_.used;
  for (const Window& window : windows_) out.keys = std::max(out.keys, window.groups.size());
  return out;
}

}  // namespace weir::limiter
