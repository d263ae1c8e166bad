#include "config/text/render.h"

#include <algorithm>
#include <set>

#include "config/text/secrets.h"
#include "core/chars/hex.h"
#include "core/text.h"
#include "core/utf8.h"
#include "core/visible.h"

namespace weir::config {
namespace {

constexpr std::size_t kWidest = 160;  // columns of a line that are shown

/// The lines of a file: the offsets of their first bytes, and how to cover them.
struct Lines {
  std::vector<std::size_t> starts;
  std::vector<LineMask> masks;
};
Lines lines_of(std::string_view text) {
  Lines out;
  LineSections sections(text);
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t end = std::min(text.find('\n', from), text.size());
    out.starts.push_back(from);
    out.masks.push_back(sections.next(text.substr(from, end - from)));
    from = end + 1;
  }
  return out;
}

bool continues(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

void append_byte(std::string& out, char c) {
  append_hex(out += "\\x", static_cast<unsigned char>(c), 2);
}

/// Length of the UTF-8 sequence at `i`; 0 if it is malformed, or nothing for a terminal.
std::size_t shown_sequence(std::string_view text, std::size_t i) {
  const auto [code, length] = decode_utf8(text.substr(i));
  return weir::is_hidden(code) ? 0 : length;
}

/// Text that a terminal may be given.
std::string printable(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t n = shown_sequence(text, i);
    if (n == 0) {
      append_byte(out, text[i++]);
    } else {
      out.append(text, i, n);
      i += n;
    }
  }
  return out;
}

/// A line as it is shown: `at` and `to` are the columns where the underlined bytes begin and end.
struct Shown {
  std::string text;
  std::size_t at = 0, to = 0;
};
Shown show(std::string_view line, std::size_t begin, std::size_t end) {
  // A long line is cut to a stretch of bytes around the place before anything else looks at it.
  std::size_t first = 0;
  std::size_t last = line.size();
  if (line.size() > kWidest) {
    first = begin > kWidest / 4 ? begin - kWidest / 4 : 0;
    while (first > 0 && continues(line[first])) --first;
    last = std::min(line.size(), first + kWidest);
    while (last < line.size() && continues(line[last])) ++last;
  }
  Shown out;
  std::size_t width = 0;
  const auto put = [&](std::string_view piece, std::size_t columns) {
    out.text += piece;
    width += columns;
  };
  if (first > 0) put("...", 3);
  for (std::size_t i = first; i < last;) {
    if (i <= begin) out.at = width;
    if (i <= end) out.to = width;
    const std::size_t n = shown_sequence(line, i);
    if (line[i] == '\t') {
      const std::size_t blanks = 8 - width % 8;
      put(std::string(blanks, ' '), blanks);
      ++i;
    } else if (n == 0) {
      std::string hex;
      append_byte(hex, line[i++]);
      put(hex, 4);
    } else {
      put(line.substr(i, n), 1);
      i += n;
    }
  }
  if (last <= begin) out.at = width;
  if (last <= end) out.to = width;
  if (last < line.size()) put("...", 3);
  return out;
}

class Human {
 public:
  Human(const std::vector<FileView>& files, bool colour)
      : files_(files), colour_(colour), lines_(files.size()) {}

  void add(const Problem& problem) {
    const bool error = problem.severity == Problem::Severity::error;
    const Where& where = problem.where;
    const FileView file = where.file < files_.size() ? files_[where.file] : FileView{};
    const bool has_text = where.line > 0 && !file.text.empty();
    paint(kBold);
    if (!file.name.empty()) out_ += printable(file.name) + ":";
    if (has_text) out_ += std::to_string(where.line) + ":" + std::to_string(where.column) + ":";
    if (!file.name.empty()) out_ += ' ';
    paint(error ? kRed : kYellow);
    out_ += error ? "error: " : "warning: ";
    paint(kPlain);
    out_ += printable(problem.message) + "\n";
    if (!has_text || !excerpt(problem, file)) {
      if (!problem.hint.empty()) out_ += "    " + printable(problem.hint) + "\n";
    }
  }
  std::string take() { return std::move(out_); }

