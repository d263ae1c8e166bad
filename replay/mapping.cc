#include "replay/mapping.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>

#include "config/text/time_form.h"
#include "policies/lang/extractors.h"

namespace weir::replay {
namespace {

using MappedPart = Mapping::Part;

struct PartRow {
  std::string_view word;  ///< ends with a dot: more follows
  MappedPart part;
  std::string_view more = {};  ///< the text that may follow
};
constexpr PartRow kParts[] = {
    {"ts", MappedPart::time},
    {"time", MappedPart::time},
    {"ts.", MappedPart::time, "FORM"},
    {"time.", MappedPart::time, "FORM"},
    {"request", MappedPart::request},
    {"method", MappedPart::method},
    {"path", MappedPart::url},
    {"url", MappedPart::url},
    {"query", MappedPart::query},
    {"host", MappedPart::host},
    {"ip", MappedPart::ip},
    {"status", MappedPart::status},
    {"bytes", MappedPart::bytes},
    {"header.", MappedPart::header, "NAME"},
    {"cookie.", MappedPart::cookie, "NAME"},
    {"body.", MappedPart::body, "NAME"},
    {"response.header.", MappedPart::answer_header, "NAME"},
    {"response.body.", MappedPart::answer_body, "NAME"},
};

std::string known_parts() {
  std::string out;
  for (const PartRow& row : kParts)
    out += (out.empty() ? "" : ", ") + std::string(row.word) + std::string(row.more);
  return out;
}

bool is_header(MappedPart part) {
  return part == MappedPart::header || part == MappedPart::answer_header;
}
bool is_body(MappedPart part) {
  return part == MappedPart::body || part == MappedPart::answer_body;
}
bool is_named(MappedPart part) { return part >= MappedPart::header; }

/// The names of `usage.total_tokens`. Empty: it is no path to a member.
std::vector<std::string> path_of(std::string_view text) {
  std::vector<std::string> out;
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t dot = std::min(text.find('.', from), text.size());
    if (dot == from) return {};
    out.emplace_back(text.substr(from, dot - from));
    from = dot + 1;
  }
  return out;
}

/// Reads the rest of a part, after the dot, into `field`. Returns its problem; empty: none.
std::string read_more(const PartRow& row, std::string_view word, Mapping::Field& field) {
  const std::string_view more = word.substr(row.word.size());
  const std::string spelled = "\"" + std::string(word) + "\"";
  if (row.part == MappedPart::time) {
    TimePattern::Problem wrong;
    if (more.empty()) return spelled + " needs a form after the dot: " + config::known_time_forms();
    field.form = config::parse_time_form(more, wrong);
    return field.form ? std::string() : spelled + ": " + wrong.message + "; " + wrong.hint;
  }
  field.name = more;
  if (is_body(row.part)) {
    if (more.find('[') != std::string_view::npos) {
      return spelled + " is an element of a list, which has no column of its own; give the list, " +
             std::string(word.substr(0, word.find('['))) + "=NAME, from a member that is one";
    }
    field.path = path_of(more);
    return field.path.empty() ? spelled + " needs a name after " + std::string(row.word) +
                                    ", and one between two dots"
                              : std::string();
  }
  if (is_header(row.part)) field.name = policies::wire_header_name(more).value_or("");
  if (field.name.empty() || field.name.find('.') != std::string::npos)
    return spelled + " needs one name after " + std::string(row.word);
  return {};
}

bool begins_time_form(std::string_view text) {
  return text.starts_with("ts.") || text.starts_with("time.");
}

/// `ts.%d.%m.%Y, %H:%M=when`, `ts.[%d/%b/%Y]=when`, but not `ts.millis=when`.
bool begins_time_pattern(std::string_view text) {
  if (!begins_time_form(text)) return false;
  text.remove_prefix(text.find('.') + 1);
  const std::string_view form = text.substr(0, text.find_first_of("=,"));
  return find_word(kEpochUnits, form) == nullptr;
}

/// Whether the text after a comma is another part, and not more of the pattern of a time: words
/// without directives before a `=`.
bool begins_part(std::string_view text) {
  if (text.starts_with('"') || begins_time_form(text)) return true;
  const std::string_view word = text.substr(0, text.find('='));
  return word.size() < text.size() && !word.empty() && word.front() != ' ' &&
         word.find_first_of("%,") == std::string_view::npos;
}

/// `PART=NAME` of a mapping.
struct Piece {
  std::string_view text;  ///< as it is written
  std::string part, name;
};

/// The pieces of a mapping, one after another. A comma ends a piece, and its first `=` the part;
/// but the pattern of a time may contain both, and so may a text in double quotes.
class Pieces {
 public:
  Pieces(std::string_view text, std::string& problem) : text_(text), problem_(problem) {}

  bool any_left() const noexcept { return at_ <= text_.size(); }
  /// Nothing: the problem says why.
  std::optional<Piece> next() {
    begin_ = at_;
    Piece out;
    if (!read_part(out.part) || !read_name(out.name)) return std::nullopt;
    out.text = text_.substr(begin_, at_ - begin_);
    ++at_;  // the comma
    return out;
  }

 private:
  std::size_t comma_from(std::size_t from) const {
    return std::min(text_.find(',', from), text_.size());
  }
  bool is_at(char c) const { return at_ < text_.size() && text_[at_] == c; }

