#include "app/change/table_changes.h"

#include <algorithm>

#include "config/table_check.h"
#include "core/chars/ascii.h"
#include "core/key.h"
#include "net/deadline.h"
#include "net/http/fields.h"

namespace weir::app {

namespace asio = boost::asio;

namespace {

/// `by` is a claim, not a login. Names that differ only in surrounding blanks and in the case of
/// letters are one person's.
bool same_person(std::string_view a, std::string_view b) {
  return net::same_ignoring_case(ascii::trimmed(a, " "), ascii::trimmed(b, " "));
}

constexpr std::size_t kSaidMax = 200;  // tables that ours() reports

using admin::TableAnswer;
using admin::TableRecord;
using admin::TableRequest;

using config::same_limit;

TableAnswer refused_change(int status, std::string why) {
  TableAnswer out;
  out.status = status;
  out.why = std::move(why);
  return out;
}

const config::TableDef* table_of(const std::vector<config::TableDef>& tables,
                                 std::string_view name) {
  const auto found = std::find_if(tables.begin(), tables.end(), [&](const config::TableDef& def) {
    return def.name.value == name;
  });
  return found == tables.end() ? nullptr : &*found;
}

/// By table and path: the limits, as text.
using Cells = TableChanges::Cells;

Cells cells_in(const std::vector<config::TableEdit>& edits) {
  Cells out;
  for (const config::TableEdit& edit : edits) {
    for (const config::TableCell& cell : edit.cells)
      out.emplace(std::pair{edit.table, cell.path}, config::limit_text(cell.limit));
  }
  return out;
}

/// The limits that the files give to tables in which a limit has been set.
Cells cells_in_files(const std::vector<config::TableDef>& tables,
                     const std::vector<config::TableEdit>& edits) {
  std::vector<config::TableEdit> out;
  for (const config::TableEdit& edit : edits) {
    if (const config::TableDef* const table = table_of(tables, edit.table); table != nullptr)
      out.push_back({edit.table, config::cells_of(*table)});
  }
  return cells_in(out);
}

bool has(const Cells& cells, const std::string& table, const config::TableCell& cell) {
  const auto found = cells.find({table, cell.path});
  return found != cells.end() && found->second == config::limit_text(cell.limit);
}

std::vector<config::TableCell> cells_after(const TableRecord& record) {
  std::vector<config::TableCell> out;
  for (const TableRecord::Change& change : record.changes)
    out.push_back({change.path, change.after});
  return out;
}

/// The policies whose limits the table gives.
std::vector<std::string> policies_with(const config::Model& files, std::string_view table) {
  std::vector<std::string> out;
  for (const config::PolicyDef& policy : files.policies) {
    const bool asks = std::any_of(policy.then.begin(), policy.then.end(), [&](const auto& rung) {
      const auto* const text = std::get_if<config::Text>(&rung.limit);
      return text != nullptr && text->value == table;
    });
    if (asks) out.push_back(policy.name.value);
  }
  return out;
}

std::string changes_text(const TableRecord& record) {
  std::string out;
  for (const TableRecord::Change& change : record.changes) {
    if (out.size() > 256) return out + ", ...";
    out += (out.empty() ? "" : ", ") + config::path_text(change.path) + "=" +
           config::limit_text(change.after) + " (was " + config::limit_text(change.before) + ")";
  }
  return out;
}

}  // namespace

TableChanges::TableChanges(asio::io_context& control, Log& log, const std::string& directory)
    : log_(log),
      path_(directory.empty() ? std::string() : directory + "/tables.json"),
      turns_(control) {}

std::string TableChanges::load() {
  if (path_.empty()) return {};
  const std::string wrong = history_.load(path_);
  if (wrong.empty()) return {};
  return path_ + ": " + wrong + ": it holds what people have set in tables; fix it or move it away";
}

void TableChanges::serve(OperatorChanges& changes, LetGo let_go, Overtaken overtaken) {
  changes_ = &changes;
  let_go_ = std::move(let_go);
  overtaken_ = std::move(overtaken);
  for (const admin::TableRecord& record : std::exchange(overtaken_at_start_, {}))
    overtaken_(record);
}

bool TableChanges::agreed(const std::string& table) const {
  if (!agreed_) return true;
  const auto said = ours_.find(table);
  return said != ours_.end() && agreed_(table, said->second);
}

/// Notes the cells whose limit the file has had at some time. The note stays until all replicas
/// agree, even if the file changes in the meantime.
void TableChanges::note_same() {
  const std::vector<config::TableDef>& tables = changes_->files().tables;
  const Cells files = cells_in_files(tables, history_.edits());
  Cells next;
  ours_.clear();
  for (const config::TableEdit& edit : history_.edits()) {
    const bool in_file = table_of(tables, edit.table) != nullptr;
    std::set<std::string> lines;  // in one order, in whichever they were set
    for (const config::TableCell& cell : edit.cells) {
      const auto found = files.find({edit.table, cell.path});
      const std::string said = found == files.end() ? "none" : found->second;
      const std::string limit = config::limit_text(cell.limit);
      if ((in_file && said == limit) || has(same_, edit.table, cell))
        next.emplace(std::pair{edit.table, cell.path}, limit);
      std::string line = said;
      for (const std::string& value : cell.path) line.append(1, '\0').append(value);
      lines.insert(std::move(line));
    }
    if (!agreed_ || ours_.size() == kSaidMax) continue;
    std::string text;
    for (const std::string& line : lines) text.append(line).append(1, '\n');
    const Hash128 digest = HashSecret::from_bytes({}).hash(text);
    ours_[edit.table] = in_file ? std::to_string(digest.hi) + "-" + std::to_string(digest.lo) : "";
  }
  same_ = std::move(next);
}

std::vector<config::TableEdit> TableChanges::without_same(
    const std::vector<config::TableEdit>& edits) const {
  std::vector<config::TableEdit> out = edits;
  for (config::TableEdit& edit : out) {
    if (!agreed(edit.table)) continue;
    std::erase_if(edit.cells,
                  [&](const config::TableCell& cell) { return has(same_, edit.table, cell); });
  }
  std::erase_if(out, [](const config::TableEdit& edit) { return edit.cells.empty(); });
  return out;
}

/// Logs edits that ended because the files have the same limits.
void TableChanges::tell_let_go(const std::vector<config::TableEdit>& before) const {
  const Cells now = cells_in(history_.edits());
  for (const config::TableEdit& edit : before) {
    std::string limits;
    for (const config::TableCell& cell : edit.cells) {
      if (!has(same_, edit.table, cell) || now.contains({edit.table, cell.path})) continue;
      if (limits.size() > 256) {
        limits += ", ...";
        break;
      }
      limits += (limits.empty() ? "" : ", ") + config::path_text(cell.path) + "=" +
                config::limit_text(cell.limit);
    }
    if (limits.empty()) continue;
    log_.write(Level::info,
               LogLine("the file now contains the value that was set; the file applies from now on")
                   .add("table", edit.table)
                   .add("limits", limits));
    if (let_go_) let_go_(edit.table, limits);
  }
}

void TableChanges::files_changed() {
  note_same();
  if (agreed_ || same_.empty()) return;  // with others: let_go(), when all agree
  const std::vector<config::TableEdit> before = history_.edits();
  std::vector<config::TableEdit> next = without_same(before);
  changes_->hold_edits(next);
  history_.hold(std::move(next));
  tell_let_go(before);
  same_.clear();
  write_history();
}

bool TableChanges::may_let_go() const {
  for (auto same = same_.begin(); same != same_.end();) {
    const std::string& table = same->first.first;
    if (agreed(table)) return true;
    same = std::find_if(same, same_.end(),
                        [&](const auto& other) { return other.first.first != table; });
  }
  return false;
}

asio::awaitable<void> TableChanges::let_go() {
  const TurnQueue::Turn turn = co_await turns_.take();
  const std::vector<config::TableEdit> before = history_.edits();
  std::vector<config::TableEdit> next = without_same(before);
  if (next == before) co_return;
  const admin::LoadReport report = co_await changes_->edit_tables(next, {});
  if (!report.ok) {
    same_.clear();  // until the files change again
    LogLine line("the file says what was set in a table, but can't be put in force without it");
    if (!report.problems.empty()) line.add("reason", report.problems.front().message);
    log_.write(Level::error, line);
    co_return;
  }
  history_.hold(std::move(next));
  tell_let_go(before);
  note_same();
  write_history();
  for (const config::TableEdit& edit : before) {
    const bool changed = std::none_of(history_.edits().begin(), history_.edits().end(),
                                      [&](const auto& now) { return now == edit; });
    if (changed) tell(edit.table);
  }
}

std::vector<admin::TableFacts> TableChanges::tables() const {
  std::vector<admin::TableFacts> out;
  if (changes_ == nullptr) return out;
  for (config::TableDef& def : changes_->tables()) {
    admin::TableFacts facts;
    const std::string name = def.name.value;
    facts.policies = policies_with(changes_->files(), name);
    facts.approval = approval_;
    facts.def = std::move(def);
    for (const config::TableEdit& edit : history_.edits()) {
      if (edit.table == name) facts.cells = edit.cells;
    }
    for (const TableRecord& record : history_.records()) {
      if (record.table == name) facts.records.push_back(record);
    }
    out.push_back(std::move(facts));
  }
  return out;
}

/// A record of the change that the request asks for; none: `why` has the error.
std::optional<TableRecord> TableChanges::record_of(const TableRequest& asked,
                                                   TableAnswer& wrong) const {
  const std::vector<config::TableDef> tables = changes_->tables();
  const config::TableDef* const table = table_of(tables, asked.table);
  if (table == nullptr) {
    wrong = refused_change(404, "there is no table of that name");
    return std::nullopt;
  }
  TableRecord out;
  out.table = asked.table;
  out.reason = asked.reason;
  out.by = asked.by;
  out.at = Clock::wall();
  for (const config::TableCell& cell : asked.cells) {
    const auto before = config::limit_at(*table, cell.path);
    if (!same_limit(before, cell.limit)) out.changes.push_back({cell.path, before, cell.limit});
  }
  if (out.changes.empty()) {
    wrong = refused_change(409, "the table has these limits already");
    return std::nullopt;
  }
  return out;
}

std::vector<config::TableEdit> TableChanges::edits_with(const TableRecord& record) const {
  std::vector<config::TableEdit> next = history_.with(record.table, cells_after(record));
  const config::TableDef* const file = table_of(changes_->files().tables, record.table);
  for (config::TableEdit& edit : next) {
    if (edit.table != record.table || file == nullptr || !agreed(edit.table)) continue;
    // A cell that the file has as well needs no edit: a later change of the file takes effect.
    std::erase_if(edit.cells, [&](const config::TableCell& cell) {
      return same_limit(config::limit_at(*file, cell.path), cell.limit);
    });
  }
  std::erase_if(next, [](const config::TableEdit& edit) { return edit.cells.empty(); });
  return next;
}

std::string TableChanges::write_history() {
  if (path_.empty())
    return teller_ ? std::string()
                   : "; it ends with this process, for there is no state.dir to keep it in";
  const std::string wrong = save_book();
  if (wrong.empty()) return {};
  log_.write(
      Level::error,
      LogLine("what was set in tables can't be written").add("file", path_).add("reason", wrong));
  return "; it could not be written to state.dir yet: " + wrong;
}

std::string TableChanges::save_book() {
  std::string wrong = history_.save(path_);
  if (wrong == unwritten_) return wrong;
  unwritten_ = wrong;
  if (written_) written_(unwritten_);
  return wrong;
}

void TableChanges::tell_whether_written(Written written) {
  written_ = std::move(written);
  written_(unwritten_);
}

void TableChanges::write_again() {
  if (!unwritten_.empty()) save_book();
}

asio::awaitable<TableAnswer> TableChanges::put_record(TableRecord record, std::string approve_id) {
  std::vector<config::TableEdit> next = edits_with(record);
  TableAnswer answer;
  answer.report = co_await changes_->edit_tables(next, record.table);
  if (!answer.report.ok) {
    answer.status = 422;
    answer.why =
        "nothing was changed: " +
        (answer.report.problems.empty() ? std::string() : answer.report.problems.front().message);
    co_return answer;
  }
  history_.hold(std::move(next));
  LogLine line("a table was changed");
  line.add("table", record.table).add("changes", changes_text(record)).add("by", record.by);
  if (!record.reason.empty()) line.add("reason", record.reason);
  log_.write(Level::warn, line);
  if (approve_id.empty()) {
    record.state = TableRecord::kApplied;
    answer.id = history_.add(std::move(record));
  } else {
    answer.id = approve_id;
  }
  answer.status = 200;
  answer.why = "in force";
  co_return answer;
}

asio::awaitable<TableAnswer> TableChanges::set_table(TableRequest asked) {
  TableAnswer wrong;
  auto record = record_of(asked, wrong);
  if (!record) co_return wrong;
  if (approval_) {
    if (asked.by.empty())
      co_return refused_change(400, "admin.approval is set: `by` must say who asks for the change");
    if (history_.pending() >= TableHistory::kPendingMax)
      co_return refused_change(409, "too many changes wait for approval");
    admin::LoadReport report = changes_->try_tables(edits_with(*record), record->table);
    if (!report.ok) {
      TableAnswer out = refused_change(
          422, "this could not be put in force: " +
                   (report.problems.empty() ? std::string() : report.problems.front().message));
      out.report = std::move(report);
      co_return out;
    }
    record->state = TableRecord::kPending;
    TableAnswer out;
    out.id = history_.add(std::move(*record));
    out.report = std::move(report);
    out.status = 200;
    out.why = "waits for the approval of somebody else: weir ctl table " + asked.table +
              " approve " + out.id + " --by NAME" + write_history();
    co_return out;
  }
  if (record->by.empty()) record->by = "admin";
  TableAnswer out = co_await put_record(std::move(*record), {});
  if (out.status == 200) out.why += write_history();
  co_return out;
}

/// The change that the request approves or rejects; null: `wrong` says why.
const TableRecord* TableChanges::waiting(const TableRequest& asked, TableAnswer& wrong) const {
  const TableRecord* found = nullptr;
  std::size_t waiting = 0;
  for (const TableRecord& record : history_.records()) {
    if (record.table != asked.table || record.state != TableRecord::kPending) continue;
    found = &record;
    ++waiting;
  }
  if (!asked.id.empty()) found = history_.find(asked.table, asked.id);
  if (found == nullptr || found->state != TableRecord::kPending) {
    wrong = refused_change(404, "no such change of this table waits for approval");
    return nullptr;
  }
  if (asked.id.empty() && waiting > 1) {
    wrong = refused_change(400, "several changes wait: say which one");
    return nullptr;
  }
  return found;
}

asio::awaitable<TableAnswer> TableChanges::decide_table(TableRequest asked) {
  TableAnswer wrong;
  const TableRecord* const found = waiting(asked, wrong);
  if (found == nullptr) co_return wrong;
  const TableRecord record = *found;
  if (asked.by.empty()) co_return refused_change(400, "`by` must say who decides");
  if (asked.verb == TableRequest::Verb::reject) {
    history_.set_state(record.table, record.id, TableRecord::kRejected, asked.by, Clock::wall());
    TableAnswer out;
    out.status = 200;
    out.id = record.id;
    out.why = "the change is rejected" + write_history();
    co_return out;
  }
  if (same_person(asked.by, record.by))
    co_return refused_change(403, "somebody else than " + record.by + " must approve it");
  const std::vector<config::TableDef> tables = changes_->tables();
  const config::TableDef* const table = table_of(tables, asked.table);
  const bool stale =
      table == nullptr ||
      std::any_of(record.changes.begin(), record.changes.end(),
                  [&](const TableRecord::Change& change) {
                    return !same_limit(config::limit_at(*table, change.path), change.before);
                  });
  if (stale)
    co_return refused_change(409, "the table was changed since: reject it and ask for it again");
  TableAnswer out = co_await put_record(record, record.id);
  if (out.status != 200) co_return out;
  history_.set_state(record.table, record.id, TableRecord::kApplied, asked.by, Clock::wall());
  out.why += write_history();
  co_return out;
}

/// The change that the request takes back; null: `wrong` says why. Without an id it is the last
/// change. If the request names a person (`by`), the last change must be that person's: the person
/// may not know of a later change by another person.
const TableRecord* TableChanges::to_undo(const TableRequest& asked, TableAnswer& wrong) const {
  const TableRecord* const found =
      asked.id.empty() ? history_.last_applied(asked.table) : history_.find(asked.table, asked.id);
  if (found == nullptr || found->state != TableRecord::kApplied) {
    wrong = refused_change(404, "there is no change of this table to take back");
    return nullptr;
  }
  if (asked.id.empty() && !asked.by.empty() && !same_person(asked.by, found->by)) {
    wrong = refused_change(409, "the last change, " + found->id + ", is by " + found->by + ": " +
                                    changes_text(*found) + "; say which change to take back");
    return nullptr;
  }
  return found;
}

/// The limit that a change has replaced: the one that an operator had set before, or else the one
/// of the files, which may have changed.
std::optional<Number> TableChanges::limit_before(const TableRecord& undone,
                                                 const TableRecord::Change& change) const {
  // If old records are gone, the author of the limit is not known.
  bool by_operator = history_.records().size() >= TableHistory::kRecordsMax;
  for (const TableRecord& record : history_.records()) {
    if (record.id == undone.id) break;
    if (record.table != undone.table || record.state != TableRecord::kApplied) continue;
    for (const TableRecord::Change& earlier : record.changes)
      by_operator =
          by_operator || (earlier.path == change.path && same_limit(earlier.after, change.before));
  }
  const config::TableDef* const file = table_of(changes_->files().tables, undone.table);
  return by_operator || file == nullptr ? change.before : config::limit_at(*file, change.path);
}

asio::awaitable<TableAnswer> TableChanges::undo_table(TableRequest asked) {
  TableAnswer wrong;
  const TableRecord* const found = to_undo(asked, wrong);
  if (found == nullptr) co_return wrong;
  const TableRecord undone = *found;
  const std::vector<config::TableDef> tables = changes_->tables();
  const config::TableDef* const table = table_of(tables, asked.table);
  for (const TableRecord::Change& change : undone.changes) {
    if (table == nullptr || !same_limit(config::limit_at(*table, change.path), change.after)) {
      co_return refused_change(
          409, "\"" + config::path_text(change.path) + "\" was changed since: set what it must be");
    }
    asked.cells.push_back({change.path, limit_before(undone, change)});
  }
  if (asked.reason.empty()) asked.reason = "takes back change " + undone.id;
  TableAnswer out = co_await set_table(asked);
  if (out.status != 200 || approval_) co_return out;
  history_.set_state(undone.table, undone.id, TableRecord::kUndone,
                     asked.by.empty() ? "admin" : asked.by, Clock::wall());
  history_.set_state(undone.table, out.id, TableRecord::kUndo,
                     asked.by.empty() ? "admin" : asked.by, Clock::wall());
  const std::string unwritten = write_history();
  out.why = "change " + undone.id + " by " + undone.by + " is taken back: " + changes_text(undone) +
            unwritten;
  co_return out;
}

asio::awaitable<TableAnswer> TableChanges::change_table(TableRequest asked) {
  const TurnQueue::Turn turn = co_await turns_.take();
  const std::string table = asked.table;
  TableAnswer answer = co_await carry_out(std::move(asked));
  if (answer.status == 200) {
    files_changed();  // they may have these limits already
    tell(table);
  }
  co_return answer;
}

/// Why a wished limit makes no sense. Empty: all of them make sense.
std::string TableChanges::wrong_limits(const TableRequest& asked) const {
  for (const config::TableCell& cell : asked.cells) {
    if (!cell.limit) continue;
    std::string wrong =
        cell.limit->is_negative() && !config::may_be_negative(changes_->files(), asked.table)
            ? std::string("makes no sense: nothing is counted below 0")
            : config::beyond_reading(changes_->files(), asked.table, *cell.limit);
    if (wrong.empty()) continue;
    return "the limit " + config::limit_text(cell.limit) + " of \"" + config::path_text(cell.path) +
           "\" " + wrong;
  }
  return {};
}

asio::awaitable<TableAnswer> TableChanges::carry_out(TableRequest asked) {
  switch (asked.verb) {
    case TableRequest::Verb::set:
      if (std::string wrong = wrong_limits(asked); !wrong.empty())
        co_return refused_change(422, std::move(wrong));
      co_return co_await set_table(std::move(asked));
    case TableRequest::Verb::undo:
      co_return co_await undo_table(std::move(asked));
    case TableRequest::Verb::approve:
    case TableRequest::Verb::reject:
      break;
  }
  co_return co_await decide_table(std::move(asked));
}

}  // namespace weir::app
