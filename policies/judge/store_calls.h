#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "policies/judge/event_keys.h"
#include "policies/judgement/store_ops.h"
#include "policies/set/sharing.h"

namespace weir::policies {

/// Makes the operations for the shared store: the questions of a judgement, and best-effort
/// operations whose replies are not awaited (the ends of reservations, undo, resets).
class StoreCalls final {
 public:
  StoreCalls(Judging& work, EventKeys& keys) noexcept : work_(work), keys_(keys) {}

  /// The name of the next event of this worker in the store.
  limiter::SharedId next_id() noexcept { return {sharing_->origin, ++sequence_}; }
  void use_replies_of(const StoreOps& operations) noexcept { asked_ = &operations; }
  void forget_keys() noexcept { shared_keys_used_ = 0; }
  void forget_last_key() noexcept { --shared_keys_used_; }
  /// Null: no shared policies.
  const Sharing* sharing() const noexcept { return sharing_; }
  /// The operations that PlannedCounter::asked refers to now.
  const StoreOps& asked() const noexcept { return *asked_; }
  const std::string& key(std::uint16_t spelled) const noexcept { return shared_keys_[spelled]; }
  /// Sets the names of counters with `share: redis` in the store; without it they are counted
  /// locally, as in a single process. Must outlive the use.
  void use_store(const Sharing& sharing) noexcept { sharing_ = &sharing; }
  /// The questions of the current judgement.
  StoreOps& ops() noexcept { return work_.judgement->asked; }
  /// The best-effort operations: the driver sends them after every call.
  StoreOps& best_effort() noexcept { return best_effort_; }
  std::uint16_t spell_key(const std::vector<KeySlot>& key);
  /// The same for the descriptor under judgement, as envoyproxy/ratelimit names it.
  std::uint16_t spell_peer_key(const config::PeerKey& key);
  void touch_synced(const Counter& counter, const limiter::CounterKey& key,
                    const std::vector<KeySlot>& key_slots);
  StoreOps::Item& add_best_effort_for(const PlannedCounter& planned, limiter::SharedVerb verb,
                                      const StoreOps& asked);
  const limiter::SharedPart& part_of(const PlannedCounter& planned, const StoreOps& asked) const;
  void give_up_place(const PlannedCounter& planned, const StoreOps& asked) noexcept;
  void count_in_store(const PlannedCounter& planned, const StoreOps& asked);
  void end_in_store(PlannedCounter& planned, limiter::SharedVerb verb,
                    const StoreOps& asked) noexcept;
  void reset_in_store(const Counter& counter, std::string_view key, const Place& place);

 private:
  std::string& next_key();  // of shared_keys_
  StoreOps::Item& add_best_effort(limiter::SharedVerb verb, std::string_view key,
                                  const limiter::Amount& event, const limiter::SharedId& id);

  Judging& work_;
  EventKeys& keys_;
  const Sharing* sharing_ = nullptr;
  std::uint64_t sequence_ = 0;  // of this worker's events in the store
  StoreOps best_effort_;
  const StoreOps* asked_ = nullptr;  // the operations that PlannedCounter::asked refers to
  std::vector<std::string> shared_keys_;
  std::size_t shared_keys_used_ = 0;
};

}  // namespace weir::policies
