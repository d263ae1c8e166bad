#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "store/lists/list_sync.h"
#include "store/redis/script_sharer.h"

namespace weir::store {

/// A list that replicas share.
struct SharedList {
  std::string name;
  limiter::ListId id;
  std::size_t max = 0;
  Hash128 identity;  ///< the same at every replica
  /// Whether the store has the same list for both: then unsent changes of one belong to the other.
  bool is_same(const SharedList& other) const noexcept {
    return name == other.name && id == other.id && identity == other.identity;
  }
};

/// Numbers of the sharing of lists, for metrics.
struct ListSharingStats {
  bool up = false;  ///< the latest call of every list was answered
  std::string why;  ///< the latest failure, for people; empty if up
  std::uint64_t lists = 0;
  ListSync::Stats sum;  ///< of all lists; last_answer: the oldest of theirs
  /// The oldest answer; of a list without one the time since which it is shared.
  TimePoint heard{};
  /// The greatest age of this replica's data about others.
  milliseconds lag(TimePoint now) const noexcept;
};

/// Shares lists with other replicas through Redis (see ScriptSharer). flush() sends extensions too.
/// A Redis that answers with errors is asked again until stop().
class ListSharer final : public ScriptSharer {
 public:
  /// `secret`: the one that all replicas hash keys with. `origin`: random, of this process.
  ListSharer(net::Worker& worker, limiter::ListBank& bank, const HashSecret& secret,
             Settings settings, std::uint64_t origin);
  ~ListSharer();

  void stop();
  /// Shares these lists from now on; lists that stay continue without interruption.
  void use(const std::vector<SharedList>& lists);
  /// Asks who made an entry that was created here: `tell` is called with whether this replica's
  /// listing made it, as soon as the store has decided; with true at the deadline. Called from this
  /// loop, later.
  void ask_maker(limiter::ListId list, const Hash128& key, TimePoint deadline,
                 std::function<void(bool here)> tell);

  ListSharingStats stats() const;  ///< any thread

 private:
  class ListSide;
  struct Question {
    limiter::ListId list;
    Hash128 key;
    TimePoint deadline;
    std::function<void(bool)> tell;
  };

  static ListSide& list_of(Side& side) noexcept;
  void turned(TimePoint now, TimePoint& next) override;
  void answer_questions(TimePoint now);
  void publish(TimePoint now);

  limiter::ListBank& bank_;
  const HashSecret secret_;
  const ListOrigin origin_;
  const std::uint64_t seed_;
  std::vector<Question> questions_;
  std::shared_ptr<ListSharer*> self_;  // null inside once gone: for posted tasks

  mutable std::mutex mutex_;  // of published_
  ListSharingStats published_;
};

}  // namespace weir::store
