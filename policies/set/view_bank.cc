#include "policies/set/view_bank.h"

#include <algorithm>
#include <new>
#include <utility>

#include "limiter/memory/make_room.h"
#include "limiter/views/hyperloglog.h"
#include "limiter/views/view_part.h"
#include "limiter/views/view_row.h"
#include "limiter/views/view_wire.h"

namespace weir::policies {

bool ViewInbox::add(const limiter::ViewEvent& event) {
  if (events_.size() == kEventsMax || event.parts.size() > kBytesMax - text_.size()) return false;
  limiter::make_room(events_);
  text_.append(event.parts);
  events_.push_back({event, text_.size() - event.parts.size(), event.parts.size()});
  return true;
}

void ViewInbox::clear() {
  events_.clear();
  text_.clear();
  if (events_.capacity() > kEventsKept) *this = {};
}

/// A chunk on its way into the view.
class LiveView::Absorption final : public limiter::ChunkSink {
 public:
  Absorption(limiter::View& view, const limiter::ViewSpec& spec, const HashSecret& secret,
             const PaneFilter& wanted)
      : view_(view),
        secret_(secret),
        wanted_(wanted),
        precision_(limiter::ViewShape::of(spec).precision) {}

  bool on_pane(const limiter::ViewPane& pane) override {
    if (!wanted_(pane.start)) return false;
    event_.at = from_ms(pane.start);
    return view_.absorb(pane) != limiter::View::Seen::late;
  }
  void on_key(std::string_view parts, const limiter::ViewPart& part) override { tell(parts, part); }
  void on_member(std::string_view parts, const Hash128& member) override {
    event_.member = member;
    tell(parts, {});
  }
  void on_register(std::string_view parts, std::uint32_t entry) override {
    event_.member.lo = limiter::HyperLogLog::hash_of(entry, precision_);
    tell(parts, {});
  }

 private:
  void tell(std::string_view parts, const limiter::ViewPart& part) {
    event_.key = secret_.hash(parts);
    event_.parts = parts;
    view_.absorb(event_, part);
  }

