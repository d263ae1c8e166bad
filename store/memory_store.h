#pragma once

#include <deque>
#include <functional>
#include <map>
#include <string>

#include "limiter/counters/bank.h"
#include "limiter/patterns/pattern_bank.h"
#include "store/shared_store.h"

namespace weir::store {

/// The contract of the shared store inside one process: for `weir test`, and for tests and
/// benchmarks of weir itself. Counts in a Bank and patterns in a PatternBank, which are the local
/// limiter's. Due deadlines are not leased: they are gone with the answer. Its clock is the clock
/// of the caller. Every reply is there when submit() returns. Not thread-safe.
class MemoryStore final : public SharedStore {
 public:
  /// `clock`: the store's own time, where an operation brings none.
  MemoryStore(const limiter::BankLimits& limits, std::function<TimePoint()> clock);

  bool submit(Batch& batch, TimePoint deadline) override;
  void cancel(Batch&) noexcept override {}

 private:
  /// The effect of an event on a counter, for its settlement or undo.
  struct Done {
    limiter::Undo undo;
    limiter::CounterId counter;
    limiter::CounterKey key;
    TimePoint until{};
  };
  struct Name {  // of an event on a key of a counter
    Hash128 key;
    limiter::SharedId id;
    friend auto operator<=>(const Name&, const Name&) = default;
  };

  using DoneMap = std::map<Name, Done>;
  void run(const limiter::SharedOp& op, limiter::SharedReply& reply);
  void run_pattern(const limiter::SharedOp& op, limiter::SharedReply& reply);
  static void happened(const limiter::SharedOp& op, const Hash128& key, limiter::PatternBank& bank,
                       limiter::PatternId id, limiter::PatternReply& reply);
  void admit(const limiter::SharedOp& op, limiter::SharedReply& reply,
             const limiter::CounterKey& key, TimePoint now);
  void end(const limiter::SharedOp& op, limiter::SharedReply& reply, const limiter::CounterKey& key,
           TimePoint now);
  /// False: no memory for the counter.
  bool open(const limiter::SharedCounter& counter, limiter::CounterId& id);
  static Name name_of(const limiter::SharedOp& op, std::size_t part, const Hash128& key);
  /// Ends expired reservations, and forgets events that can no longer be taken back.
  void expire(const Name& first, TimePoint now);
  DoneMap::iterator forget(DoneMap::iterator it);
  /// Notes when the window of a total over every_first began.
  void note_began(const limiter::SharedOp& op, std::size_t part, const Hash128& key,
                  limiter::SharedReply& reply, TimePoint now, bool adds);
  void say(limiter::SharedReply& reply, std::size_t part, const limiter::Reading& reading);

  limiter::Bank bank_;
  limiter::PatternBank patterns_;      // with deadlines, which fire when a caller asks for them
  limiter::PatternBank sequences_;     // whose open matches end by themselves
  std::map<Name, std::uint32_t> fed_;  // events of patterns, and how many matches each completed
  struct Shard {
    limiter::PatternMatches due;
    TimePoint asked{};  // when the due matches were last asked for
  };
  std::map<std::string, Shard> shards_;
  std::function<TimePoint()> clock_;
  HashSecret secret_ = HashSecret::random();
  std::map<Hash128, limiter::CounterId> counters_;
  std::map<Hash128, TimePoint> began_;
  DoneMap done_;
  std::deque<Name> order_;  // of done_, oldest first
};

}  // namespace weir::store
