#include "app/tools/help/roff.h"

#include <algorithm>
#include <vector>

#include "core/chars/ascii.h"

namespace weir::app {
namespace {

void append_roff(std::string_view text, std::string& out) {
  for (const char c : text) {
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
  }
}

/// Code in bold, `*words*` in italics, links as their text, `\|` as a bar.
std::string inline_text(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\\' && i + 1 < text.size() && text[i + 1] == '|') {
      out += '|';
      ++i;
    } else if (c == '`') {
      const std::size_t end = std::min(text.find('`', i + 1), text.size());
      std::string code(text.substr(i + 1, end - i - 1));
      for (std::size_t at = 0; (at = code.find("\\|", at)) != std::string::npos;) code.erase(at, 1);
      out += "\\fB";
      append_roff(code, out);
      out += "\\fR";
      i = end;
    } else if (c == '[') {
      const std::size_t middle = text.find("](", i);
      const std::size_t end = middle == std::string_view::npos ? middle : text.find(')', middle);
      if (end == std::string_view::npos) {
        out += c;
        continue;
      }
      out += inline_text(text.substr(i + 1, middle - i - 1));
      i = end;
    } else if (c == '*' && i + 1 < text.size() && ascii::is_letter(text[i + 1])) {
      const std::size_t end = text.find('*', i + 1);
      if (end == std::string_view::npos) {
        out += c;
        continue;
      }
      out += "\\fI";
      append_roff(text.substr(i + 1, end - i - 1), out);
      out += "\\fR";
      i = end;
    } else {
      append_roff(text.substr(i, 1), out);
    }
  }
  // A control character at the beginning of a line would be a request.
  if (out.starts_with('.') || out.starts_with('\'')) out.insert(0, "\\&");
  return out;
}

std::vector<std::string_view> cells_of(std::string_view row) {
  std::vector<std::string_view> out;
  row.remove_prefix(1);
  bool code = false;
  std::size_t from = 0;
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (row[i] == '`') code = !code;
    const bool escaped = i > 0 && row[i - 1] == '\\';
    if (row[i] != '|' || escaped) continue;
    out.push_back(ascii::trimmed(row.substr(from, i - from), " "));
    from = i + 1;
  }
  return out;
}

/// A row's term, then its cells, each with its heading.
void append_row(const std::vector<std::string_view>& heads,
                const std::vector<std::string_view>& cells, std::string& out) {
  if (cells.empty()) return;
  out += ".TP\n" + inline_text(cells.front()) + "\n";
  std::string about;
  // The meaning first, which is in the last column.
  if (cells.size() > 1) about = inline_text(cells.back());
  for (std::size_t i = 1; i + 1 < cells.size(); ++i) {
    if (cells[i].empty()) continue;
    std::string head(i < heads.size() ? heads[i] : std::string_view());
    if (!head.empty()) head[0] = ascii::upper(head[0]);
    if (!about.empty()) about += "\n.br\n";
    about += (head.empty() ? "" : inline_text(head) + ": ") + inline_text(cells[i]);
  }
  out += (about.empty() ? "\\&" : about) + "\n";
}

}  // namespace

std::string roff_text(std::string_view text) {
  std::string out;
  append_roff(text, out);
  if (out.starts_with('.') || out.starts_with('\'')) out.insert(0, "\\&");
  return out;
}

std::string roff_of_markdown(std::string_view markdown) {
  std::string out;
  bool in_code = false, in_paragraph = false;
  std::vector<std::string_view> heads;  // of the table that is read; empty: none is
  while (!markdown.empty()) {
    const std::size_t end = std::min(markdown.find('\n'), markdown.size());
    const std::string_view line = markdown.substr(0, end);
    markdown.remove_prefix(std::min(end + 1, markdown.size()));
    if (line.starts_with("```")) {
      out += in_code ? ".EE\n" : ".PP\n.EX\n";
      in_code = !in_code;
      continue;
    }
    if (in_code) {
      out += roff_text(line) + "\n";
      continue;
    }
    if (line.starts_with('|')) {
      if (line.starts_with("|---") || line.starts_with("| ---")) continue;
      const auto cells = cells_of(line);
      if (heads.empty()) {
        heads = cells;
        if (heads.empty()) heads.emplace_back();
      } else {
        append_row(heads, cells, out);
      }
      in_paragraph = false;
      continue;
    }
    heads.clear();
    if (line.empty()) {
      in_paragraph = false;
    } else if (line.starts_with("# ")) {
      in_paragraph = false;  // the page has a title
    } else if (line.starts_with("## ")) {
      std::string head(line.substr(3));
      std::transform(head.begin(), head.end(), head.begin(), ascii::upper);
      out += ".SH \"" + inline_text(head) + "\"\n";
      in_paragraph = false;
    } else if (line.starts_with("###")) {
      out += ".SS \"" + inline_text(ascii::trimmed(line.substr(line.find(' ')), " ")) + "\"\n";
      in_paragraph = false;
    } else if (line.starts_with("- ")) {
      out += ".IP \\(bu 2\n" + inline_text(line.substr(2)) + "\n";
      in_paragraph = true;
    } else {
      if (!in_paragraph) out += ".PP\n";
      in_paragraph = true;
      out += inline_text(ascii::trimmed(line, " ")) + "\n";
    }
  }
  return out;
}

}  // namespace weir::app
