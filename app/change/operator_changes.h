#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "admin/operations.h"
#include "app/change/turn_queue.h"
#include "app/support/configuration.h"
#include "app/support/log.h"
#include "config/override.h"
#include "config/table_edit.h"
#include "net/task_group.h"

namespace weir::app {

/// Puts a compiled configuration into use. Empty: it is in use. Otherwise the reason, and the old
/// one stays.
class Swap {
 public:
  virtual ~Swap() = default;
  virtual boost::asio::awaitable<std::string> put_in_use(const Configuration& next) = 0;
};

/// Changes that operators have made over the files: overrides (config/override.h) and edits of
/// tables. Holds the files of the last successful load, and puts them in use with the changes over
/// them: after each change, at the end of each override, and at every load. One such operation runs
/// at a time. On the control thread.
class OperatorChanges {
 public:
  OperatorChanges(boost::asio::io_context& control, Swap& swap, Log& log);
  OperatorChanges(const OperatorChanges&) = delete;
  OperatorChanges& operator=(const OperatorChanges&) = delete;

  /// All of it is in use already, `edits` as far as they fit.
  void started_with(const Configuration& files, std::vector<config::TableEdit> edits = {},
                    std::vector<config::Override> overrides = {});

  /// The right to put something in use. All coroutines below take it, except use_files().
  boost::asio::awaitable<TurnQueue::Turn> turn() { return turns_.take(); }
  /// Puts other files in use, with the changes that fit them; within a turn(). Empty: they are.
  /// Otherwise the reason, and nothing has changed.
  boost::asio::awaitable<std::string> use_files(const Configuration& next);
  const config::Model& files() const noexcept { return files_; }
  const std::string& files_hash() const noexcept { return files_hash_; }

  /// These report errors, and warnings that the change brings.
  boost::asio::awaitable<admin::LoadReport> override_policy(config::Override change);
  /// `here`: only those of this replica alone.
  boost::asio::awaitable<admin::LoadReport> end_overrides(std::string policy, bool here = false);
  /// Puts the fleet's overrides in the place of its earlier ones: `ask` is called when it is this
  /// call's turn. Overrides that do not fit here are left out; the log says so, once.
  using FleetOverrides = std::function<std::vector<config::Override>()>;
  boost::asio::awaitable<void> take_overrides(FleetOverrides ask);
  /// From now on, the fleet decides when a common override ends that does not fit here.
  void belong_to_fleet() noexcept { in_fleet_ = true; }
  const std::vector<config::Override>& overrides() const noexcept { return overrides_; }
  const std::vector<config::Override>& unfit_overrides() const noexcept { return unfit_; }
  /// Ends those that are over; every second.
  void tick(TimePoint now);
  /// Called for each override whose time is over, with why it could not be ended; empty: it has.
  using EndTeller = std::function<void(const config::Override&, const std::string& problem)>;
  void tell_ends_to(EndTeller teller) { end_teller_ = std::move(teller); }

  /// Puts the tables' edits in force, or reports why not, and warnings that the change brings;
  /// `table`: the one that is changed. Edits of other tables that do not fit the files wait until
  /// they do.
  boost::asio::awaitable<admin::LoadReport> edit_tables(std::vector<config::TableEdit> next,
                                                        std::string table);
  /// The same as edit_tables without putting anything in force.
  admin::LoadReport try_tables(const std::vector<config::TableEdit>& edits,
                               std::string_view table) const;
  /// Holds `same` in the place of the edits that hold now; the limits in force are the same.
  void hold_edits(std::vector<config::TableEdit> same);
  std::vector<config::TableDef> tables() const;  ///< as they are in force

 private:
  boost::asio::awaitable<admin::LoadReport> use_change(Configuration next);
  boost::asio::awaitable<admin::LoadReport> put_overrides(std::vector<config::Override> next);
  boost::asio::awaitable<void> end_what_is_over();
  void leave_out(const std::vector<config::Override>& dropped);

  /// The warnings about what is in force, which people have seen.
  class Warned {
   public:
    Warned() = default;
    explicit Warned(const Configuration& in_force);
    /// The errors of `over`, and its warnings that are new.
    admin::LoadReport report_of_the_rest(const Configuration& over) const;

   private:
    std::set<std::string> keys_;
  };

  Swap& swap_;
  Log& log_;
  config::Model files_;  // alone, without the changes
  std::string files_hash_;
  Warned warned_;
  std::vector<config::Override> overrides_;  // of the fleet, then of this replica alone
  std::vector<config::Override> unfit_;      // of the fleet
  std::vector<config::TableEdit> edits_, edits_in_force_;  // wanted; those of them that fit
  bool in_fleet_ = false;
  bool ending_some_ = false;
  TimePoint now_{};  // of the last tick
  EndTeller end_teller_;
  TurnQueue turns_;
  net::TaskGroup tasks_;
};

}  // namespace weir::app
