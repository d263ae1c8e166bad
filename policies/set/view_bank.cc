#include "policies/set/view_bank.h"

#include <algorithm>

#include "limiter/views/view_row.h"

namespace weir::policies {

bool ViewInbox::add(const limiter::ViewEvent& event) {
  if (events_.size() == kEventsMost || event.parts.size() > kBytesMost - text_.size()) return false;
  events_.push_back({event, text_.size(), event.parts.size()});
  text_.append(event.parts);
  return true;
}

void ViewInbox::move_into(limiter::View& view) {
  for (Waiting& waiting : events_) {
    waiting.event.parts = std::string_view(text_).substr(waiting.parts_at, waiting.parts_size);
    view.observe(waiting.event);
  }
  events_.clear();
  text_.clear();
  if (events_.capacity() > kEventsKept) *this = {};
}

LiveView::LiveView(std::string name, const limiter::ViewSpec& spec)
    : name_(std::move(name)), view_(limiter::make_view(spec)) {}

void LiveView::observe(const limiter::ViewEvent& event) {
  std::unique_lock hold(mutex_, std::try_to_lock);
  if (!hold) {
    const std::scoped_lock hold_inbox(inbox_mutex_);
    if (inbox_.add(event)) return waits_.store(true, std::memory_order_release);
  }
  if (!hold) hold.lock();
  take_in();
  view_->observe(event);
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
  taken_.move_into(*view_);
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
  view_->advance(watermark, [this](const limiter::ViewWindow& window) { keep(window); });
}

void LiveView::keep(const limiter::ViewWindow& window) {
  std::string& line = results_.emplace_back();
  limiter::append_view_row(line, name_, window);
  result_bytes_ += line.size();
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
  view_->running([&](const limiter::ViewWindow& window) {
    limiter::append_view_row(out.running, name_, window);
  });
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
  const std::scoped_lock hold(mutex_);
  limit_ = bytes;
  view_->limit(bytes - bytes / 4);
}

std::shared_ptr<LiveView> ViewBank::open(const Hash128& identity, const std::string& name,
                                         const limiter::ViewSpec& spec) {
  const std::scoped_lock hold(mutex_);
  std::erase_if(views_, [](const auto& entry) { return entry.second.expired(); });
  std::weak_ptr<LiveView>& known = views_[identity];
  std::shared_ptr<LiveView> view = known.lock();
  if (!view) {
    view = std::make_shared<LiveView>(name, spec);
    known = view;
  }
  return view;
}

}  // namespace weir::policies
