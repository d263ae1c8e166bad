#pragma once

#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "limiter/lists/lists.h"
#include "store/lists/list_wire.h"
#include "store/redis/breaker.h"

namespace weir::store {

/// One replica's side of one shared list: the next message to the store, and the meaning of the
/// store's answers for the ListBank. No sockets, no clock: time is an argument. Not thread-safe
/// (the bank is).
///
///    bank --changes--> pending --ask()--> flying --answered()--> mirror
///    bank <------------------------------------ records of other replicas
///
/// If a key is listed twice, the later end wins; a removal ends earlier entries. (If a
/// removal and listings on both its sides reach the store in another order than they happened, the
/// entry may end as late as the longest of them; it is never lost.)
///
/// There is one call at a time. It brings the due changes of this replica, and asks for all changes
/// since the known sequence number (list.lua). The mirror is the known state of the store, by key.
///
/// A *round* compares both sides as a whole and repeats what the store lacks: over everything at
/// the start and after a change of the store's epoch (the store lost its memory), over the changes
/// of the last minute after any failure (a fail-over may have lost the latest).
///
/// Creations and removals are sent at once. An extension is sent in the first quarter of the
/// remaining term, at most a minute late: the delay has no effect before that term ends, and a key
/// that is listed again with every request costs one call a minute. If another replica ends that
/// term earlier meanwhile, by a removal, the extension is sent in time for the term that is left.
///
/// Times in the store are the store's own: each answer shows the difference between its clock and
/// ours, so replicas need not agree on theirs.
class ListSync {
 public:
  static constexpr std::size_t kOpsMax = 32;       ///< changes a call: some 0.2 ms of the server
  static constexpr std::size_t kChangesMax = 128;  ///< records an answer
  static constexpr std::size_t kPendingMax = 1'000'000;
  /// An entry for which the store had no room is sent again after so long. So are entries fetched
  /// for which the bank had none.
  static constexpr milliseconds kRefusedAgain = std::chrono::minutes{1};
  static constexpr milliseconds kPollBusy{250}, kPollIdle{800};

  /// `max`: of the list. `origin`: this process. `seed`: of jitter.
  ListSync(limiter::ListBank& bank, limiter::ListId list, std::size_t max, ListOrigin origin,
           std::uint64_t seed);

  /// Takes the changes of the bank.
  void gather(TimePoint now);
  /// When to call; TimePoint::max() while a call is on its way.
  TimePoint due() const noexcept;
  /// Begins a call: appends its arguments, as bulk strings, and returns how many.
  unsigned ask(std::string& words, TimePoint now);
  /// False: these bytes are not a valid answer, and the call has failed.
  bool answered(const Reply& reply, TimePoint now);
  void failed(TimePoint now);                   ///< the call; it may have been executed
  void doubt() noexcept { uncertain_ = true; }  ///< the store may be a different one now
  /// The list has room for more or fewer entries now.
  void set_max(std::size_t max) noexcept;
  /// Pending changes are due now, extensions too: this replica ends.
  void hurry(TimePoint now);
  /// The store has confirmed every gathered change.
  bool idle() const noexcept { return pending_.empty() && flying_.empty(); }

  /// Which replica's listing made the entry, according to the store: that replica notifies.
  enum class Maker : std::uint8_t { here, elsewhere, not_known_yet };
  Maker maker(const Hash128& key) const;

  struct Stats {
    std::uint64_t entries = 0;  ///< keys that the store is known to hold, tombstones included
    std::uint64_t pending = 0;  ///< changes that the store has not confirmed
    std::uint64_t sent = 0, learned = 0, rounds = 0, failures = 0;
    std::uint64_t dropped = 0;  ///< removals that were not sent: too many changes were pending
    /// Keys for which the store's list had no room, each once until it has. Entries are repeated,
    /// removals are not.
    std::uint64_t refused = 0;
    std::optional<TimePoint> last_answer;
  };
  Stats stats() const;

 private:
  struct Pending {
    std::optional<TimePoint> removed, listed;
    TimePoint due{};
  };
  struct Flying {
    Pending pending;
    ListOp op;
  };
  struct Mirror {
    std::int64_t sequence = 0, removed = 0, listed = 0, until = 0, needed = 0;
    std::uint32_t seen = 0;  // in which round
    bool made_here = false;
  };
  struct HashOfHash {
    std::size_t operator()(const Hash128& key) const noexcept { return key.lo; }
  };

  std::int64_t to_store(TimePoint t) const noexcept;
  TimePoint to_local(std::int64_t ms) const noexcept;
  void measure(std::int64_t store_now, TimePoint now);
  void put_pending(const Hash128& key, const Pending& newer);
  void drop_pending(const Hash128& key);
  void hasten(const Hash128& key, TimePoint due);
  TimePoint due_within(std::int64_t until, TimePoint now) const noexcept;
  bool make_op(const Hash128& key, const Pending& pending, TimePoint now, ListOp& op) const;
  void take(const ListRecord& record, TimePoint now);
  bool take_record(const ListRecord& record, TimePoint now);
  void take_result(const Flying& flying, const ListResult& result, TimePoint now);
  Pending told_again(const Pending& pending, const Mirror* known, TimePoint now) const;
  void begin_round(std::int64_t from);
  void end_round(TimePoint now);
  void repeat(const Hash128& key, std::int64_t removed, std::optional<TimePoint> listed,
              TimePoint now);
  void repeat_refused(TimePoint now);
  void fetch_missed(TimePoint now);
  void prune(TimePoint now);
  void prune_tombstones();
  /// Entries and tombstones that the store keeps at most.
  std::size_t keys_most() const noexcept { return 2 * max_ + 1024; }
  const Mirror* mirror(const Hash128& key) const;
  const Pending* local_change(const Hash128& key) const;

  limiter::ListBank& bank_;
  const limiter::ListId list_;
  std::size_t max_;
  const ListOrigin origin_;
  std::mt19937_64 random_;
  Backoff backoff_;

  std::map<Hash128, Pending> pending_;
  std::set<std::pair<TimePoint, Hash128>> queue_;  // of pending_, by due
  std::map<Hash128, Flying> flying_;
  bool calling_ = false;
  TimePoint asked_{}, next_{};
  std::unordered_map<Hash128, Mirror, HashOfHash> mirror_;

  std::optional<ListEpoch> epoch_;  // none: no answer yet
  ListEpoch fresh_{};
  std::uint64_t fresh_number_ = 0;
  std::int64_t known_ = 0;
  std::uint32_t round_ = 0;
  bool in_round_ = false, uncertain_ = false;
  bool lost_ = false;  // changes of the bank
  std::int64_t round_from_ = 0;
  bool spread_ = false;  // others begin the same round now

  std::optional<std::int64_t> offset_;  // the store's clock - ours, in ms
  int off_ = 0;                         // answers in a row by which it is not
  TimePoint busy_until_{}, prune_at_{};
  std::optional<TimePoint> refused_again_;  // none: the store has refused nothing since
  std::unordered_set<Hash128, HashOfHash> refused_;
  std::optional<TimePoint> missed_again_;  // none: the bank had room for all that the store has
  Stats stats_;
};

}  // namespace weir::store
