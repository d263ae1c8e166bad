#pragma once

#include <deque>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "admin/operations.h"
#include "config/table_edit.h"
#include "core/result.h"

namespace weir::app {

/// The changes of people to tables: the values in force, the changes that wait for a second person,
/// and the history. Each replica has a history of its own; they merge. Kept as JSON in a file
/// of `state.dir`, written again with each change. Pure, except load() and save(). On the control
/// thread.
class TableHistory {
 public:
  static constexpr std::size_t kRecordsMax = 1'000;  ///< of all tables; the oldest go
  static constexpr std::size_t kPendingMax = 100;
  static constexpr std::size_t kFileMax = std::size_t{32} << 20;

  const std::vector<config::TableEdit>& edits() const noexcept { return edits_; }
  const std::deque<admin::TableRecord>& records() const noexcept { return records_; }
  /// Ids are those of a table.
  const admin::TableRecord* find(std::string_view table, std::string_view id) const noexcept;
  /// From now on, new ids end with `-` and `mark`. Several replicas give ids at the same time; the
  /// mark keeps their ids apart. Without a mark, ids are numbers.
  void mark_ids(std::string mark) { mark_ = std::move(mark); }
  /// The last change of a table that holds and was not taken back; null: there is none.
  const admin::TableRecord* last_applied(std::string_view table) const noexcept;
  std::size_t pending() const noexcept;

  /// The edits as they would be with these cells over the cells in force.
  std::vector<config::TableEdit> with(const std::string& table,
                                      const std::vector<config::TableCell>& cells) const;
  /// Replaces the edits. Cells that the files have as well need no edit.
  void hold(std::vector<config::TableEdit> edits) { edits_ = std::move(edits); }
  /// Adds a record and returns its id.
  std::string add(admin::TableRecord record);
  void set_state(std::string_view table, std::string_view id, std::string state, std::string by,
                 TimePoint at);

  /// The message to other replicas about a table: all its cells, and as many of its last records as
  /// fit. Empty: the cells alone do not fit.
  std::string table_text(const std::string& table, std::size_t most) const;
  /// Takes the message of another replica. Own records that were not sent yet are kept. They count
  /// as made after those of the message, so for each cell the change that was sent last wins.
  /// False: the message can't be read, and nothing has changed. If two replicas approved and
  /// rejected the same change, the decision that was sent first wins. A record whose decision here
  /// is overtaken is marked so, and put into `overtaken`.
  bool merge(const std::string& table, std::string_view text,
             std::vector<admin::TableRecord>* overtaken = nullptr);
  /// Records of the table are changed here, and others do not know it.
  bool has_unsent(std::string_view table) const;
  void mark_sent(std::string_view table);
  /// The tables with cells or records.
  std::vector<std::string> tables() const;

  std::string to_json() const;
  /// False: the text is not a history.
  bool from_json(std::string_view text);
  /// A missing file is an empty history. The message is the error, for people.
  std::string load(const std::string& path);
  std::string save(const std::string& path) const;

 private:
  std::string next_id(std::uint64_t& next) const;

  std::vector<config::TableEdit> edits_;
  std::deque<admin::TableRecord> records_;                             // the oldest first
  std::set<std::pair<std::string, std::string>, std::less<>> unsent_;  // table, id
  std::uint64_t next_ = 1;
  std::string mark_;
};

}  // namespace weir::app
