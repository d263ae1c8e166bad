#include "app/change/table_history.h"

#include <unistd.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <limits>

#include "admin/json.h"
#include "app/support/files.h"
#include "core/number.h"
#include "core/words.h"

namespace weir::app {
namespace {

namespace json = boost::json;
using admin::TableRecord;

json::value limit_json(const std::optional<Number>& limit) {
  return limit ? admin::number_value(*limit) : json::value();
}

bool read_limit(const json::value& value, std::optional<Number>& out) {
  if (value.is_null()) {
    out.reset();
  } else if (value.is_int64()) {
    out = Number(value.get_int64());
  } else if (value.is_double()) {
    out = Number::real(value.get_double());
  } else if (value.is_string() && value.get_string() == kUnlimited) {
    out = Number::real(std::numeric_limits<double>::infinity());
  } else {
    return false;
  }
  return true;
}

json::array path_json(const std::vector<std::string>& path) {
  json::array out;
  for (const std::string& part : path) out.emplace_back(part);
  return out;
}

std::vector<std::string> read_path_of(const json::object& from) {
  std::vector<std::string> out;
  for (const json::value& part : from.at("path").as_array()) out.emplace_back(part.as_string());
  return out;
}

std::string member_text(const json::object& from, std::string_view name) {
  return std::string(from.at(name).as_string());
}

// Times and counts of a file or another replica: within what a double holds exactly, so that one
// more or less is no overflow.
std::int64_t member_number(const json::object& from, std::string_view name) {
  const auto out = from.at(name).to_number<std::int64_t>();
  if (out < -kExactInteger || out > kExactInteger) throw std::invalid_argument("number");
  return out;
}

std::uint64_t read_next(const json::value& whole) {
  const std::int64_t out = member_number(whole.as_object(), "next");
  if (out < 1) throw std::invalid_argument("next");
  return static_cast<std::uint64_t>(out);
}

json::array cells_json(const std::vector<config::TableCell>& cells) {
  json::array out;
  for (const config::TableCell& cell : cells)
    out.push_back({{"path", path_json(cell.path)}, {"limit", limit_json(cell.limit)}});
  return out;
}

std::vector<config::TableCell> cells_from(const json::value& from) {
  std::vector<config::TableCell> out;
  for (const json::value& cell : from.as_array()) {
    config::TableCell one;
    one.path = read_path_of(cell.as_object());
    if (!read_limit(cell.at("limit"), one.limit)) throw std::invalid_argument("limit");
    out.push_back(std::move(one));
  }
  return out;
}

json::object record_json(const TableRecord& record) {
  json::object out;
  json::array changes;
  for (const TableRecord::Change& change : record.changes) {
    changes.push_back({{"path", path_json(change.path)},
                       {"before", limit_json(change.before)},
                       {"after", limit_json(change.after)}});
  }
  out["id"] = record.id;
  out["table"] = record.table;
  out["state"] = record.state;
  out["reason"] = record.reason;
  out["by"] = record.by;
  out["at"] = to_ms(record.at);
  out["decided_by"] = record.decided_by;
  out["decided"] = to_ms(record.decided);
  out["changes"] = std::move(changes);
  if (!record.overtaken.empty()) out["overtaken"] = record.overtaken;
  return out;
}

TableRecord read_record(const json::object& from) {
  TableRecord out;
  out.id = member_text(from, "id");
  out.table = member_text(from, "table");
  out.state = member_text(from, "state");
  out.reason = member_text(from, "reason");
  out.by = member_text(from, "by");
  out.at = from_ms(member_number(from, "at"));
  out.decided_by = member_text(from, "decided_by");
  out.decided = from_ms(member_number(from, "decided"));
  if (from.contains("overtaken")) out.overtaken = member_text(from, "overtaken");
  for (const json::value& each : from.at("changes").as_array()) {
    TableRecord::Change change;
    change.path = read_path_of(each.as_object());
    if (!read_limit(each.at("before"), change.before) ||
        !read_limit(each.at("after"), change.after))
      throw std::invalid_argument("limit");
    out.changes.push_back(std::move(change));
  }
  return out;
}

/// Whether one has rejected what the other has approved.
bool disagree(const TableRecord& ours, const TableRecord& theirs) {
  const auto rejected = [](const TableRecord& record) {
    return record.state == TableRecord::kRejected;
  };
  return ours.state != TableRecord::kPending && theirs.state != TableRecord::kPending &&
         rejected(ours) != rejected(theirs);
}

}  // namespace

const TableRecord* TableHistory::find(std::string_view table, std::string_view id) const noexcept {
  const auto found = std::find_if(records_.begin(), records_.end(), [&](const TableRecord& record) {
    return record.table == table && record.id == id;
  });
  return found == records_.end() ? nullptr : &*found;
}

const TableRecord* TableHistory::last_applied(std::string_view table) const noexcept {
  const auto found =
      std::find_if(records_.rbegin(), records_.rend(), [&](const TableRecord& record) {
        return record.table == table && record.state == TableRecord::kApplied;
      });
  return found == records_.rend() ? nullptr : &*found;
}

std::size_t TableHistory::pending() const noexcept {
  return static_cast<std::size_t>(std::count_if(
      records_.begin(), records_.end(),
      [](const TableRecord& record) { return record.state == TableRecord::kPending; }));
}

std::vector<config::TableEdit> TableHistory::with(
    const std::string& table, const std::vector<config::TableCell>& cells) const {
  std::vector<config::TableEdit> out = edits_;
  auto edit = std::find_if(out.begin(), out.end(),
                           [&](const config::TableEdit& each) { return each.table == table; });
  if (edit == out.end()) edit = out.insert(out.end(), config::TableEdit{table, {}});
  for (const config::TableCell& cell : cells) config::merge_cell(edit->cells, cell);
  return out;
}

std::string TableHistory::next_id(std::uint64_t& next) const {
  std::string out = std::to_string(next++);
  if (!mark_.empty()) out.append(1, '-').append(mark_);
  return out;
}

std::string TableHistory::add(TableRecord record) {
  record.id = next_id(next_);
  std::string id = record.id;
  unsent_.emplace(record.table, id);
  records_.push_back(std::move(record));
  // Pending changes are kept: kPendingMax bounds their number.
  while (records_.size() > kRecordsMax) {
    const auto oldest = std::find_if(records_.begin(), records_.end(), [](const TableRecord& each) {
      return each.state != TableRecord::kPending;
    });
    if (oldest == records_.end()) break;
    unsent_.erase({oldest->table, oldest->id});
    records_.erase(oldest);
  }
  return id;
}

void TableHistory::set_state(std::string_view table, std::string_view id, std::string state,
                             std::string by, TimePoint at) {
  for (TableRecord& record : records_) {
    if (record.table != table || record.id != id) continue;
    unsent_.emplace(record.table, record.id);
    record.state = std::move(state);
    record.decided_by = std::move(by);
    record.decided = at;
    return;
  }
}

std::string TableHistory::to_json() const {
  json::object out;
  json::array edits, records, untold;
  for (const config::TableEdit& edit : edits_) {
    edits.push_back({{"table", edit.table}, {"cells", cells_json(edit.cells)}});
  }
  for (const TableRecord& record : records_) records.push_back(record_json(record));
  out["weir_tables"] = 1;
  out["next"] = next_;
  out["edits"] = std::move(edits);
  out["records"] = std::move(records);
  for (const auto& [table, id] : unsent_) untold.push_back(json::array{table, id});
  out["untold"] = std::move(untold);
  return json::serialize(out) + "\n";
}

bool TableHistory::from_json(std::string_view text) {
  try {
    const json::value whole = json::parse({text.data(), text.size()});
    TableHistory out;
    out.mark_ = mark_;
    if (whole.at("weir_tables").as_int64() != 1) return false;
    out.next_ = read_next(whole);
    for (const json::value& each : whole.at("edits").as_array()) {
      config::TableEdit edit;
      edit.table = member_text(each.as_object(), "table");
      edit.cells = cells_from(each.at("cells"));
      out.edits_.push_back(std::move(edit));
    }
    for (const json::value& each : whole.at("records").as_array())
      out.records_.push_back(read_record(each.as_object()));
    const json::value* const untold = whole.as_object().if_contains("untold");
    for (const json::value& each : untold != nullptr ? untold->as_array() : json::array()) {
      out.unsent_.emplace(std::string(each.as_array().at(0).as_string()),
                          std::string(each.as_array().at(1).as_string()));
    }
    *this = std::move(out);
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

bool TableHistory::has_unsent(std::string_view table) const {
  return std::any_of(unsent_.begin(), unsent_.end(),
                     [&](const auto& each) { return each.first == table; });
}

void TableHistory::mark_sent(std::string_view table) {
  std::erase_if(unsent_, [&](const auto& each) { return each.first == table; });
}

std::vector<std::string> TableHistory::tables() const {
  std::set<std::string> out;
  for (const config::TableEdit& edit : edits_) out.insert(edit.table);
  for (const TableRecord& record : records_) out.insert(record.table);
  return {out.begin(), out.end()};
}

std::string TableHistory::table_text(const std::string& table, std::size_t most) const {
  json::object out;
  out["cells"] = json::array();
  for (const config::TableEdit& edit : edits_) {
    if (edit.table == table) out["cells"] = cells_json(edit.cells);
  }
  out["next"] = next_;
  std::size_t size = json::serialize(out).size() + 32;
  if (size > most) return {};
  std::vector<json::value> last;  // the newest first
  for (auto record = records_.rbegin(); record != records_.rend(); ++record) {
    if (record->table != table) continue;
    json::value one = record_json(*record);
    size += json::serialize(one).size() + 1;
    if (size > most) break;
    last.push_back(std::move(one));
  }
  out["records"] = json::array(last.rbegin(), last.rend());
  return json::serialize(out);
}

bool TableHistory::merge(const std::string& table, std::string_view text,
                         std::vector<TableRecord>* overtaken) {
  std::vector<config::TableCell> cells;
  std::deque<TableRecord> records;  // of this table, as it will be
  std::uint64_t next = next_;
  try {
    const json::value whole = json::parse({text.data(), text.size()});
    cells = cells_from(whole.at("cells"));
    next = std::max(next, read_next(whole));
    for (const json::value& each : whole.at("records").as_array()) {
      records.push_back(read_record(each.as_object()));
      if (records.back().table != table || records.size() > kRecordsMax) return false;
    }
  } catch (const std::exception&) {
    return false;
  }
  const auto same = [&](const TableRecord& ours) {
    return std::find_if(records.begin(), records.end(), [&](const TableRecord& theirs) {
      return theirs.id == ours.id && theirs.at == ours.at && theirs.by == ours.by;
    });
  };
  std::deque<TableRecord> kept;  // older than the records of the message
  std::set<std::pair<std::string, std::string>, std::less<>> untold;
  for (TableRecord& ours : records_) {
    if (ours.table != table) continue;
    const bool is_unsent = unsent_.contains({table, ours.id});
    const auto theirs = same(ours);
    if (!is_unsent) {
      if (theirs == records.end()) kept.push_back(ours);
      continue;
    }
    // The first decision holds; taking back an applied change comes after it.
    const bool decided = theirs != records.end() && theirs->state != TableRecord::kPending;
    if (decided && ours.state != TableRecord::kUndone) {
      if (!theirs->overtaken.empty()) continue;
      theirs->overtaken = ours.overtaken;
      if (disagree(ours, *theirs)) {
        theirs->overtaken =
            (ours.state == TableRecord::kRejected ? "rejected by " : "approved by ") +
            ours.decided_by;
        if (overtaken != nullptr) overtaken->push_back(*theirs);
      }
      // The others are to know as well.
      if (!theirs->overtaken.empty()) untold.emplace(table, ours.id);
      continue;
    }
    const bool holds = ours.state == TableRecord::kApplied || ours.state == TableRecord::kUndo;
    if (holds && !decided) {
      for (const TableRecord::Change& change : ours.changes)
        config::merge_cell(cells, {change.path, change.after});
    }
    TableRecord next_ours = ours;
    if (theirs != records.end()) {
      *theirs = std::move(next_ours);
    } else {
      const bool taken = std::any_of(records.begin(), records.end(),
                                     [&](const TableRecord& each) { return each.id == ours.id; });
      if (taken) next_ours.id = next_id(next);
      untold.emplace(table, next_ours.id);
      records.push_back(std::move(next_ours));
      continue;
    }
    untold.emplace(table, ours.id);
  }
  // An id belongs to one record forever: that of a kept record is never given to another.
  std::erase_if(kept, [&](const TableRecord& old) {
    return std::any_of(records.begin(), records.end(),
                       [&](const TableRecord& each) { return each.id == old.id; });
  });
  std::erase_if(records_, [&](const TableRecord& each) { return each.table == table; });
  records_.insert(records_.end(), kept.begin(), kept.end());
  records_.insert(records_.end(), records.begin(), records.end());
  std::stable_sort(records_.begin(), records_.end(),
                   [](const TableRecord& a, const TableRecord& b) { return a.at < b.at; });
  while (records_.size() > kRecordsMax) records_.pop_front();
  std::erase_if(unsent_, [&](const auto& each) { return each.first == table; });
  unsent_.merge(untold);
  std::erase_if(edits_, [&](const config::TableEdit& edit) { return edit.table == table; });
  if (!cells.empty()) edits_.push_back({table, std::move(cells)});
  next_ = next;
  return true;
}

std::string TableHistory::load(const std::string& path) {
  const auto text = read_file(path, kFileMax);
  if (!text) {
    // If the directory itself is unusable, weir runs without one, and reports it.
    return ::access(path.c_str(), F_OK) != 0 ? std::string() : text.error().message();
  }
  return from_json(*text) ? std::string() : "it does not hold tables";
}

std::string TableHistory::save(const std::string& path) const {
  auto file = FileReplacement::begin(path, 0600);
  if (!file) return file.error().message();
  if (auto done = file->append(to_json()); !done) return done.error().message();
  const auto done = file->commit();
  return done ? std::string() : done.error().message();
}

}  // namespace weir::app
