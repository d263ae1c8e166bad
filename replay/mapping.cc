#include "replay/mapping.h"

#include <algorithm>

#include "policies/lang/extractors.h"

namespace weir::replay {
namespace {

using Part = Mapping::Part;

struct PartRow {
  std::string_view word;  ///< ends with a dot: a name follows
  Part part;
};
constexpr PartRow kParts[] = {
    {"ts", Part::time},
    {"time", Part::time},
    {"request", Part::request},
    {"method", Part::method},
    {"path", Part::url},
    {"url", Part::url},
    {"query", Part::query},
    {"host", Part::host},
    {"ip", Part::ip},
    {"status", Part::status},
    {"bytes", Part::bytes},
    {"header.", Part::header},
    {"cookie.", Part::cookie},
    {"body.", Part::body},
    {"response.header.", Part::answer_header},
    {"response.body.", Part::answer_body},
};

std::string known_parts() {
  std::string out;
  for (const PartRow& row : kParts) {
    out +=
        (out.empty() ? "" : ", ") + std::string(row.word) + (row.word.ends_with('.') ? "NAME" : "");
  }
  return out;
}

bool is_header(Part part) { return part == Part::header || part == Part::answer_header; }
bool is_named(Part part) { return part >= Part::header; }

std::optional<Mapping::Field> parse_field(std::string_view text, std::string& problem) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0 || equals + 1 == text.size()) {
    problem = "write PART=NAME, such as ts=time, not \"" + std::string(text) + "\"";
    return std::nullopt;
  }
  const std::string_view word = text.substr(0, equals);
  Mapping::Field field;
  field.source = text.substr(equals + 1);
  for (const PartRow& row : kParts) {
    const bool named = row.word.ends_with('.');
    if (named ? !word.starts_with(row.word) : word != row.word) continue;
    field.part = row.part;
    field.name = named ? word.substr(row.word.size()) : std::string_view{};
    if (is_header(field.part)) {
      const auto wire = policies::wire_header_name(field.name);
      field.name = wire.value_or("");
    }
    if (named && (field.name.empty() || field.name.find('.') != std::string::npos)) {
      problem = "\"" + std::string(word) + "\" needs one name after " + std::string(row.word);
      return std::nullopt;
    }
    return field;
  }
  problem = "\"" + std::string(word) + "\" is no part of a request; known are " + known_parts();
  return std::nullopt;
}

}  // namespace

bool Mapping::has(Part part) const noexcept {
  return std::any_of(fields.begin(), fields.end(),
                     [&](const Field& field) { return field.part == part; });
}

std::optional<Mapping> Mapping::parse(std::string_view text, std::string& problem) {
  Mapping out;
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t comma = std::min(text.find(',', from), text.size());
    auto field = parse_field(text.substr(from, comma - from), problem);
    if (!field) return std::nullopt;
    const bool twice = std::any_of(out.fields.begin(), out.fields.end(), [&](const Field& other) {
      return other.part == field->part && other.name == field->name;
    });
    if (twice) {
      problem = "\"" + std::string(text.substr(from, comma - from)) + "\" gives a part again";
      return std::nullopt;
    }
    out.fields.push_back(std::move(*field));
    from = comma + 1;
  }
  const bool line = out.has(Part::request) || (out.has(Part::method) && out.has(Part::url));
  if (!out.has(Part::time) || !out.has(Part::ip) || !line) {
    problem = "a request needs ts, ip, and request or method and path";
    return std::nullopt;
  }
  std::stable_sort(out.fields.begin(), out.fields.end(), [](const Field& a, const Field& b) {
    return !is_named(a.part) && is_named(b.part);
  });
  return out;
}

}  // namespace weir::replay
