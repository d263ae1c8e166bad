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
  auto& fresh = patterns_.tellings();
  if (fresh.empty()) return;
  const bool away = now < again_;
  for (auto& telling : fresh) {
    if (away) patterns_.keep_here(*telling, instant(now));
    kept_.push_back(std::move(telling));
  }
  fresh.clear();
  while (kept_.size() > kKeptMost) {
    metrics_.add(Metric::patterns_dropped);
    patterns_.give_back(std::move(kept_.front()));
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
    while (!kept_.empty() && batch.tellings.size() < kPerBatch) {
      append(*kept_.front(), instant(now), true, batch.asking);
      batch.tellings.push_back(std::move(kept_.front()));
      kept_.pop_front();
    }
    batch.ops = batch.asking.ops();
    batch.replies = batch.asking.replies();
    if (!store_.submit(batch, now + kPatience)) continue;
    take_in(batch);
    if (now < again_) break;  // it is away: then the others need not be tried
  }
  metrics_.set(Metric::patterns_untold, static_cast<std::int64_t>(kept_.size()));
}

void PatternPost::take_in(Batch& batch) {
  const policies::Instant now = instant(now_);
  bool away = false;
  for (std::size_t i = batch.tellings.size(); i-- > 0;) {  // what goes back keeps its order
    const limiter::SharedReply& reply = batch.replies[i];
    const limiter::SharedRetry retry = limiter::row_of(reply.error).retry;
    if (retry == limiter::SharedRetry::none || retry == limiter::SharedRetry::never) continue;
    std::unique_ptr<policies::Telling> telling = std::move(batch.tellings[i]);
    telling->again = telling->again || reply.error == limiter::SharedError::timed_out ||
                     reply.error == limiter::SharedError::lost;
    away = true;
    kept_.push_front(std::move(telling));
  }
  for (std::size_t i = 0; i < batch.tellings.size(); ++i) {
    if (batch.tellings[i] == nullptr) continue;
    const limiter::SharedReply& reply = batch.replies[i];
    if (reply.error == limiter::SharedError::none) {
      patterns_.told_of(*batch.tellings[i], reply.pattern, now, false);
      count(reply.pattern, metrics_);
    } else {
      metrics_.add(Metric::patterns_dropped);  // no permission: time won't mend it
    }
    patterns_.give_back(std::move(batch.tellings[i]));
  }
  batch.tellings.clear();
  batch.asking.clear();
  batches_.take_back(batch);
  if (!away) return;
  for (auto& telling : kept_) patterns_.keep_here(*telling, now);
  again_ = now_ + kAgain;
  if (wheel_ != nullptr) wheel_->arm(*this, again_);
}

}  // namespace weir::gate
