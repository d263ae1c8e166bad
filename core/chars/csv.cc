#include "core/chars/csv.h"

#include <algorithm>

namespace weir {

bool is_formula(std::string_view cell) noexcept {
  cell.remove_prefix(std::min(cell.find_first_not_of('\''), cell.size()));
  return !cell.empty() && std::string_view("=+-@\t\r").find(cell.front()) != cell.npos &&
         cell.find_first_not_of("+-.0123456789") != cell.npos;
}

void append_csv_cell(std::string& out, std::string_view cell) {
  const bool formula = is_formula(cell);
  if (!formula && cell.find_first_of(",\"\r\n") == cell.npos && !cell.starts_with(' ')) {
    out += cell;
    return;
  }
  out += formula ? "\"'" : "\"";
  for (const char c : cell) out.append(c == '"' ? 2 : 1, c);
  out += '"';
}

bool take_csv_record(std::string_view& rest, std::vector<std::string>& cells) {
  cells.assign(1, {});
  bool quoted = false;
  std::size_t i = 0;
  for (; i < rest.size(); ++i) {
    const char c = rest[i];
    if (quoted) {
      if (c != '"') {
        cells.back() += c;
      } else if (i + 1 < rest.size() && rest[i + 1] == '"') {
        cells.back() += '"';
        ++i;
      } else {
        quoted = false;
      }
    } else if (c == '"' && cells.back().empty()) {
      quoted = true;
    } else if (c == ',') {
      cells.emplace_back();
    } else if (c == '\n') {
      ++i;
      break;
    } else if (c != '\r' || (i + 1 < rest.size() && rest[i + 1] != '\n')) {
      cells.back() += c;
    }
  }
  rest.remove_prefix(i);
  return !quoted;
}

}  // namespace weir
