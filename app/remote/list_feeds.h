#pragma once

#include <atomic>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "admin/operations.h"
#include "app/support/log.h"
#include "core/clock.h"
#include "core/key.h"
#include "policies/set/policy_set.h"

namespace weir::app {

/// Entries of lists that come from files and URLs, perhaps by the million. They are read on a
/// thread of its own, at a low priority, and put in force by a change of one pointer; the
/// replaced ones are freed there as well, once no worker reads them any more. A text that can't be
/// fetched, or that has a wrong line, changes nothing.
///
/// attach(), load_new() and facts() on the control thread.
class ListFeeds {
 public:
  static constexpr std::size_t kTextMax = std::size_t{1} << 30;
  static constexpr milliseconds kLook{500};           ///< how often files are looked at
  static constexpr milliseconds kFetch{60'000};       ///< for a URL
  static constexpr milliseconds kFirstFetch{10'000};  ///< at the start, when nothing is there yet

  /// `directory`: where the last good text of a URL is kept; empty: nowhere.
  /// `retire` gets entries that are out of force: each reader drops its share when it is done. It
  /// is called from the feeds' thread.
  using Retire = std::function<void(std::shared_ptr<const limiter::BulkList>)>;
  ListFeeds(boost::asio::io_context& control, const HashSecret& secret, std::string directory,
            const Clock& clock, Log& log, Retire retire);
  ~ListFeeds();  ///< stop()

  /// Gives each list with a source its slot, before the set is shared: the one that it had, where
  /// the running set names the same source for it. Sources that the set does not name go once it is
  /// in use().
  void attach(policies::PolicySet& set);
  /// Reads the new sources that attach() found; blocks. Returns why the set must not be put in use,
  /// for people; empty: it may. If a URL can't be reached, its list is empty, and that is reported,
  /// but the set may be used.
  std::string load_new();
  /// attach() and load_new(), read on the feeds' thread: for a reload. Entries are there before the
  /// set is in use, because those on an allow list that is still empty could be refused.
  boost::asio::awaitable<std::string> feed(policies::PolicySet& set);
  /// From now on these sources are checked.
  void use(const policies::PolicySet& set);

  void stop();

  std::vector<admin::SourceFacts> facts() const;

 private:
  struct Feed;
  struct Call;
  std::shared_ptr<Call> begin_feeding();
  void run();
  void look(TimePoint now);
  bool load_file(Feed& feed, bool settled);
  bool load_url(Feed& feed, milliseconds deadline);
  std::string put(Feed& feed, const std::string& text);
  void failed(Feed& feed, const std::string& why);
  void tell_of_disk(Feed& feed);
  std::string read_new();
  std::vector<std::shared_ptr<Feed>> all() const;
  void start();

  boost::asio::io_context& control_;
  const HashSecret& secret_;
  const std::string directory_;
  const Clock& clock_;
  Log& log_;
  const Retire retire_;
  std::vector<std::shared_ptr<const limiter::BulkList>> retired_;  // the thread's

  mutable std::mutex mutex_;  // guards what follows, and the facts of feeds
  std::vector<std::shared_ptr<Feed>> feeds_;
  std::vector<std::function<void(std::string)>> wanted_;
  std::condition_variable wake_;
  std::atomic<bool> stopping_{false};
  std::atomic<bool> running_{false};
  std::thread thread_;
};

/// For commands: the entries of each list's file, at once. URLs are left out unless `fetch`. Gives
/// the errors, for people, by the list's name.
std::vector<std::pair<std::string, std::string>> fill_lists(policies::PolicySet& set,
                                                            const HashSecret& secret, TimePoint now,
                                                            bool fetch);

}  // namespace weir::app
