#include "limiter/exchange/sync_rounds.h"

#include <algorithm>
#include <cmath>
#include <new>

namespace weir::limiter {
namespace {

// Chosen by simulated fleets (bench/results/fleet.md): a quarter instead of an eighth saves 3 % of
// the exchanges, and lets half as much again through beyond the limit.
/// A key is exchanged soon if this share of the rest of its limit may be counted already,
constexpr double kDoubt = 0.125;
/// and at once where it is so much,
constexpr double kDoubtMax = 1;
/// or this share of its limit, if next to nothing is left.
constexpr double kDoubtMin = 0.01;
/// A key is exchanged as often as this within an interval, at most.
constexpr int kHastePerInterval = 40;
constexpr milliseconds kHasteMin{5};
/// An urgent key waits this long for other urgent keys: with low limits nearly every event is
/// urgent, and each would be a call of its own.
constexpr milliseconds kCompany{8};

}  // namespace

Haste haste_for(double counted, double left, double limit) noexcept {
  if (counted < std::max(kDoubt * left, kDoubtMin * limit)) return Haste::none;
  return counted < kDoubtMax * left ? Haste::soon : Haste::now;
}

void SyncRounds::queue(SyncEntry& entry) {
  entry.touched = true;
  if (entry.queued) return;
  const milliseconds interval = entry.counter.interval;
  auto queue = std::find_if(queues_.begin(), queues_.end(),
                            [&](const Queue& q) { return q.interval == interval; });
  if (queue == queues_.end()) queue = queues_.insert(queue, {interval, {}, {}});
  queue->keys.push_back(entry.key);
  entry.queued = true;  // without memory for it the next event tries again
}

void SyncRounds::queue_untold(SyncEntry& entry) noexcept {
  if (!entry.has_to_tell()) return;
  try {
    queue(entry);
  } catch (const std::bad_alloc&) {
    return;
  }
}

void SyncRounds::hasten(SyncEntry& entry, TimePoint now, Haste haste) {
  if (haste == Haste::none || entry.away) return;
  if (!entry.urgent) {
    const milliseconds least = std::max(entry.counter.interval / kHastePerInterval, kHasteMin);
    if (!entry.empties && now - entry.sent_at < least) return;
    urgent_.push_back(entry.key);
    entry.urgent = true;
  }
  urgent_now_ = urgent_now_ || haste == Haste::now;
}

std::optional<TimePoint> SyncRounds::next(TimePoint now) noexcept {
  std::optional<TimePoint> out;
  if (!urgent_.empty()) {
    if (urgent_now_ || !urgent_due_) urgent_due_ = urgent_now_ ? now : now + kCompany;
    out = urgent_due_;
  } else {
    urgent_now_ = false;  // those belonged to another worker
  }
  for (Queue& queue : queues_) {
    if (queue.keys.empty()) continue;
    if (!queue.due) queue.due = now + queue.interval;
    if (!out || *queue.due < *out) out = queue.due;
  }
  return out;
}

void SyncRounds::begin(TimePoint now, bool all) {
  const std::size_t before = round_.size();
  for (Queue& queue : queues_) {
    if (queue.keys.empty() || (!all && (!queue.due || *queue.due > now))) continue;
    for (const Hash128& key : queue.keys) {
      const SyncTable::Locked entry = table_.find(key);
      if (!entry) continue;
      if (all && !entry->has_to_tell()) {
        entry->queued = false;
        continue;
      }
      const double pending = entry->merge == Merge::members
                                 ? entry->fresh
                                 : std::abs(amount_of(entry->pending).as_real());
      round_.push_back({pending, key});
    }
    queue.keys.clear();
    queue.due.reset();
  }
  if (round_.size() == before) return;
  std::sort(round_.begin(), round_.end(),
            [](const Due& a, const Due& b) { return a.pending < b.pending; });
}

SyncTable::Locked SyncRounds::take() {
  const auto calm = [this] {
    if (!urgent_.empty()) return;
    urgent_now_ = false;
    urgent_due_.reset();
  };
  calm();
  while (!urgent_.empty()) {
    const Hash128 key = urgent_.back();
    urgent_.pop_back();
    calm();
    SyncTable::Locked entry = table_.find(key);
    if (!entry) continue;
    entry->urgent = false;
    if (!entry->away) return entry;
  }
  while (!round_.empty()) {
    const Hash128 key = round_.back().key;
    round_.pop_back();
    SyncTable::Locked entry = table_.find(key);
    if (!entry) continue;
    entry->queued = false;
    if (!entry->away) return entry;
    queue(*entry);  // once more when it is back
  }
  return {};
}

void SyncRounds::end() {
  for (const Due& due : round_) {
    const SyncTable::Locked entry = table_.find(due.key);
    if (!entry) continue;
    entry->queued = false;
    queue(*entry);
  }
  round_.clear();
}

std::uint64_t SyncRounds::queued() const noexcept {
  std::uint64_t out = round_.size();
  for (const Queue& queue : queues_) out += queue.keys.size();
  return out;
}

}  // namespace weir::limiter
