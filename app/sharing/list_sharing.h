#pragma once

#include <boost/asio/io_context.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <thread>

#include "admin/operations.h"
#include "app/support/log.h"
#include "policies/set/policy_set.h"
#include "store/lists/list_sharer.h"

namespace weir::app {

/// Shares the lists of `share: redis` with other replicas (store/lists), on a thread of its own:
/// one call of some 10 us per list, 1.3 to 4 times a second, plus the changes. Without such a list
/// there is no thread and no connection. Lives on the control thread.
class ListSharing {
 public:
  ListSharing(boost::asio::io_context& control, const store::Settings& redis,
              const HashSecret& secret, limiter::ListBank& lists, Log& log);
  ~ListSharing();  ///< stop()

  /// The lists of the set that is in force from now on.
  void use(const policies::PolicySet& set);
  /// With the next connection.
  void set_credentials(const store::Credentials& credentials, const store::Credentials& sentinels);
  /// An entry was created here: `tell` is called on the control thread with whether this replica's
  /// listing made it. It is true also if Redis has not answered within kMakerWait.
  void ask_maker(limiter::ListId list, const Hash128& key, std::function<void(bool here)> tell);
  /// For people; nothing while no list is shared.
  std::optional<admin::SharedListFacts> facts(TimePoint now) const;
  void tick(TimePoint now);  ///< every second: says when Redis goes away and comes back
  /// Sends pending changes, if Redis takes them within kFlushTime; then the thread ends.
  void stop();

  static constexpr milliseconds kMakerWait{2'000};

 private:
  void start();

  boost::asio::io_context& control_;
  Log& log_;
  net::Worker worker_{0};
  store::ListSharer sharer_;
  std::thread thread_;
  bool stopped_ = false;
  bool was_up_ = true;
};

}  // namespace weir::app
