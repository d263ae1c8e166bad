#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "admin/operations.h"
#include "app/change/config_watch.h"
#include "app/change/loss.h"
#include "app/change/operator_changes.h"
#include "app/support/configuration.h"
#include "app/support/log.h"
#include "net/task_group.h"
#include "telemetry/metrics.h"

namespace weir::app {

/// Loads the configuration again on request (SIGHUP, the admin API, changed files), compiles it,
/// and puts it in use; or keeps the old one and reports why. Keeps the results of the last loads.
/// One reload at a time. On the control thread.
class Reload {
 public:
  /// Called for each load. A check that finds unchanged files is no load.
  struct Observer {
    virtual ~Observer() = default;
    virtual void load_begins() {}
    /// The load has ended, whether the configuration is valid or not.
    virtual void load_ended() {}
    /// Called after load_ended(). `before`: the hash of the configuration that was in force before
    /// the load.
    virtual void loaded(const std::string& /*cause*/, const std::string& /*before*/,
                        const admin::LoadReport& /*report*/) {}
  };
  /// Each load gives `watch` the directories that it has read, and `changes` the configuration to
  /// put in use.
  Reload(boost::asio::io_context& control, Loader loader, ConfigWatch& watch,
         OperatorChanges& changes, Observer& observer, Log& log, telemetry::MetricCells& cells);
  Reload(const Reload&) = delete;
  Reload& operator=(const Reload&) = delete;

  /// The configuration that weir starts with is one load too.
  void started_with(const Configuration& configuration);

  const admin::LoadReport& last() const noexcept { return last_; }

  /// `cause`: for the log. With `only_if_changed` equal texts are not loaded again, and unchanged
  /// files are not parsed.
  boost::asio::awaitable<admin::LoadReport> run(std::string cause, bool only_if_changed);
  /// Work before each load, on another thread, such as fetching included texts.
  using Prepare = std::function<void(std::function<void()> done)>;
  void prepare_by(Prepare prepare) { prepare_ = std::move(prepare); }

  /// The texts in force, with secrets masked, and the records of the last loads, the newest first.
  const std::vector<admin::ConfigText>& texts() const noexcept { return texts_; }
  std::vector<admin::LoadRecord> history() const { return {history_.begin(), history_.end()}; }

  /// The same as run(), without a caller that waits.
  void ask(std::string cause, bool only_if_changed);

 private:
  boost::asio::awaitable<void> run_for_nobody(std::string cause, bool only_if_changed);
  boost::asio::awaitable<admin::LoadReport> load_and_swap(std::string cause, bool only_if_changed);
  std::shared_ptr<boost::asio::steady_timer> begin_preparing();
  void remember(const Configuration& loaded, const admin::LoadReport& report,
                const std::string& cause);
  void tell(const Configuration& configuration, const std::string& cause,
            const std::string& refusal);

  boost::asio::io_context& control_;
  Loader loader_;
  ConfigWatch& watch_;
  OperatorChanges& changes_;
  Observer& observer_;
  Log& log_;
  telemetry::MetricCells& cells_;
  admin::LoadReport last_;
  InForce in_force_;
  struct Tried {
    config::Inputs inputs;
    std::string hash;
  } last_tried_;  // the last load, good or not
  Prepare prepare_;
  std::vector<admin::ConfigText> texts_;
  std::deque<admin::LoadRecord> history_;
  net::TaskGroup tasks_;
};

}  // namespace weir::app
