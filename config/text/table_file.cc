#include "config/text/table_file.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "config/text/units.h"
#include "config/text/yaml_text.h"
#include "core/chars/ascii.h"
#include "core/words.h"

namespace weir::config {
namespace {

constexpr std::size_t kProblemsMax = 10;
constexpr std::size_t kRowsMax = 1'000'000;

/// Splits one line; false: a quote that does not end, or text after one.
bool split(std::string_view line, std::vector<std::string>& out) {
  out.clear();
  std::size_t at = 0;
  while (true) {
    std::string cell;
    if (at < line.size() && line[at] == '"') {
      ++at;
      while (true) {
        if (at >= line.size()) return false;
        if (line[at] != '"') {
          cell += line[at++];
        } else if (at + 1 < line.size() && line[at + 1] == '"') {
          cell += '"';
          at += 2;
        } else {
          ++at;
          break;
        }
      }
      if (at < line.size() && line[at] != ',') return false;
    } else {
      const std::size_t comma = std::min(line.find(',', at), line.size());
      cell = ascii::trimmed(line.substr(at, comma - at), " ");
      at = comma;
    }
    out.push_back(std::move(cell));
    if (at >= line.size()) return true;
    ++at;  // the comma
  }
}

struct Line {
  std::vector<std::string> values;
  Number limit;
  std::size_t number;
};

/// The last child if it is of this value, else a new one: lines come sorted.
TableNode& descend(TableNode& node, const std::string& value, const Where& where) {
  if (!node.children.empty() && node.children.back().value.value == value) {
    return node.children.back().node;
  }
  TableChild& made = node.children.emplace_back();
  made.value = {value, where};
  made.node.where = where;
  return made.node;
}

}  // namespace

void fill_table(TableDef& table, std::string_view text, Problems& problems) {
  const Where where = table.file->where;
  std::size_t told = 0;
  const auto tell = [&](std::size_t line, const std::string& what) {
    if (++told > kProblemsMax) return;
    problems.error(where, table.file->value + ":" + std::to_string(line) + ": " + what);
  };
  std::vector<std::string> cells;
  std::vector<Line> lines;
  std::size_t line_number = 0;
  bool first = true;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++line_number;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty() || line.front() == '#') continue;
    if (!split(line, cells)) {
      tell(line_number, "a quote that does not end");
      continue;
    }
    if (cells.size() != table.by.size() + 1) {
      tell(line_number, "this line has " + std::to_string(cells.size()) + " columns, and " +
                            std::to_string(table.by.size() + 1) +
                            " are wanted: the fields of \"by\", "
                            "then the limit");
      continue;
    }
    const bool may_be_header = std::exchange(first, false);
    if (may_be_header &&
        std::equal(table.by.begin(), table.by.end(), cells.begin(),
                   [](const Text& by, const std::string& cell) { return by.value == cell; })) {
      continue;
    }
    std::optional<Number> limit;
    if (cells.back() == kUnlimited) {
      limit = Number::real(std::numeric_limits<double>::infinity());
    } else if (const auto number = parse_number(cells.back())) {
      limit = *number.value;
    } else if (parse_data_number(cells.back())) {
      tell(line_number, number.message + ": " + number.hint);
      continue;
    } else {
      std::string what = quoted(cells.back()) + " is not a limit: a number or unlimited";
      if (may_be_header) what += "; a header names the fields of \"by\", in their order";
      tell(line_number, what);
      continue;
    }
    if (lines.size() == kRowsMax) return tell(line_number, "a table has at most 1,000,000 lines");
    cells.pop_back();
    lines.push_back({std::move(cells), *limit, line_number});
  }
  std::stable_sort(lines.begin(), lines.end(),
                   [](const Line& a, const Line& b) { return a.values < b.values; });
  for (const Line& line : lines) {
    TableNode* node = &table.values;
    for (const std::string& value : line.values) node = &descend(*node, value, where);
    if (node->limit) tell(line.number, "these values are in a line before this one");
    node->limit = line.limit;
  }
  if (lines.empty() && told == 0) tell(line_number, "the file has no lines with limits");
}

}  // namespace weir::config