 private:
  static constexpr std::string_view kBold = "\x1b[1m", kRed = "\x1b[31m", kYellow = "\x1b[33m",
                                    kGreen = "\x1b[32m", kPlain = "\x1b[0m";
  void paint(std::string_view code) {
    if (colour_) out_ += code;
  }

  bool excerpt(const Problem& problem, const FileView& file) {
    const Where& where = problem.where;
    if (lines_[where.file].starts.empty()) lines_[where.file] = lines_of(file.text);
    const std::vector<std::size_t>& starts = lines_[where.file].starts;
    if (where.line > starts.size()) return false;
    const std::size_t from = starts[where.line - 1];
    std::size_t to = where.line < starts.size() ? starts[where.line] - 1 : file.text.size();
    if (to > from && file.text[to - 1] == '\r') --to;
    const std::string line = without_secrets(file.text.substr(from, to - from),
                                             lines_[where.file].masks[where.line - 1]);
    const std::size_t begin =
        std::min<std::size_t>(where.column > 0 ? where.column - 1 : 0, line.size());
    const Shown shown = show(line, begin, std::min<std::size_t>(begin + where.length, line.size()));
    const std::string number = std::to_string(where.line);
    const std::string gutter(std::max<std::size_t>(number.size(), 2), ' ');
    out_ +=
        " " + std::string(gutter.size() - number.size(), ' ') + number + " | " + shown.text + "\n";
    out_ += " " + gutter + " | " + std::string(shown.at, ' ');
    paint(kGreen);
    out_ += "^" + std::string(shown.to > shown.at + 1 ? shown.to - shown.at - 1 : 0, '~');
    paint(kPlain);
    if (!problem.hint.empty()) out_ += " " + printable(problem.hint);
    out_ += "\n";
    return true;
  }

  const std::vector<FileView>& files_;
  bool colour_;
  std::vector<Lines> lines_;
  std::string out_;
};

std::string count_of(std::size_t n, std::string_view what) {
  return std::to_string(n) + " " + std::string(what) + (n == 1 ? "" : "s");
}

}  // namespace

std::string render_human(const Problems& problems, const std::vector<FileView>& files,
                         bool colour) {
  Human human(files, colour);
  for (const Problem& problem : problems.all()) human.add(problem);
  std::string out = human.take();
  if (const std::string summary = render_summary(problems); !summary.empty()) out += summary + "\n";
  return out;
}

std::string render_summary(const Problems& problems) {
  if (problems.all().empty()) return {};
  std::set<std::uint32_t> files;
  for (const Problem& problem : problems.all()) files.insert(problem.where.file);
  std::string out;
  if (problems.errors() > 0) out += count_of(problems.errors(), "error");
  if (problems.warnings() > 0)
    out += (out.empty() ? "" : ", ") + count_of(problems.warnings(), "warning");
  return out + " in " + count_of(files.size(), "file");
}

std::string render_json(const Problems& problems, const std::vector<FileView>& files) {
  std::string out = "[";
  for (const Problem& problem : problems.all()) {
    const Where& where = problem.where;
    const std::string_view file =
        where.file < files.size() ? files[where.file].name : std::string_view{};
    out += out.size() == 1 ? "\n" : ",\n";
    out += R"(  {"file":)";
    append_json(out, file);
    out += R"(,"line":)" + std::to_string(where.line) + R"(,"column":)" +
           std::to_string(where.column) + R"(,"length":)" + std::to_string(where.length) +
           R"(,"severity":")" +
           (problem.severity == Problem::Severity::error ? "error" : "warning") + R"(","message":)";
    append_json(out, problem.message);
    out += R"(,"hint":)";
    append_json(out, problem.hint);
    out += '}';
  }
  return out + (out.size() == 1 ? "]\n" : "\n]\n");
}

}  // namespace weir::config
