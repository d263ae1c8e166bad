#pragma once

#include "core/assert.h"
#include "limiter/counters/bank.h"
#include "limiter/exchange/synced_bank.h"
#include "policies/set/policy_set.h"

namespace weir::policies {

/// This replica's own part of a shared count.
inline limiter::Reading own_part(const limiter::Bank& bank, const Counter& counter,
                                 const limiter::CounterKey& key, limiter::Moment now) noexcept {
  const auto* const average = counter.synced.average.get();
  if (average == nullptr) return bank.peek(counter.id, key, now);
  return limiter::average_of(bank.peek(average->amounts.id, key, now),
                             bank.peek(average->ones.id, key, now));
}

/// The counts by which this worker judges: the bank, plus the others' part for exchanged counters.
/// The one place that reads and changes an exchanged count.
class Counts {
 public:
  explicit Counts(limiter::Bank& bank) noexcept : bank_(bank) {}
  void use_synced(limiter::SyncedBank& synced) noexcept { synced_ = &synced; }

  /// Whether its counts are exchanged in this process; else it is counted here alone, or the store
  /// asked each time.
  bool is_synced(const Counter& counter) const noexcept {
    return counter.is_synced() && synced_ != nullptr;
  }
  /// Only where some counter is_synced().
  limiter::SyncedBank& synced() noexcept {
    WEIR_ASSERT(synced_ != nullptr);
    return *synced_;
  }

  limiter::Reading charge(const Counter& counter, const limiter::CounterKey& key,
                          limiter::Moment now, const limiter::Amount& event,
                          const limiter::Ceiling* ceiling, limiter::Undo* undo) {
    if (is_synced(counter)) [[unlikely]] {
      return synced_->charge(counter.synced, key, now, event, ceiling, !counter.always, undo);
    }
    return bank_.charge(counter.id, key, now, event, counter.always ? nullptr : ceiling, undo);
  }
  limiter::Reading reserve(const Counter& counter, const limiter::CounterKey& key,
                           limiter::Moment now, const limiter::Amount& event,
                           const limiter::Ceiling* ceiling, limiter::Undo* undo) {
    if (is_synced(counter)) [[unlikely]] {
      return synced_->reserve(counter.synced, key, now, event, ceiling, !counter.always, undo);
    }
    return bank_.reserve(counter.id, key, now, event, counter.always ? nullptr : ceiling, undo);
  }
  limiter::Reading peek(const Counter& counter, const limiter::CounterKey& key, limiter::Moment now,
                        const limiter::Amount* event = nullptr) const noexcept {
    if (is_synced(counter)) [[unlikely]]
      return synced_->peek(counter.synced, key, now, event);
    return bank_.peek(counter.id, key, now, event);
  }
  limiter::Reading settle(const Counter& counter, const limiter::CounterKey& key,
                          TimePoint event_time, limiter::Moment now, const limiter::Amount& event,
                          const limiter::Undo& undo, bool matched) {
    if (is_synced(counter)) [[unlikely]] {
      return synced_->settle(counter.synced, key, event_time, now, event, undo, matched);
    }
    return bank_.settle(counter.id, key, event_time, now, event, undo, matched);
  }
  void uncharge(const Counter& counter, const limiter::CounterKey& key,
                const limiter::Undo& undo) noexcept {
    if (is_synced(counter)) [[unlikely]]
      return synced_->uncharge(counter.synced, key, undo);
    bank_.uncharge(counter.id, key, undo);
  }
  /// in_flight: one event of this amount has ended.
  void leave(const Counter& counter, const limiter::CounterKey& key, Number amount) {
    if (is_synced(counter)) [[unlikely]]
      return synced_->leave(counter.synced, key, amount);
    bank_.leave(counter.id, key, amount);
  }
  void reset(const Counter& counter, const limiter::CounterKey& key, limiter::Moment now) {
    if (is_synced(counter)) [[unlikely]]
      return synced_->reset(counter.synced, key, now);
    bank_.reset(counter.id, key, now);
  }

 private:
  limiter::Bank& bank_;
  limiter::SyncedBank* synced_ = nullptr;
};

}  // namespace weir::policies
