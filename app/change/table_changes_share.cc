#include "app/change/table_changes.h"

/// The messages about tables that replicas exchange.
namespace weir::app {

namespace asio = boost::asio;

namespace {

// The most bytes of a message about a table with all its limits; as much of the history as fits
// beside them.
constexpr std::size_t kToldMax = std::size_t{900} << 10;

}  // namespace

void TableChanges::share(Teller teller, Agreed agreed, std::string mark) {
  history_.mark_ids(std::move(mark));
  teller_ = std::move(teller);
  agreed_ = std::move(agreed);
  for (const std::string& table : history_.tables()) {
    if (history_.has_unsent(table) || !seen_.contains(table)) tell(table);
  }
}

void TableChanges::tell(const std::string& table) {
  if (!teller_) return;
  std::string text = history_.table_text(table, kToldMax);
  if (text.empty()) {
    log_.write_seldom(Level::error,
                      LogLine("a table has too many changed limits to be sent to other replicas; "
                              "they hold on this one alone")
                          .add("table", table),
                      "tables told");
    return;
  }
  teller_(table, std::move(text));
}

void TableChanges::mark_sent(const std::string& table) {
  if (!history_.has_unsent(table)) return;
  history_.mark_sent(table);
  write_history();
}

void TableChanges::take_at_start(const std::string& table, std::string_view text) {
  seen_.insert(table);
  std::vector<admin::TableRecord> overtaken;
  if (history_.merge(table, text, &overtaken)) {
    write_history();
    tell_overtaken(overtaken);
    return;
  }
  log_.write(Level::error,
             LogLine("what other replicas say of a table can't be read").add("table", table));
}

asio::awaitable<void> TableChanges::take(std::string table, std::string text) {
  const TurnQueue::Turn turn = co_await turns_.take();
  TableHistory next = history_;
  std::vector<admin::TableRecord> overtaken;
  if (!next.merge(table, text, &overtaken)) {
    log_.write_seldom(
        Level::error,
        LogLine("what other replicas say of a table can't be read").add("table", table),
        "tables read");
    co_return;
  }
  std::vector<config::TableEdit> edits = next.edits();
  const admin::LoadReport report = co_await changes_->edit_tables(edits, {});
  if (!report.ok) {
    LogLine line("what was set in a table at another replica can't be put in force here");
    line.add("table", table);
    if (!report.problems.empty()) line.add("reason", report.problems.front().message);
    log_.write(Level::error, line);
    co_return;
  }
  const std::vector<config::TableEdit> before = history_.edits();
  history_ = std::move(next);
  write_history();
  tell_overtaken(overtaken);
  tell_let_go(before);
  note_same();
  log_.write(Level::info,
             LogLine("a table has the changes of another replica").add("table", table));
  if (history_.has_unsent(table)) tell(table);  // unsent changes of this replica go on top
}

/// Logs that a decision was overtaken: its author saw it take effect.
void TableChanges::tell_overtaken(const std::vector<admin::TableRecord>& records) {
  for (const admin::TableRecord& record : records) {
    log_.write(Level::warn,
               LogLine("a decision about a table was overtaken by one at another replica")
                   .add("table", record.table)
                   .add("change", record.id)
                   .add("overtaken", record.overtaken)
                   .add("state", record.state)
                   .add("decided_by", record.decided_by));
    overtaken_ ? overtaken_(record) : overtaken_at_start_.push_back(record);
  }
}

}  // namespace weir::app