  limiter::View& view_;
  const HashSecret& secret_;
  const PaneFilter& wanted_;
  unsigned precision_;
  limiter::ViewEvent event_;
};

LiveView::LiveView(std::string name, const limiter::ViewSpec& spec,
                   const std::optional<HashSecret>& sharing)
    : name_(std::move(name)), spec_(spec), secret_(sharing), view_(limiter::make_view(spec)) {
  if (!is_shared()) return;
  delta_ = std::make_unique<limiter::ViewDelta>(spec);
  taken_delta_ = std::make_unique<limiter::ViewDelta>(spec);
  sharing_.why = "Redis has not been asked yet";
}

/// Without memory the view misses an event, and the event's request continues.
void LiveView::observe(const limiter::ViewEvent& event) {
  try {
    std::unique_lock hold(mutex_, std::try_to_lock);
    if (!hold) {
      const std::scoped_lock hold_inbox(inbox_mutex_);
      if (inbox_.add(event)) return waits_.store(true, std::memory_order_release);
    }
    if (!hold) hold.lock();
    take_in();
    count(event);
  } catch (const std::bad_alloc&) {
    miss();
  }
}

/// A member that is known here is known elsewhere, or on its way there.
void LiveView::count(const limiter::ViewEvent& event) {
  using Seen = limiter::View::Seen;
  const Seen seen = view_->observe(event);
  if (delta_ == nullptr || seen == Seen::late) return;
  if (seen == Seen::known) return delta_->add_known(event);
  delta_->add(event);
}

std::unique_lock<std::mutex> LiveView::take() {
  std::unique_lock hold(mutex_);
  take_in();
  return hold;
}

void LiveView::take_in() {
  if (!waits_.load(std::memory_order_acquire)) return;
  {
    const std::scoped_lock hold_inbox(inbox_mutex_);
    std::swap(taken_, inbox_);
    waits_.store(false, std::memory_order_relaxed);
  }
  taken_.move_into([this](const limiter::ViewEvent& event) {
    try {
      count(event);
    } catch (const std::bad_alloc&) {  // the others are counted all the same
      miss();
    }
  });
}

void LiveView::advance(TimePoint watermark, const limiter::ViewSink& sink) {
  const auto hold = take();
  view_->advance(watermark, sink);
}

void LiveView::flush(const limiter::ViewSink& sink) {
  const auto hold = take();
  view_->flush(sink);
}

void LiveView::advance(TimePoint watermark) {
  const auto hold = take();
  closed_ = std::max(closed_, watermark);
  view_->advance(watermark, [this](const limiter::ViewWindow& window) { keep(window); });
}

/// A window as JSON, and of a shared view whose events are in it.
void LiveView::show(std::string& out, const limiter::ViewWindow& window) const {
  limiter::append_view_row(out, name_, window);
  if (!is_shared()) return;
  out.pop_back();
  const bool whole = sharing_.up && sharing_.silent == 0;
  out += whole ? R"(,"share":"redis","whole":true})" : R"(,"share":"redis","whole":false})";
}

void LiveView::keep(const limiter::ViewWindow& window) {
  std::string line;
  show(line, window);
  results_.push_back(std::move(line));
  result_bytes_ += results_.back().size();
  const std::size_t most = limit_ == 0 ? static_cast<std::size_t>(-1) : limit_ / 4;
  while (results_.size() > kResultsMax || (results_.size() > 1 && result_bytes_ > most)) {
    result_bytes_ -= results_.front().size();
    results_.pop_front();
  }
}

LiveView::Results LiveView::results(std::size_t most) {
  const auto hold = take();
  Results out;
  const std::size_t shown = std::min(most, results_.size());
  out.complete.assign(results_.end() - static_cast<std::ptrdiff_t>(shown), results_.end());
  view_->running([&](const limiter::ViewWindow& window) { show(out.running, window); });
  return out;
}

LiveView::Stats LiveView::stats() {
  const auto hold = take();
  Stats out;
  out.counted = view_->stats();
  out.counted.bytes += result_bytes_;
  out.missing = missing_.load(std::memory_order_relaxed);
  out.limit = limit_;
  return out;
}

void LiveView::limit(std::size_t bytes) {
  const std::scoped_lock hold_taken(take_mutex_);
  const std::scoped_lock hold(mutex_);
  limit_ = bytes;
  set_limits();
}

/// Divides the memory: a quarter is for results, and for a shared view another one for the counts
/// that are to be sent.
void LiveView::set_limits() noexcept {
  const std::size_t quarter = limit_ / 4;
  view_->limit(limit_ - (is_shared() ? 2 : 1) * quarter);
  for (const auto& delta : {delta_.get(), taken_delta_.get()}) {
    if (delta != nullptr) delta->limit(quarter / 2);
  }
}

milliseconds LiveView::behind(TimePoint now) const noexcept {
  if (!is_shared()) return milliseconds{0};
  // A call a second, and as much again until its answer is late.
  const milliseconds since =
      now - from_ms(synced_ms_.load(std::memory_order_relaxed)) - milliseconds{2'000};
  return std::clamp(since, milliseconds{0}, kHoldMax);
}

limiter::ViewSharing LiveView::sharing() const {
  const std::scoped_lock hold(mutex_);
  limiter::ViewSharing out = sharing_;
  if (delta_ != nullptr) {
    out.pending += delta_->bytes();
    out.lost += delta_->lost() + lost_;
  }
  return out;
}

void LiveView::take_delta(std::size_t most, std::vector<std::string>& out) {
  const std::scoped_lock hold_taken(take_mutex_);
  {
    const auto hold = take();
    std::swap(delta_, taken_delta_);
    lost_ = taken_delta_->lost();
  }
  // The workers continue meanwhile.
  taken_delta_->take(most, out);
}

bool LiveView::absorb(std::string_view chunk, const PaneFilter& wanted) {
  const auto hold = take();
  Absorption absorption(*view_, spec_, *secret_, wanted);
  return limiter::read_chunk(chunk, limiter::ViewShape::of(spec_), absorption);
}

void LiveView::begin_again() {
  const std::scoped_lock hold_taken(take_mutex_);
  const auto hold = take();
  view_ = limiter::make_view(spec_);
  set_limits();
  view_->advance(closed_, [](const limiter::ViewWindow&) {});
  std::vector<std::string> chunks;
  delta_->take(static_cast<std::size_t>(-1) / 2, chunks);
  const PaneFilter all = [](std::int64_t) { return true; };
  Absorption absorption(*view_, spec_, *secret_, all);
  for (const std::string& chunk : chunks) {
    limiter::read_chunk(chunk, limiter::ViewShape::of(spec_), absorption);
    delta_->absorb(chunk, *secret_);
  }
}

void LiveView::take_all(std::size_t most, std::size_t pane_most, Panes& panes,
                        std::vector<std::string>& delta) {
  const std::scoped_lock hold_taken(take_mutex_);
  limiter::ViewDelta all(spec_);
  {
    const auto hold = take();
    view_->tell_all(all);
    std::swap(delta_, taken_delta_);
    lost_ = taken_delta_->lost();
  }
  taken_delta_->take(most, delta);
  all.take_apart(most, pane_most, panes);
}

void LiveView::heard(const limiter::ViewSharing& sharing) {
  const std::scoped_lock hold(mutex_);
  sharing_ = sharing;
  synced_ms_.store(std::max(synced_ms_.load(std::memory_order_relaxed), to_ms(sharing.synced)),
                   std::memory_order_relaxed);
}

std::shared_ptr<LiveView> ViewBank::open(const Hash128& identity, const std::string& name,
                                         const limiter::ViewSpec& spec, bool shared) {
  const std::scoped_lock hold(mutex_);
  std::erase_if(views_, [](const auto& entry) { return entry.second.expired(); });
  std::weak_ptr<LiveView>& known = views_[identity];
  std::shared_ptr<LiveView> view = known.lock();
  if (!view) {
    view = std::make_shared<LiveView>(name, spec, shared ? secret_ : std::nullopt);
    known = view;
  }
  return view;
}

}  // namespace weir::policies
