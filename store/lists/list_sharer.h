#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "store/lists/list_sync.h"
#include "store/redis/redis_store.h"

namespace weir::store {

/// A list that replicas share.
struct SharedList {
  std::string name;
  limiter::ListId id;
  std::size_t max = 0;
  Hash128 identity;  ///< the same at every replica
  /// The store has the same list for both: what it has not heard of the one belongs to the other.
  bool is_same(const SharedList& other) const noexcept {
    return name == other.name && id == other.id && identity == other.identity;
  }
};

struct ListSharingStats {
  bool up = false;  ///< the latest call of every list was answered
  std::string why;  ///< the latest failure, for people; empty if up
  std::uint64_t lists = 0;
  ListSync::Stats sum;  ///< of all lists; last_answer: the oldest of theirs
  /// The oldest answer; of a list without one the time since which it is shared.
  TimePoint heard{};
  /// How old at most what this replica knows of others is.
  milliseconds lag(TimePoint now) const noexcept;
};

/// Shares lists with other replicas through Redis: one per process, on a loop of its own or of
/// whatever is not hot. All but stats() on that loop's thread.
class ListSharer final : net::Timer {
 public:
  /// `secret`: the one that all replicas hash keys with. `origin`: random, of this process.
  ListSharer(net::Worker& worker, limiter::ListBank& bank, const HashSecret& secret,
             Settings settings, std::uint64_t origin);
  ~ListSharer();

  void start();
  void stop();
  /// Sends the pending changes, extensions too; `then` hears when Redis has them, or that it is
  /// away. A Redis that answers with errors is asked again until stop().
  /// One at a time.
  void flush(std::function<void()> then);
  /// Shares these lists from now on; lists that stay continue without interruption.
  void use(std::vector<SharedList> lists);
  void set_credentials(const Credentials& credentials, const Credentials& sentinels) {
    store_.set_credentials(credentials, sentinels);
  }
  /// An entry was created here: `tell` hears whether it was this replica's listing that made it, as
  /// soon as the store knows; true if that takes until the deadline. From this loop, later.
  void ask_maker(limiter::ListId list, const Hash128& key, TimePoint deadline,
                 std::function<void(bool here)> tell);

  ListSharingStats stats() const;  ///< any thread

 private:
  class Exchange;
  struct Question {
    limiter::ListId list;
    Hash128 key;
    TimePoint deadline;
    std::function<void(bool)> tell;
  };

  void on_timer(TimePoint now) override { turn(now); }
  void turn(TimePoint now);
  void answer_questions(TimePoint now);
  void publish(TimePoint now);

  net::Worker& worker_;
  limiter::ListBank& bank_;
  const HashSecret secret_;
  const ListOrigin origin_;
  const std::uint64_t seed_;
  RedisStore store_;
  bool running_ = false;
  std::vector<std::unique_ptr<Exchange>> exchanges_;
  std::vector<std::unique_ptr<Exchange>> retired_;  // whose call is still on its way
  std::vector<Question> questions_;
  std::function<void()> flushed_;      // null: nobody waits
  std::shared_ptr<ListSharer*> self_;  // null inside once gone: for what was posted
  TimePoint since_{};

  mutable std::mutex mutex_;  // of published_
  ListSharingStats published_;
};

}  // namespace weir::store
