#include "replay/mapping.h"

#include <algorithm>

#include "policies/lang/extractors.h"

namespace weir::replay {
namespace {

using MappedPart = Mapping::Part;

struct PartRow {
  std::string_view word;  ///< ends with a dot: a name follows
  MappedPart part;
};
constexpr PartRow kParts[] = {
    {"ts", MappedPart::time},
    {"time", MappedPart::time},
    {"request", MappedPart::request},
    {"method", MappedPart::method},
    {"path", MappedPart::url},
    {"url", MappedPart::url},
    {"query", MappedPart::query},
    {"host", MappedPart::host},
    {"ip", MappedPart::ip},
    {"status", MappedPart::status},
    {"bytes", MappedPart::bytes},
    {"header.", MappedPart::header},
    {"cookie.", MappedPart::cookie},
    {"body.", MappedPart::body},
    {"response.header.", MappedPart::answer_header},
    {"response.body.", MappedPart::answer_body},
};

std::string known_parts() {
  std::string out;
  for (const PartRow& row : kParts) {
    out +=
        (out.empty() ? "" : ", ") + std::string(row.word) + (row.word.ends_with('.') ? "NAME" : "");
  }
  return out;
}

bool is_header(MappedPart part) {
  return part == MappedPart::header || part == MappedPart::answer_header;
}
bool is_named(MappedPart part) { return part >= MappedPart::header; }

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

bool Mapping::has(MappedPart part) const noexcept {
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
  const bool line =
      out.has(MappedPart::request) || (out.has(MappedPart::method) && out.has(MappedPart::url));
  if (!out.has(MappedPart::time) || !out.has(MappedPart::ip) || !line) {
    problem = "a request needs ts, ip, and request or method and path";
    return std::nullopt;
  }
  std::stable_sort(out.fields.begin(), out.fields.end(), [](const Field& a, const Field& b) {
    return !is_named(a.part) && is_named(b.part);
  });
  return out;
}

}  // namespace weir::replay
