#include "policies/lang/extractors.h"

#include <algorithm>
#include <array>
#include <vector>

#include "core/chars/ascii.h"
#include "policies/lang/expr/quote.h"
#include "policies/lang/extractors/text.h"

namespace weir::policies {
namespace {

int weight(MissReason reason) noexcept {
  switch (reason) {
    case MissReason::too_large:
      return 8;
    case MissReason::encoded:
      return 7;
    case MissReason::unreadable:
      return 6;
    case MissReason::too_costly:
      return 5;
    case MissReason::ambiguous:
      return 4;
    case MissReason::unread:
      return 3;
    case MissReason::failed:
      return 2;
    case MissReason::absent:
      return 1;
    case MissReason::none:
    case MissReason::path:  // of no field
      return 0;
  }
  return 0;
}

}  // namespace

MissReason worse(MissReason a, MissReason b) noexcept { return weight(b) > weight(a) ? b : a; }

std::string_view miss_reason_text(MissReason reason) noexcept {
  switch (reason) {
    case MissReason::none:
      return "present";
    case MissReason::absent:
      return "absent";
    case MissReason::ambiguous:
      return "ambiguous: apps differ in what they read";
    case MissReason::unreadable:
      return "unreadable";
    case MissReason::too_large:
      return "body too large";
    case MissReason::encoded:
      return "body encoded";
    case MissReason::too_costly:
      return "too large for an expression";
    case MissReason::failed:
      return "expression failed";
    case MissReason::unread:
      return "not read";
    case MissReason::path:
      return "servers read its escapes or segments in different ways";
  }
  return "unknown";
}

std::span<const ExtractorRow> extractor_rows() {
  static const std::vector<ExtractorRow> rows = [] {
    std::vector<ExtractorRow> all;
    for (const auto family : {http_extractors(), network_extractors(), body_extractors(),
                              envoy_extractors(), descriptor_extractors()}) {
      all.insert(all.end(), family.begin(), family.end());
    }
    return all;
  }();
  return rows;
}

const ExtractorRow* find_extractor(std::string_view name) {
  for (const ExtractorRow& row : extractor_rows()) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

bool is_reserved_name(std::string_view name) {
  static constexpr std::array<std::string_view, 12> kWords = {
      "event", "value", "limit", "true", "false",    "null",
      "in",    "and",   "or",    "not",  "response", "envoy"};
  if (std::find(kWords.begin(), kWords.end(), name) != kWords.end()) return true;
  const ExtractorRow* row = find_extractor(name);
  return row != nullptr && row->form != ArgumentForm::index;
}

std::optional<std::string> wire_header_name(std::string_view spelled) {
  static constexpr std::string_view kTokenMarks = "!#$%&'*+-.^`|~";
  std::string name;
  for (const char c : spelled) {
    const char lower = c == '_' ? '-' : ascii::lower(c);
    const bool alphanumeric = ascii::is_lower(lower) || ascii::is_digit(lower);
    if (!alphanumeric && kTokenMarks.find(lower) == std::string_view::npos) return std::nullopt;
    name.push_back(lower);
  }
  if (name.empty()) return std::nullopt;
  return name;
}

std::string_view body_kind_text(BodyKind kind) noexcept {
  constexpr auto kWords = std::to_array<std::string_view>({"", "json", "form", "multipart"});
  static_assert(kWords.size() == static_cast<std::size_t>(BodyKind::multipart) + 1);
  return kWords[static_cast<std::size_t>(kind)];
}

std::string attribute_text(const ExtractorRow& row, const Argument& argument) {
  std::string out{row.name};
  if (argument.body != BodyKind::none)
    out.append("(").append(body_kind_text(argument.body)).append(")");
  const auto member = [&out](std::string_view name) {
    if (expr::is_identifier(name)) {
      out.append(".").append(name);
    } else {
      out.append("[").append(expr::quoted(name)).append("]");
    }
  };
  switch (row.form) {
    case ArgumentForm::none:
      break;
    case ArgumentForm::name:
      member(argument.name);
      break;
    case ArgumentForm::header: {
      std::string name = argument.name;
      std::replace(name.begin(), name.end(), '-', '_');
      member(name);
      break;
    }
    case ArgumentForm::path:
      for (const PathStep& step : argument.path) {
        if (step.is_index) {
          out.append("[").append(std::to_string(step.index)).append("]");
        } else {
          member(step.name);
        }
      }
      break;
    case ArgumentForm::index:
      out.append("(").append(std::to_string(argument.index)).append(")");
      break;
  }
  return out;
}

}  // namespace weir::policies
