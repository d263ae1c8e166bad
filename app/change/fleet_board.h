#pragma once

#include <boost/asio/io_context.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/key.h"
#include "net/worker_pool.h"
#include "store/board/board_sync.h"
#include "store/redis/redis_store.h"

namespace weir::app {

/// The board that all replicas with one Redis and one secret share (store/board): one call a
/// second, on a thread and a connection of its own, so that no request ever waits for it. Without
/// Redis it continues with the last known items.
///
/// A keyed hash of the secret seals items and broadcasts. A writer to Redis without the secret can
/// delete them or put older ones back, but cannot make new ones. Lives on the control thread, where
/// it calls back.
class FleetBoard {
 public:
  using Heard = store::BoardSync::Heard;  ///< without seals; items with a wrong seal are left out
  using Listener = std::function<void(Heard heard)>;

  FleetBoard(boost::asio::io_context& control, store::Settings redis, const HashSecret& secret,
             std::string name, Listener listener);
  ~FleetBoard();  ///< stop() without announcing that this replica leaves

  /// Starts the thread and waits for the first answer, `limit` at most. The listener is not called:
  /// the answer is the result.
  Heard start(milliseconds limit, const Clock& clock);
  /// Every second.
  void tick(TimePoint now);
  /// Announces that this replica leaves, if Redis accepts it within `limit`.
  void stop(milliseconds limit, TimePoint now);
  /// With the next connection.
  void set_credentials(const store::Credentials& credentials, const store::Credentials& sentinels);

  /// See BoardSync. Items and broadcasts are sent in the next turn of the control thread.
  void say(std::string words, std::string version, bool by_reload);
  bool put(const store::BoardItem& item, bool guarded, TimePoint now);
  bool tell(const std::string& news, TimePoint now);
  std::vector<store::BoardItem> items(std::string_view prefix, TimePoint now) const;
  const store::BoardSync& sync() const noexcept { return sync_; }
  std::uint64_t strangers() const noexcept { return strangers_; }  ///< wrong seals

 private:
  class Call;
  struct Answer {
    std::optional<store::BoardAnswer> good;
    std::string why;
  };

  void call(TimePoint now, bool leaves = false);
  void came(Answer answer, TimePoint now);
  Heard take(Answer answer, TimePoint now);
  std::string sealed(std::string_view name, std::string_view value) const;
  bool unseal(std::string_view name, std::string& value) const;

  boost::asio::io_context& control_;
  const HashSecret secret_;
  const Listener listener_;
  const Clock* clock_ = nullptr;
  store::BoardSync sync_;
  net::Worker worker_{0};
  store::RedisStore store_;
  std::unique_ptr<Call> call_;
  std::thread thread_;
  bool calling_ = false, stopped_ = false;
  int follow_ups_ = 0;  // calls since the last tick, because there was more
  std::uint64_t strangers_ = 0;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // for posted tasks
};

}  // namespace weir::app
