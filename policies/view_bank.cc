#include "policies/view_bank.h"

#include <algorithm>

#include "limiter/view_row.h"

namespace weir::policies {

LiveView::LiveView(std::string name, const limiter::ViewSpec& spec)
    : name_(std::move(name)), view_(limiter::make_view(spec)) {}

void LiveView::observe(const limiter::ViewEvent& event) {
  const std::scoped_lock hold(mutex_);
  view_->observe(event);
}

void LiveView::advance(TimePoint watermark, const limiter::ViewSink& sink) {
  const std::scoped_lock hold(mutex_);
  view_->advance(watermark, sink);
}

void LiveView::flush(const limiter::ViewSink& sink) {
  const std::scoped_lock hold(mutex_);
  view_->flush(sink);
}

void LiveView::advance(TimePoint watermark) {
  const std::scoped_lock hold(mutex_);
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
  const std::scoped_lock hold(mutex_);
  Results out;
  const std::size_t shown = std::min(most, results_.size());
  out.complete.assign(results_.end() - static_cast<std::ptrdiff_t>(shown), results_.end());
  view_->running([&](const limiter::ViewWindow& window) {
    limiter::append_view_row(out.running, name_, window);
  });
  return out;
}

LiveView::Stats LiveView::stats() const {
  const std::scoped_lock hold(mutex_);
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
