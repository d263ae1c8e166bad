#include "app/tools/ctl/ctl_list_file.h"

#include <algorithm>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <charconv>

#include "app/support/columns.h"
#include "config/text/units.h"
#include "core/chars/csv.h"
#include "core/utf8.h"
#include "core/visible.h"
#include "limiter/lists/list_records.h"

namespace weir::app {
namespace {

namespace json = boost::json;

constexpr std::string_view kKnown[] = {"until", "for", "why", "effect"};

// The other members of an entry in GET /v1/lists/{list}, which an export contains as well.
constexpr std::string_view kShown[] = {
    "key",   "since",  "by",           "times",  "level", "list",   "policy", "value",
    "limit", "asleep", "left_seconds", "static", "kind",  "shadow", "how",    "commands"};

bool is_shown(std::string_view name) {
  return std::find(std::begin(kShown), std::end(kShown), name) != std::end(kShown);
}

bool is_known(std::string_view name) {
  return std::find(std::begin(kKnown), std::end(kKnown), name) != std::end(kKnown);
}

/// The sign that seems to separate the cells of the first record instead of commas; empty: none.
/// Spreadsheets write semicolons where the comma is a decimal sign.
std::string_view other_separator(const std::vector<std::string>& cells,
                                 const std::vector<std::string>& parts) {
  if (cells.size() != 1) return {};
  for (const std::string_view sign : {";", "\t"}) {
    std::size_t pieces = 0;
    for (std::string_view rest = cells.front(); !rest.empty(); ++pieces) {
      const std::string_view piece = rest.substr(0, rest.find(sign));
      const bool is_column = piece == "key" || is_known(piece) ||
                             std::find(parts.begin(), parts.end(), piece) != parts.end();
      const bool is_date = pieces == 1 && config::parse_date(piece);
      if ((is_column || is_date) && piece.size() != cells.front().size()) return sign;
      rest.remove_prefix(std::min(piece.size() + 1, rest.size()));
    }
    if (pieces > 1 && parts.size() > 1) return sign;
  }
  return {};
}

/// Why the bytes are no UTF-8; empty: they are.
std::string wrong_bytes(std::string_view text) {
  std::size_t line = 1;
  const bool wide = text.size() > 1 && (text[0] == '\0' || text[1] == '\0');
  while (!text.empty() && !wide) {
    const Utf8 next = decode_utf8(text);
    if (next.length == 0) break;
    if (next.code == '\n') ++line;
    text.remove_prefix(next.length);
  }
  if (text.empty()) return {};
  return "line " + std::to_string(line) + " is not UTF-8: save the file as UTF-8";
}

std::string read_csv(std::string_view text, const std::vector<std::string>& parts,
                     json::array& entries) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  std::vector<std::string> columns, cells;
  for (std::size_t line = 1; !text.empty(); ++line) {
    const std::string place = "record " + std::to_string(line) + ": ";
    if (!take_csv_record(text, cells)) return place + "a quote is not closed";
    if (cells.size() == 1 && cells.front().empty()) continue;
    for (std::string& cell : cells) {
      if (cell.starts_with('\'') && is_formula(cell)) cell.erase(0, 1);
    }
    if (columns.empty()) {
      if (const auto sign = other_separator(cells, parts); !sign.empty())
        return place + "commas separate the columns, not " + (sign == ";" ? "semicolons" : "tabs");
      // In a file without a header, the columns after the key's parts are a date and a reason.
      bool heading = cells.size() > parts.size() && is_known(cells[parts.size()]);
      for (std::string& cell : cells) {
        if (parts.size() == 1 && cell == "key") cell = parts.front();
        heading = heading || std::find(parts.begin(), parts.end(), cell) != parts.end();
      }
      columns = heading ? cells : parts;
      if (!heading) columns.insert(columns.end(), {"until", "why"});
      for (const std::string& part : parts) {
        if (std::count(columns.begin(), columns.end(), part) != 1)
          return "the header has no column \"" + part + "\", or has it twice";
      }
      if (heading) continue;
    }
    if (cells.size() > columns.size()) return place + "more cells than columns";
    json::object entry;
    json::array key;
    for (const std::string& part : parts) {
      const auto at = static_cast<std::size_t>(std::find(columns.begin(), columns.end(), part) -
                                               columns.begin());
      if (at >= cells.size()) return place + "no \"" + part + "\"";
      key.emplace_back(cells[at]);
    }
    entry["key"] = std::move(key);
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (is_known(columns[i]) && !cells[i].empty()) entry[columns[i]] = cells[i];
    }
    entries.push_back(std::move(entry));
  }
  return {};
}

