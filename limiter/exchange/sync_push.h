#pragma once

#include <memory>
#include <string>

#include "limiter/exchange/sync_table.h"

/// The part of an exchange that all forms of counters share.
namespace weir::limiter {

/// One key's exchange, to be submitted and answered with SyncedBank::take_reply().
struct SyncPush {
  Hash128 key;
  SharedVerb verb = SharedVerb::read;  ///< or add, reset
  Number amount;                       ///< of an add
  std::uint64_t member = 0;            ///< of an add of members, which are sent one by one
  bool last = true;                    ///< of a key's members
  milliseconds lifetime{0};            ///< of a gauge, for when this replica dies
  SharedId id;
  bool again = false;  ///< the same event may have reached the store before
  std::uint32_t resets = 0;
  std::shared_ptr<const SharedCounter> counter;
  std::string name;
};

/// Fills `out` from the waiting entry; the caller adds the questions besides the reading.
void begin_push(SyncEntry& entry, TimePoint now, SyncPush& out);

/// A debt ends when the counts that were sent have left the window of the store.
void forget_old_debt(SyncEntry& entry, TimePoint now);

/// When all events of now will have left the window.
TimePoint window_end(const SyncEntry& entry, TimePoint now);
/// How long the report of a gauge holds: some intervals.
milliseconds gauge_lifetime(const SyncedCounter& counter) noexcept;

/// The amount that was counted here before this replica learned that others had reached the limit.
class Overshoot {
 public:
  /// The known reading of the key was `before` and is `after`; `ours` of that was counted here.
  /// Adds our share, if the key was below its limit and is beyond it now.
  void note(const SyncEntry& entry, Number before, Number after, Number ours) noexcept;
  std::uint64_t count() const noexcept { return count_; }

 private:
  std::uint64_t count_ = 0;
};

}  // namespace weir::limiter
