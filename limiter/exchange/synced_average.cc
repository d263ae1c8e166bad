#include "limiter/exchange/synced_bank.h"

/// An average that is exchanged: a sum of amounts and a sum of ones, each with an entry of its own.
/// They are charged one after the other, not under one lock: an event of another thread may come
/// between, and a reading be off by that event.
namespace weir::limiter {
namespace {

const Amount kOne;

}  // namespace

/// The undo of the sum of ones, from the undo of the sum of amounts. Both hold the same events at
/// the same times; sums of integers need nothing more.
Undo SyncedBank::of_one(const Undo& undo) noexcept {
  Undo out;
  out.what = undo.what;
  out.stamp = undo.stamp;
  out.at = undo.at;
  out.amount = kOne;
  return out;
}

Reading SyncedBank::peek_average(const SyncedAverage& parts, const CounterKey& key, Moment now,
                                 const Amount* event) noexcept {
  return average_of(peek(parts.amounts, key, now, event),
                    peek(parts.ones, key, now, event != nullptr ? &kOne : nullptr));
}

Reading SyncedBank::admit_average(const SyncedAverage& parts, const CounterKey& key, Moment now,
                                  const Amount& event, const Ceiling* ceiling, bool reserves,
                                  Undo* undo) {
  if (ceiling != nullptr) {
    Reading with = peek_average(parts, key, now, &event);
    if (ceiling->broken_by(with.value)) {
      if (undo != nullptr) *undo = Undo{};
      with.refused = true;
      return with;
    }
  }
  const auto admit_one = [&](const SyncedCounter& part, const Amount& what, Undo* kept) {
    return reserves ? reserve(part, key, now, what, nullptr, false, kept)
                    : charge(part, key, now, what, nullptr, false, kept);
  };
  const Reading amounts = admit_one(parts.amounts, event, undo);
  return average_of(amounts, amounts.stored ? admit_one(parts.ones, kOne, nullptr)
                                            : peek(parts.ones, key, now, &kOne));
}

Reading SyncedBank::settle_average(const SyncedAverage& parts, const CounterKey& key,
                                   TimePoint event_time, Moment now, const Amount& event,
                                   const Undo& undo, bool matched) {
  const Reading amounts = settle(parts.amounts, key, event_time, now, event, undo, matched);
  return average_of(amounts, settle(parts.ones, key, event_time, now, kOne, of_one(undo), matched));
}

}  // namespace weir::limiter