std::string read_json(std::string_view text, json::array& entries) {
  boost::system::error_code broken;
  json::value whole = json::parse({text.data(), text.size()}, broken);
  if (broken) return "this is not JSON: " + broken.message();
  const json::value* rows = whole.is_array() ? &whole : member(whole, "entries");
  if (rows == nullptr || !rows->is_array()) return "a list of entries, or an object with `entries`";
  for (const json::value& row : rows->get_array()) {
    if (!row.is_object())
      return "entry " + std::to_string(entries.size() + 1) + " is not an object";
    json::object entry;
    for (const auto& [name, value] : row.get_object()) {
      const std::string_view key(name.data(), name.size());
      if (!is_known(key) && !is_shown(key)) {
        return "entry " + std::to_string(entries.size() + 1) + ": unknown member \"" +
               std::string(key.substr(0, 64)) + "\"; known are key, for, until, why, effect";
      }
      if (!value.is_null() && (key == "key" || is_known(key))) entry[name] = value;
    }
    entries.push_back(std::move(entry));
  }
  return {};
}

std::string csv_cell(std::string_view text) {
  std::string out;
  append_csv_cell(out, text);
  return out;
}

std::string reason_of(const json::value& entry) {
  const std::string why = text_in(entry, "why");
  if (!why.empty() || text_in(entry, "policy").empty()) return why;
  std::string out = text_in(entry, "policy");
  if (member(entry, "limit") != nullptr)
    out += " " + cell(entry, "value") + "/" + cell(entry, "limit");
  return out;
}

}  // namespace

std::string read_list_file(std::string_view text, const std::vector<std::string>& parts,
                           json::array& entries) {
  if (std::string wrong = wrong_bytes(text); !wrong.empty()) return wrong;
  const std::size_t first = text.find_first_not_of(" \t\r\n\xef\xbb\xbf");
  if (first == std::string_view::npos) return {};
  if (text[first] == '{' || text[first] == '[') return read_json(text.substr(first), entries);
  return read_csv(text, parts, entries);
}

namespace {

bool has_cut_key(const json::value& entry) {
  const json::array& key = items(entry, "key");
  return std::any_of(key.begin(), key.end(), [](const json::value& part) {
    return part.is_string() && limiter::is_cut(part.get_string());
  });
}

}  // namespace

std::string entry_of_file(const std::string& problem, std::size_t before) {
  constexpr std::string_view kEntry = "entry ";
  if (!problem.starts_with(kEntry)) return problem;
  std::size_t n = 0;
  const char* const end = problem.data() + problem.size();
  const auto [rest, error] = std::from_chars(problem.data() + kEntry.size(), end, n);
  if (error != std::errc()) return problem;
  return std::string(kEntry) + std::to_string(n + before) + std::string(rest, end);
}

std::string ListFileWriter::page(const json::value& answer) {
  std::string out;
  if (!begun_) {
    begun_ = true;
    const json::array& lists = items(answer, "lists");
    several_ = lists.size() > 1;
    if (json_) {
      out += "{\"entries\":[";
    } else {
      if (!lists.empty()) {
        for (const json::value& part : items(lists.front(), "of"))
          out += csv_cell(plain(part)) + ",";
      }
      out += std::string("until,why") + (several_ ? ",effect" : "") + ",since,by,times\n";
    }
  }
  for (const json::value& entry : items(answer, "entries")) {
    if (is_true(entry, "static")) continue;
    if (has_cut_key(entry)) {
      ++cut_;
      continue;
    }
    if (json_) {
      json::object row;
      row["key"] = *member(entry, "key");
      row["until"] = *member(entry, "until");
      row["why"] = reason_of(entry);
      if (several_) row["effect"] = text_in(entry, "effect");
      row["since"] = text_in(entry, "since");
      row["by"] = text_in(entry, "by");
      row["times"] = count_of(entry, "times");
      out += (rows_ == 0 ? "\n" : ",\n") + escape_hidden(json::serialize(row));
    } else {
      for (const json::value& part : items(entry, "key")) out += csv_cell(part.get_string()) + ",";
      out += text_in(entry, "until") + "," + csv_cell(reason_of(entry)) +
             (several_ ? "," + text_in(entry, "effect") : "") + "," + text_in(entry, "since") +
             "," + csv_cell(text_in(entry, "by")) + "," + std::to_string(count_of(entry, "times")) +
             "\n";
    }
    ++rows_;
  }
  return out;
}

std::string ListFileWriter::end() {
  return json_ ? std::string(rows_ == 0 ? "]}\n" : "\n]}\n") : std::string();
}

}  // namespace weir::app
