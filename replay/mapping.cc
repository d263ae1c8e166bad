#include "replay/mapping.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "config/text/time_form.h"
#include "policies/lang/extractors.h"

namespace weir::replay {
namespace {

using MappedPart = Mapping::Part;

struct PartRow {
  std::string_view word;  ///< ends with a dot: more follows
  MappedPart part;
  std::string_view more = {};  ///< what follows
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

/// `ts.seconds`, `ts.%d.%m.%Y %H:%M:%S`: its form may hold what ends a part elsewhere.
bool is_time_pattern(std::string_view text) {
  return text.starts_with("ts.%") || text.starts_with("time.%");
}

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

/// What follows the dot of a part. What is wrong with it; empty: it is in `field`.
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

std::optional<Mapping::Field> parse_field(std::string_view text, std::string& problem) {
  const std::size_t equals = is_time_pattern(text) ? text.rfind('=') : text.find('=');
  if (equals == std::string_view::npos || equals == 0 || equals + 1 == text.size()) {
    problem = "write PART=NAME, such as ts=time, not \"" + std::string(text) + "\"";
    return std::nullopt;
  }
  const std::string_view word = text.substr(0, equals);
  Mapping::Field field;
  field.source = text.substr(equals + 1);
  for (const PartRow& row : kParts) {
    if (row.more.empty() ? word != row.word : !word.starts_with(row.word)) continue;
    field.part = row.part;
    if (!row.more.empty()) problem = read_more(row, word, field);
    return problem.empty() ? std::optional(field) : std::nullopt;
  }
  problem = "\"" + std::string(word) + "\" is no part of a request; known are " + known_parts();
  return std::nullopt;
}

/// Where the part of a mapping that begins here ends: at a comma, but one in the pattern of a time.
std::size_t end_of_part(std::string_view text, std::size_t from) {
  std::size_t end = std::min(text.find(',', from), text.size());
  while (is_time_pattern(text.substr(from)) && end < text.size() &&
         text.substr(from, end - from).find('=') == std::string_view::npos) {
    end = std::min(text.find(',', end + 1), text.size());
  }
  return end;
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
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t comma = end_of_part(text, from);
    const std::string_view part = text.substr(from, comma - from);
    auto field = parse_field(part, problem);
    if (!field) return std::nullopt;
    for (const Field& other : out.fields) {
      if (problem = clash(other, *field, part); !problem.empty()) return std::nullopt;
    }
    out.fields.push_back(std::move(*field));
    from = comma + 1;
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
