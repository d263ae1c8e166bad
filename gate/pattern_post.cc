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
    const bool held = held_keys_.contains(message->key);
    if (away || held) patterns_.keep_here(*message, instant(now));
    (held ? refused_ : kept_).push_back({turns_++, std::move(message)});
  }
  fresh.clear();
  while (kept_.size() + refused_.size() > kKeptMax) drop_oldest();
  if (away) return tell_how_many_wait();
  if (now >= retry_) try_refused_again();
  send(now);
}

void PatternPost::drop_oldest() {
  const bool of_refused =
      kept_.empty() || (!refused_.empty() && refused_.front().turn < kept_.front().turn);
  std::deque<Message>& from = of_refused ? refused_ : kept_;
  metrics_.add(Metric::patterns_dropped);
  patterns_.give_back(std::move(from.front().event));
  from.pop_front();
}

void PatternPost::on_timer(TimePoint now) {
  now_ = now;
  if (now < again_) return arm();
  if (now >= retry_) try_refused_again();
  send(now);
}

void PatternPost::arm() {
  if (wheel_ == nullptr || (kept_.empty() && refused_.empty())) return;
  const TimePoint next = kept_.empty() ? std::max(retry_, again_) : again_;
  if (next > now_) wheel_->arm(*this, next);
}

void PatternPost::tell_how_many_wait() {
  metrics_.set(Metric::patterns_untold, static_cast<std::int64_t>(kept_.size() + refused_.size()));
}

namespace {

/// Batches come back in any order, and newer messages may wait already: each message takes its own
/// place. Mostly its place is in front, where a deque inserts in constant time.
template <class Message>
void put_by_turn(std::deque<Message>& into, Message message) {
  const auto later = [](std::uint64_t turn, const Message& other) { return turn < other.turn; };
  const auto at = std::upper_bound(into.begin(), into.end(), message.turn, later);
  into.insert(at, std::move(message));
}

}  // namespace

void PatternPost::try_refused_again() {
  held_keys_.clear();
  while (!refused_.empty()) {
    put_by_turn(kept_, std::move(refused_.back()));
    refused_.pop_back();
  }
}

void PatternPost::send(TimePoint now) {
  while (!kept_.empty()) {
    Batch& batch = batches_.lend(*this);
    while (!kept_.empty() && batch.messages.size() < kPerBatch) {
      Message message = std::move(kept_.front());
      kept_.pop_front();
      if (held_keys_.contains(message.event->key)) {
        patterns_.keep_here(*message.event, instant(now));
        put_by_turn(refused_, std::move(message));
        continue;
      }
      append(*message.event, instant(now), true, batch.operations);
      batch.messages.push_back(std::move(message));
    }
    if (batch.messages.empty()) {
      batches_.take_back(batch);
      break;
    }
    batch.ops = batch.operations.ops();
    batch.replies = batch.operations.replies();
    if (!store_.submit(batch, now + kPatience)) continue;
    take_in(batch);
    if (now < again_) break;  // the store is away: do not try the others
  }
  tell_how_many_wait();
  arm();  // after the last batch: a store that answers at once has left nothing under way
}

bool PatternPost::is_refused_whatever_the_key(const Batch& batch) {
  const auto is_refused = [](const limiter::SharedReply& reply) {
    return reply.error == limiter::SharedError::refused;
  };
  const auto is_other = [&](const Message& message) {
    return message.event->key != batch.messages.front().event->key;
  };
  return std::all_of(batch.replies.begin(), batch.replies.end(), is_refused) &&
         std::any_of(batch.messages.begin(), batch.messages.end(), is_other);
}

void PatternPost::take_in(Batch& batch) {
  const policies::Instant now = instant(now_);
  const bool all_refused = is_refused_whatever_the_key(batch);
  bool away = false, held = false;
  for (std::size_t i = batch.messages.size(); i-- > 0;) {  // from the end: see put_by_turn()
    const limiter::SharedReply& reply = batch.replies[i];
    const limiter::SharedRetry retry = limiter::row_of(reply.error).retry;
    if (retry == limiter::SharedRetry::none || retry == limiter::SharedRetry::never) continue;
    const bool refused = reply.error == limiter::SharedError::refused;
    if (refused && ++batch.messages[i].event->refusals >= kRefusalsMax) continue;
    Message message = std::move(batch.messages[i]);
    message.event->again = message.event->again || limiter::may_have_happened(reply.error);
    if (refused && !all_refused) {
      held = true;
      held_keys_.insert(message.event->key);
      put_by_turn(refused_, std::move(message));
    } else {
      away = true;
      put_by_turn(kept_, std::move(message));
    }
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
  if (!away && !held) return;
  if (held) {
    for (Message& message : refused_) patterns_.keep_here(*message.event, now);
    if (retry_ <= now_) retry_ = now_ + kAgain;
  }
  if (away) {
    for (Message& message : kept_) patterns_.keep_here(*message.event, now);
    again_ = now_ + kAgain;
  }
  tell_how_many_wait();
  arm();
}

}  // namespace weir::gate