  bool refuse(std::size_t end, const char* why = "") {
    problem_ = "write PART=NAME, such as ts=time, not \"" +
               std::string(text_.substr(begin_, end - begin_)) + "\"" + why;
    return false;
  }

  bool read_part(std::string& out) {
    if (is_at('"')) {
      if (!read_quoted(out)) return false;
      end_ = comma_from(at_);
      if (out.empty() || !is_at('=')) return refuse(end_);
    } else {
      const bool is_pattern = begins_time_pattern(text_.substr(begin_));
      end_ = is_pattern ? end_of_pattern() : comma_from(begin_);
      const std::string_view piece = text_.substr(begin_, end_ - begin_);
      std::size_t equals = piece.find(is_pattern ? "=\"" : "=");
      if (is_pattern && equals == std::string_view::npos) equals = piece.rfind('=');
      if (equals == std::string_view::npos || equals == 0) return refuse(end_);
      out = piece.substr(0, equals);
      at_ = begin_ + equals;
    }
    ++at_;  // the `=`
    return true;
  }

  bool read_name(std::string& out) {
    if (is_at('"')) {
      if (!read_quoted(out)) return false;
      if (at_ < text_.size() && text_[at_] != ',')
        return refuse(comma_from(at_), "; behind quotes there must be a comma");
    } else {
      out = text_.substr(at_, end_ - at_);
      at_ = end_;
    }
    return !out.empty() || refuse(at_);
  }

  /// Where the piece ends whose part is the pattern of a time.
  std::size_t end_of_pattern() const {
    std::size_t end = begin_;
    while (true) {
      end = comma_from(end);
      const bool complete = text_.substr(begin_, end - begin_).find('=') != std::string_view::npos;
      if (end == text_.size() || (complete && begins_part(text_.substr(end + 1)))) return end;
      ++end;
    }
  }

  /// Reads a text between double quotes; two double quotes mean one in the text.
  bool read_quoted(std::string& out) {
    for (++at_;; ++at_) {
      const std::size_t quote = text_.find('"', at_);
      if (quote == std::string_view::npos) return refuse(text_.size(), ": its quotes do not end");
      out += text_.substr(at_, quote - at_);
      at_ = quote + 1;
      if (!is_at('"')) return true;
      out += '"';
    }
  }

  std::string_view text_;
  std::string& problem_;
  std::size_t at_ = 0, begin_ = 0, end_ = 0;  ///< of the piece that is read
};

std::optional<Mapping::Field> parse_field(const Piece& piece, std::string& problem) {
  const std::string_view word = piece.part;
  Mapping::Field field;
  field.source = piece.name;
  for (const PartRow& row : kParts) {
    if (row.more.empty() ? word != row.word : !word.starts_with(row.word)) continue;
    field.part = row.part;
    if (!row.more.empty()) problem = read_more(row, word, field);
    return problem.empty() ? std::optional(field) : std::nullopt;
  }
  problem = "\"" + std::string(word) + "\" is not a part of a request; known are " + known_parts();
  return std::nullopt;
}

/// Why two fields can't both be given; empty: they can.
std::string clash(const Mapping::Field& a, const Mapping::Field& b, std::string_view text) {
  if (a.part != b.part) return {};
  if (a.part == MappedPart::time || a.name == b.name)
    return "\"" + std::string(text) + "\" gives a part again";
  const auto& [less, more] = std::minmax(a.path, b.path, [](const auto& left, const auto& right) {
    return left.size() < right.size();
  });
  if (less.empty() || !std::equal(less.begin(), less.end(), more.begin())) return {};
  return "\"" + std::string(text) + "\": a member can't be given as a whole and in parts";
}

}  // namespace

bool Mapping::has(MappedPart part) const noexcept {
  return std::any_of(fields.begin(), fields.end(),
                     [&](const Field& field) { return field.part == part; });
}

std::optional<Mapping> Mapping::parse(std::string_view text, std::string& problem) {
  Mapping out;
  problem.clear();
  Pieces pieces(text, problem);
  while (pieces.any_left()) {
    const auto piece = pieces.next();
    if (!piece) return std::nullopt;
    auto field = parse_field(*piece, problem);
    if (!field) return std::nullopt;
    for (const Field& other : out.fields) {
      if (problem = clash(other, *field, piece->text); !problem.empty()) return std::nullopt;
    }
    out.fields.push_back(std::move(*field));
  }
  const bool line =
      out.has(MappedPart::request) || (out.has(MappedPart::method) && out.has(MappedPart::url));
  if (!out.has(MappedPart::time) || !out.has(MappedPart::ip) || !line) {
    problem = "a request needs ts, ip, and request or method and path";
    return std::nullopt;
  }
  const auto order = [](const Field& field) {
    return std::pair(is_named(field.part) ? field.part : MappedPart::time, std::cref(field.path));
  };
  std::stable_sort(out.fields.begin(), out.fields.end(), [&](const Field& a, const Field& b) {
    const auto [part, path] = order(a);
    const auto [other_part, other_path] = order(b);
    return part != other_part ? part < other_part : path.get() < other_path.get();
  });
  return out;
}

}  // namespace weir::replay
