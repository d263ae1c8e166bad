#pragma once

#include <optional>
#include <vector>

#include "policies/judge/event_keys.h"
#include "policies/judge/ladder.h"
#include "policies/judge/store_calls.h"

namespace weir::policies {

/// The lasting effects of a judgement: list entries, pins, cleared counters, statistics, and
/// messages to observers.
/// Part of a Driver: one for each worker, used on the worker's thread.
class Memory final {
 public:
  Memory(Judging& work, EventKeys& keys, StoreCalls& store, Ladder& ladder) noexcept
      : work_(work), keys_(keys), store_(store), ladder_(ladder) {}

  void write_memory(Instant at);
  void put_on_list(const Policy& policy, const Rung& rung, std::size_t rung_index,
                   const Value& value, std::optional<Number> limit, const Hash128& key, Instant at);
  void remember(const Policy& policy, const PlannedPolicy& planned, const Rung& rung,
                std::size_t rung_index, const Value& value, std::optional<Number> limit,
                Instant at);
  bool load_listed_key(const Policy& policy, std::uint16_t binding, std::size_t rung);
  void count_standings();

 private:
  void count_events();
  bool is_delivered_later(const Policy& policy) const noexcept;
  bool lists_again(const Rung& rung) const;

  Judging& work_;
  EventKeys& keys_;
  StoreCalls& store_;
  Ladder& ladder_;
};

}  // namespace weir::policies
