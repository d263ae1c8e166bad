#include "limiter/exchange/synced_average.h"

namespace weir::limiter {
namespace {

const Amount kOne;

}  // namespace

Undo undo_of_one(const Undo& undo) noexcept {
  Undo out;
  out.what = undo.what;
  out.stamp = undo.stamp;
  out.at = undo.at;
  out.amount = kOne;
  return out;
}

Reading peek_average(SyncedBank& bank, const SyncedAverage& parts, const CounterKey& key,
                     Moment now, const Amount* event) noexcept {
  return average_of(bank.peek(parts.amounts, key, now, event),
                    bank.peek(parts.ones, key, now, event != nullptr ? &kOne : nullptr));
}

Reading admit_average(SyncedBank& bank, const SyncedAverage& parts, const CounterKey& key,
                      Moment now, const Amount& event, const Ceiling* ceiling, bool reserves,
                      Undo* undo) {
  if (ceiling != nullptr) {
    Reading with = peek_average(bank, parts, key, now, &event);
    if (ceiling->broken_by(with.value)) {
      if (undo != nullptr) *undo = Undo{};
      with.refused = true;
      return with;
    }
  }
  const auto admit_one = [&](const SyncedCounter& part, const Amount& what, Undo* kept) {
    return reserves ? bank.reserve(part, key, now, what, nullptr, false, kept)
                    : bank.charge(part, key, now, what, nullptr, false, kept);
  };
  const Reading amounts = admit_one(parts.amounts, event, undo);
  return average_of(amounts, amounts.stored ? admit_one(parts.ones, kOne, nullptr)
                                            : bank.peek(parts.ones, key, now, &kOne));
}

Reading settle_average(SyncedBank& bank, const SyncedAverage& parts, const CounterKey& key,
                       TimePoint event_time, Moment now, const Amount& event, const Undo& undo,
                       bool matched) {
  const Reading amounts = bank.settle(parts.amounts, key, event_time, now, event, undo, matched);
  return average_of(
      amounts, bank.settle(parts.ones, key, event_time, now, kOne, undo_of_one(undo), matched));
}

}  // namespace weir::limiter
