#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "admin/operations.h"
#include "app/change/operator_changes.h"
#include "app/change/table_history.h"
#include "app/change/turn_queue.h"
#include "app/support/log.h"

namespace weir::app {

/// Tables that people maintain: the changes, their approvals, and the file that stores them. With a
/// fleet all replicas keep the same. One change at a time. On the control thread.
class TableChanges {
 public:
  /// Limits as text, by table and path.
  using Cells = std::map<std::pair<std::string, std::vector<std::string>>, std::string>;

  /// `directory`: state.dir, where the history is kept; empty: it ends with the process.
  TableChanges(boost::asio::io_context& control, Log& log, const std::string& directory);

  /// Reads the history. Empty: it is read, or there is none; else why weir must not run with it.
  std::string load();
  const std::vector<config::TableEdit>& edits() const noexcept { return history_.edits(); }
  /// `let_go` is called with the limits that only the files define from now on.
  using LetGo = std::function<void(const std::string& table, const std::string& limits)>;
  /// `overtaken` is called with a change that was decided here, and otherwise at another replica,
  /// which was first.
  using Overtaken = std::function<void(const admin::TableRecord& record)>;
  void serve(OperatorChanges& changes, LetGo let_go, Overtaken overtaken);
  /// Call it after each good load. Values that the files now contain count as values of the files.
  void files_changed();
  /// Called for a table that was changed here, with the message for other replicas.
  using Teller = std::function<void(const std::string& table, std::string text)>;
  /// Whether the files of all replicas have the same limits for the edits of a table; `said`:
  /// ours().
  using Agreed = std::function<bool(const std::string& table, const std::string& said)>;
  /// Sends the changes that others do not have yet. `mark`: distinguishes the ids of this replica's
  /// changes from those of others.
  void share(Teller teller, Agreed agreed, std::string mark);
  /// For each table in which a limit has been set: a digest of this replica's limits for it in the
  /// files. An empty digest: the files do not have the table.
  const std::map<std::string, std::string>& ours() const noexcept { return ours_; }
  /// Whether values may be dropped that the files of all replicas now contain. Checked every
  /// second. A replica whose file has not changed yet still needs them.
  bool may_let_go() const;
  boost::asio::awaitable<void> let_go();
  /// Takes the message of another replica. Before serve() it only changes the result of edits().
  void take_at_start(const std::string& table, std::string_view text);
  boost::asio::awaitable<void> take(std::string table, std::string text);
  void mark_sent(const std::string& table);  ///< the change has been sent to the others
  /// Called when the history can't be written (`why`), and when it is written again (empty). Called
  /// at once with how it is now.
  using Written = std::function<void(const std::string& why)>;
  void tell_whether_written(Written written);
  /// Writes the history if the last attempt failed. A change is made once, so nothing else would.
  void write_again();
  /// Whether a change needs the approval of a second person (`admin.approval`).
  void need_approval(bool needed) noexcept { approval_ = needed; }

  std::vector<admin::TableFacts> tables() const;
  boost::asio::awaitable<admin::TableAnswer> change_table(admin::TableRequest asked);

 private:
  std::optional<admin::TableRecord> record_of(const admin::TableRequest& asked,
                                              admin::TableAnswer& wrong) const;
  bool agreed(const std::string& table) const;
  void note_same();
  std::vector<config::TableEdit> without_same(const std::vector<config::TableEdit>& edits) const;
  void tell_overtaken(const std::vector<admin::TableRecord>& records);
  void tell_let_go(const std::vector<config::TableEdit>& before) const;
  std::vector<config::TableEdit> edits_with(const admin::TableRecord& record) const;
  std::string write_history();
  std::string save_book();
  void tell(const std::string& table);
  boost::asio::awaitable<admin::TableAnswer> carry_out(admin::TableRequest asked);
  std::string wrong_limits(const admin::TableRequest& asked) const;
  boost::asio::awaitable<admin::TableAnswer> put_record(admin::TableRecord record,
                                                        std::string approve_id);
  boost::asio::awaitable<admin::TableAnswer> set_table(admin::TableRequest asked);
  const admin::TableRecord* waiting(const admin::TableRequest& asked,
                                    admin::TableAnswer& wrong) const;
  std::optional<Number> limit_before(const admin::TableRecord& undone,
                                     const admin::TableRecord::Change& change) const;
  const admin::TableRecord* to_undo(const admin::TableRequest& asked,
                                    admin::TableAnswer& wrong) const;
  boost::asio::awaitable<admin::TableAnswer> decide_table(admin::TableRequest asked);
  boost::asio::awaitable<admin::TableAnswer> undo_table(admin::TableRequest asked);

  Log& log_;
  const std::string path_;
  OperatorChanges* changes_ = nullptr;  // null: weir is not running yet
  bool approval_ = false;
  TableHistory history_;
  Teller teller_;  // null: there is this process alone
  Agreed agreed_;  // the same
  LetGo let_go_;
  Overtaken overtaken_;                                 // null: before serve()
  std::vector<admin::TableRecord> overtaken_at_start_;  // for serve()
  Written written_;                                     // null: there is no state.dir
  std::string unwritten_;  // why the history on the disk is an old one; empty: it is not
  Cells same_;             // the edits that the files have had as well since they were made
  std::map<std::string, std::string> ours_;
  std::set<std::string> seen_;  // from the start
  TurnQueue turns_;
};

}  // namespace weir::app
