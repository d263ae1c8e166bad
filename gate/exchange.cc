#include "gate/exchange.h"

#include "gate/gate.h"

namespace weir::gate {

Exchange::Exchange(store::SharedStore& store, limiter::SyncTable& table, const Shared& shared,
                   net::Wheel& wheel, std::uint64_t origin)
    : store_(store),
      bank_(shared.counters, table),
      shared_(shared),
      wheel_(wheel),
      id_{origin, 0} {}

limiter::SyncedBank::Times Exchange::times() const noexcept {
  return {now_, now_ + milliseconds{shared_.wall_offset_ms.load(std::memory_order_relaxed)}};
}

void Exchange::run(TimePoint now) {
  now_ = now;
  auto next = bank_.next(now);
  if (next && *next <= now) {
    bank_.begin_round(now);
    send();
    next = bank_.next(now);
  }
  if (next) wheel_.arm(*this, *next);
}

void Exchange::flush(TimePoint now) {
  now_ = now;
  bank_.begin_round(now, true);
  send();
}

void Exchange::send() {
  for (std::size_t sent = 0; sent < kKeysMost;) {
    Batch& batch = batches_.lend(*this);
    batch.size = bank_.take(times(), id_, kKeysOfBatch, batch.pushes);
    if (batch.size == 0) {
      batches_.take_back(batch);
      break;
    }
    sent += batch.size;
    for (std::size_t i = 0; i < batch.size; ++i) {
      const limiter::SyncedBank::Push& push = batch.pushes[i];
      policies::StoreOps::Item& item =
          batch.operations.add(push.verb, push.name, {push.amount, push.member, nullptr}, push.id);
      item.op.again = push.again;
      item.op.lifetime = push.lifetime;
      policies::StoreOps::add_part(item, {push.counter.get(), {}, 0});
    }
    batch.ops = batch.operations.ops();
    batch.replies = batch.operations.replies();
    if (!store_.submit(batch, now_ + kPatience)) continue;
    const bool away = is_away(batch);
    take_in(batch);
    if (away) break;  // then the others need not be tried
  }
  bank_.end_round();
}

bool Exchange::is_away(const Batch& batch) const noexcept {
  return limiter::row_of(batch.replies.front().error).retry == limiter::SharedRetry::later;
}

void Exchange::take_in(Batch& batch) {
  for (std::size_t i = 0; i < batch.size; ++i) {
    bank_.told(batch.pushes[i], batch.replies[i], times());
    batch.pushes[i].counter.reset();
  }
  batch.operations.clear();
  batches_.take_back(batch);
  if (const auto next = bank_.next(now_)) wheel_.arm(*this, *next);
}

}  // namespace weir::gate
