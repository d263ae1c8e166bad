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
#include "app/change/turn_queue.h"
#include "app/support/configuration.h"
#include "app/support/log.h"
#include "net/task_group.h"
#include "telemetry/metrics.h"

namespace weir::app {

/// Puts a compiled configuration into use. Empty: it is in use. Otherwise the reason, and the old
/// one stays.
class Swap {
 public:
  virtual ~Swap() = default;
  virtual boost::asio::awaitable<std::string> put_in_use(Configuration next) = 0;
  /// Around each load that is more than a look at unchanged files, good or not.
  virtual void reload_begins() {}
  virtual void reload_ended() {}
};

/// Loads the configuration again when it is asked to (SIGHUP, the admin API, changed files),
/// compiles it, and swaps it in; or keeps the old one and says why. One reload at a time. On the
/// control thread.
class Reload {
 public:
  /// `watch`: told by each load which directories it has read.
  Reload(boost::asio::io_context& control, Loader loader, ConfigWatch& watch, Swap& swap, Log& log,
         telemetry::MetricCells& cells);
  Reload(const Reload&) = delete;
  Reload& operator=(const Reload&) = delete;

  /// The configuration that weir starts with is one load too.
  /// `edits`: of tables, which are in force already as far as they fit, like `overrides`.
  void started_with(const Configuration& configuration, std::vector<config::TableEdit> edits = {},
                    std::vector<config::Override> overrides = {});
  /// Called after each load, with the hash of what was in force before.
  using Teller = std::function<void(const std::string& cause, const std::string& before,
                                    const admin::LoadReport& report)>;
  void tell_to(Teller teller) { teller_ = std::move(teller); }
  /// Called for each override whose time is over, with why it could not be ended; empty: it has.
  using EndTeller = std::function<void(const config::Override&, const std::string& problem)>;
  void tell_ends_to(EndTeller teller) { end_teller_ = std::move(teller); }

  const admin::LoadReport& last() const noexcept { return last_; }

  /// `cause`: for the log. With `only_if_changed` equal texts are not loaded again.
  boost::asio::awaitable<admin::LoadReport> run(std::string cause, bool only_if_changed);
  /// Operators' overrides over the files (config/override.h): changed on the running
  /// configuration, whatever the files say by now, and applied again by every reload.
  boost::asio::awaitable<admin::LoadReport> override_policy(config::Override change);
  const config::Model& files() const noexcept { return files_; }
  /// `here`: only those of this replica alone.
  boost::asio::awaitable<admin::LoadReport> end_overrides(std::string policy, bool here = false);
  /// Puts the fleet's overrides in the place of its earlier ones: `ask` is called when it is this
  /// call's turn. Overrides that do not fit here are left out; the log says so, once.
  using FleetOverrides = std::function<std::vector<config::Override>()>;
  boost::asio::awaitable<void> take_overrides(FleetOverrides ask);
  const std::vector<config::Override>& unfit_overrides() const noexcept { return unfit_; }
  /// From now on, the fleet decides when a common override ends that does not fit here.
  void belong_to_fleet() noexcept { in_fleet_ = true; }
  const std::vector<config::Override>& overrides() const noexcept { return overrides_; }
  /// Puts the tables' edits in force, or says why not; `table`: the one that is changed. Those of
  /// other tables that do not fit the files wait until they do.
  boost::asio::awaitable<admin::LoadReport> edit_tables(std::vector<config::TableEdit> next,
                                                        std::string table);
  /// Holds `same` in the place of the edits that hold now; the limits in force are the same.
  void hold_edits(std::vector<config::TableEdit> same);
  /// The same as edit_tables without putting anything in force.
  admin::LoadReport try_tables(const std::vector<config::TableEdit>& edits,
                               std::string_view table) const;
  std::vector<config::TableDef> tables() const;  ///< as they are in force
  const std::vector<config::TableDef>& file_tables() const noexcept { return files_.tables; }
  std::vector<std::string> policies_with(std::string_view table) const;
  bool may_be_negative(std::string_view table) const;  ///< config::may_be_negative
  /// config::beyond_reading
  std::string beyond_reading(std::string_view table, const Number& limit) const;
  /// Work before each load, on another thread, such as fetching included texts.
  using Prepare = std::function<void(std::function<void()> done)>;
  void prepare_by(Prepare prepare) { prepare_ = std::move(prepare); }
  /// Ends those that are over; every second.
  void tick(TimePoint now);

  /// What is in force, with secrets masked, and the last loads, the newest first.
  const std::vector<admin::ConfigText>& texts() const noexcept { return texts_; }
  std::vector<admin::LoadRecord> history() const { return {history_.begin(), history_.end()}; }

  /// The same as run(), without a caller that waits.
  void ask(std::string cause, bool only_if_changed);

 private:
  boost::asio::awaitable<void> run_for_nobody(std::string cause, bool only_if_changed);
  boost::asio::awaitable<admin::LoadReport> load_and_swap(std::string cause, bool only_if_changed);
  std::shared_ptr<boost::asio::steady_timer> begin_preparing();
  static std::vector<config::TableEdit> fitting(const std::vector<config::TableEdit>& edits,
                                                std::string_view table,
                                                const std::vector<config::TableDef>& tables);
  boost::asio::awaitable<admin::LoadReport> put_overrides(std::vector<config::Override> next);
  boost::asio::awaitable<void> end_what_is_over();
  boost::asio::awaitable<std::string> use(const Configuration& next);
  /// The files with what people have changed: warnings about the files were told when they loaded.
  boost::asio::awaitable<admin::LoadReport> use_change(Configuration next);
  void remember(const Configuration& loaded, const admin::LoadReport& report,
                const std::string& cause);
  void tell(const Configuration& configuration, const std::string& cause,
            const std::string& refusal);

  boost::asio::io_context& control_;
  Loader loader_;
  ConfigWatch& watch_;
  Swap& swap_;
  Log& log_;
  telemetry::MetricCells& cells_;
  admin::LoadReport last_;
  InForce in_force_;
  std::string hash_in_force_;
  Teller teller_;
  EndTeller end_teller_;
  std::string last_tried_hash_;  // of the last load, good or not

  // The files alone, as they were loaded last without errors: what overrides are put over.
  config::Model files_;
  std::string files_hash_;
  std::vector<config::Override> overrides_;  // of the fleet, then of this replica alone
  std::vector<config::Override> unfit_;      // of the fleet
  std::vector<config::TableEdit> edits_, edits_in_force_;  // wanted; those of them that fit
  Prepare prepare_;
  bool ending_some_ = false;
  bool in_fleet_ = false;
  TimePoint now_{};  // of the last tick
  std::vector<admin::ConfigText> texts_;
  std::deque<admin::LoadRecord> history_;

  TurnQueue turns_;
  net::TaskGroup tasks_;
};

}  // namespace weir::app
