#include "gate/pattern_post.h"

#include <algorithm>
#include <utility>

#include "gate/gate.h"

namespace weir::gate {

using telemetry::Metric;

void count(const limiter::PatternReply& reply, telemetry::MetricCells& metrics) {
  if (reply.matched != 0) metrics.add(Metric::patterns_matched, reply.matched);
  if (reply.dropped != 0) metrics.add(Metric::patterns_dropped, reply.dropped);
  for (const limiter::PatternMatch& match : reply.matches) {
    if (match.kind == limiter::MatchKind::timeout) metrics.add(Metric::patterns_timed_out);
    if (match.kind == limiter::MatchKind::unmatched) metrics.add(Metric::patterns_unmatched);
  }
}

policies::Instant PatternPost::instant(TimePoint now) const noexcept {
  return {now, now + milliseconds{shared_.wall_offset_ms.load(std::memory_order_relaxed)}};
}

void PatternPost::run(TimePoint now) {
  now_ = now;
  if (const std::uint64_t refused = patterns_.take_refused_matches(); refused != 0)
    metrics_.add(Metric::patterns_matched, static_cast<std::int64_t>(refused));
  auto& fresh = patterns_.messages();
  if (fresh.empty()) return;
  const bool away = now < again_;
  for (auto& message : fresh) {
    if (away) patterns_.keep_here(*message, instant(now));
    kept_.push_back({turns_++, std::move(message)});
  }
  fresh.clear();
  while (kept_.size() > kKeptMost) {
    metrics_.add(Metric::patterns_dropped);
    patterns_.give_back(std::move(kept_.front().event));
    kept_.pop_front();
  }
  if (!away) return send(now);
  metrics_.set(Metric::patterns_untold, static_cast<std::int64_t>(kept_.size()));
}

void PatternPost::on_timer(TimePoint now) {
  now_ = now;
  send(now);
}

void PatternPost::send(TimePoint now) {
  while (!kept_.empty()) {
    Batch& batch = batches_.lend(*this);
    while (!kept_.empty() && batch.messages.size() < kPerBatch) {
      append(*kept_.front().event, instant(now), true, batch.operations);
      batch.messages.push_back(std::move(kept_.front()));
      kept_.pop_front();
    }
    batch.ops = batch.operations.ops();
    batch.replies = batch.operations.replies();
    if (!store_.submit(batch, now + kPatience)) continue;
    take_in(batch);
    if (now < again_) break;  // the store is away: do not try the others
  }
  metrics_.set(Metric::patterns_untold, static_cast<std::int64_t>(kept_.size()));
}

/// Batches come back in any order, and newer messages may wait already: each message takes its own
/// place. Mostly its place is in front, where a deque inserts in constant time.
void PatternPost::keep(Message message) {
  const auto later = [](std::uint64_t turn, const Message& other) { return turn < other.turn; };
  const auto at = std::upper_bound(kept_.begin(), kept_.end(), message.turn, later);
  kept_.insert(at, std::move(message));
}

void PatternPost::take_in(Batch& batch) {
  const policies::Instant now = instant(now_);
  bool away = false;
  for (std::size_t i = batch.messages.size(); i-- > 0;) {  // from behind: see keep()
    const limiter::SharedReply& reply = batch.replies[i];
    const limiter::SharedRetry retry = limiter::row_of(reply.error).retry;
    if (retry == limiter::SharedRetry::none || retry == limiter::SharedRetry::never) continue;
    if (reply.error == limiter::SharedError::refused &&
        ++batch.messages[i].event->refusals >= kRefusalsMost) {
      continue;
    }
    Message message = std::move(batch.messages[i]);
    message.event->again = message.event->again || limiter::may_have_happened(reply.error);
    away = true;
    keep(std::move(message));
  }
  for (std::size_t i = 0; i < batch.messages.size(); ++i) {
    std::unique_ptr<policies::PatternMessage>& event = batch.messages[i].event;
    if (event == nullptr) continue;
    const limiter::SharedReply& reply = batch.replies[i];
    if (reply.error == limiter::SharedError::none) {
      patterns_.delivered(*event, reply.pattern, now, false);
      count(reply.pattern, metrics_);
    } else {
      metrics_.add(Metric::patterns_dropped);  // time won't mend it
    }
    patterns_.give_back(std::move(event));
  }
  batch.messages.clear();
  batch.operations.clear();
  batches_.take_back(batch);
  if (!away) return;
  for (Message& message : kept_) patterns_.keep_here(*message.event, now);
  again_ = now_ + kAgain;
  if (wheel_ != nullptr) wheel_->arm(*this, again_);
}

}  // namespace weir::gate
