#include "gate/count_exchange.h"

#include <algorithm>
#include <limits>

#include "gate/gate.h"
#include "policies/judgement/count_push.h"

namespace weir::gate {

static_assert(limiter::SyncedMembers::kMembersOfPush <= CountExchange::kKeysOfBatch,
              "a key with this many members is exchanged on its own");

CountExchange::CountExchange(store::SharedStore& store, limiter::SyncTable& table,
                             const Shared& shared, net::Wheel& wheel, std::uint64_t origin)
    : store_(store),
      bank_(shared.counters, table),
      shared_(shared),
      wheel_(wheel),
      id_{origin, 0} {}

limiter::SyncedBank::Times CountExchange::times() const noexcept {
  return {now_, now_ + milliseconds{shared_.wall_offset_ms.load(std::memory_order_relaxed)}};
}

void CountExchange::run(TimePoint now) {
  now_ = now;
  const auto next = bank_.next(now);
  if (next && *next <= now) {
    begin_round(false);
  } else {
    send();
  }
  arm();
}

void CountExchange::flush(TimePoint now) {
  now_ = now;
  is_ending_ = true;
  begin_round(true);
  arm();
}

/// Begins a round. Keys that are due join a round that is still under way: together they send at
/// most as much as one round may.
void CountExchange::begin_round(bool all) {
  bank_.begin_round(now_, all);
  if (all) {
    left_ = std::numeric_limits<std::size_t>::max();
  } else if (left_ == 0) {
    left_ = kKeysMax;
  }
  send();
}

void CountExchange::end_round() {
  bank_.end_round();
  left_ = 0;
}

/// Goes on with the round, as far as there is room.
void CountExchange::send() {
  while (left_ != 0 && has_room()) {
    PushBatch& batch = batches_.lend(*this);
    batch.size = bank_.take(times(), id_, std::min(kKeysOfBatch, left_), batch.pushes);
    left_ -= batch.size;
    if (batch.size == 0) {
      batches_.take_back(batch);
      end_round();
    } else {
      submit(batch);
    }
  }
  if (left_ == 0) end_round();
}

void CountExchange::submit(PushBatch& batch) {
  under_way_ += batch.size;
  for (std::size_t i = 0; i < batch.size; ++i)
    policies::add_push(batch.operations, batch.pushes[i]);
  batch.ops = batch.operations.ops();
  batch.replies = batch.operations.replies();
  if (store_.submit(batch, now_ + kAnswersWithin)) take_in(batch);
}

void CountExchange::take_in(PushBatch& batch) {
  // The store is away. One key alone may be refused.
  const bool is_away =
      std::all_of(batch.replies.begin(), batch.replies.end(), [](const auto& reply) {
        return limiter::row_of(reply.error).retry == limiter::SharedRetry::later;
      });
  for (std::size_t i = 0; i < batch.size; ++i) {
    bank_.take_reply(batch.pushes[i], batch.replies[i], times());
    batch.pushes[i].counter.reset();
  }
  under_way_ -= batch.size;
  batch.operations.clear();
  batches_.take_back(batch);
  if (is_away) end_round();
}

void CountExchange::arm() {
  if (left_ != 0) {
    if (has_room()) wheel_.arm(*this, now_);  // else the next answer does
  } else if (const auto next = bank_.next(now_)) {
    wheel_.arm(*this, *next);
  }
}

}  // namespace weir::gate
