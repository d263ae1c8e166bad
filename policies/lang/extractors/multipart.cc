#include "policies/lang/extractors/multipart.h"

#include <algorithm>

#include "core/chars/ascii.h"
#include "core/utf8.h"
#include "policies/lang/extractors/form.h"
#include "policies/lang/extractors/media_type.h"
#include "policies/lang/extractors/name_path.h"
#include "policies/lang/extractors/text.h"

namespace weir::policies {
namespace {

constexpr std::string_view kLineEnd = "\r\n";
constexpr std::string_view kBlankLine = "\r\n\r\n";  // ends a line, and an empty one
constexpr std::size_t kHeadLinesMax = 16;
constexpr std::size_t kHeadBytesMax = 4096;

/// The position of the next `--boundary`; npos: none.
std::size_t find_delimiter(std::string_view body, std::string_view boundary, std::size_t from) {
  for (std::size_t at = body.find("--", from); at != std::string_view::npos;
       at = body.find("--", at + 1)) {
    if (body.substr(at + 2, boundary.size()) == boundary) return at;
  }
  return std::string_view::npos;
}

bool is_header_name(std::string_view name) noexcept {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    const char lower = ascii::lower(c);
    return ascii::is_lower(lower) || ascii::is_digit(c) || c == '-';
  });
}

/// Whether `name=` is in a text, also as `name *0 =` and in any letter case. `word`: not as the
/// end of a longer word.
bool has_name(std::string_view text, bool word) noexcept {
  constexpr std::string_view kName = "name";
  for (std::size_t at = 0; at + kName.size() < text.size(); ++at) {
    if (!equals_ignoring_case(text.substr(at, kName.size()), kName)) continue;
    if (word && at > 0 && (ascii::is_letter_or_digit(text[at - 1]) || text[at - 1] == '_'))
      continue;
    const std::string_view rest = text.substr(at + kName.size());
    const std::size_t next = rest.find_first_not_of(rest.front() == '*' ? " \t*0123456789" : " \t");
    if (next != std::string_view::npos && rest[next] == '=') return true;
  }
  return false;
}

/// Without what Netty takes for blanks at both ends of a name.
std::string_view netty_name(std::string_view name) noexcept {
  constexpr std::string_view kBlanks = "=:,; \t";
  const std::size_t first = std::min(name.find_first_not_of(kBlanks), name.size());
  return name.substr(first, name.find_last_not_of(kBlanks) + 1 - first);
}

/// Reads a Content-Disposition. False: applications may read it differently.
bool read_disposition(std::string_view value, std::string_view& name, bool& file) {
  const std::size_t end = std::min(value.find(';'), value.size());
  if (!equals_ignoring_case(ascii::trimmed(value.substr(0, end)), "form-data")) return false;
  value.remove_prefix(end);
  bool broken = false, named = false, encoded = false;
  std::string_view parameter, text;
  while (next_header_parameter(value, parameter, text, broken)) {
    // Formidable and older Rack look for `name=` anywhere in the line, also in quotes.
    if (has_name(text, true)) return false;
    if (equals_ignoring_case(parameter, "name")) {
      if (named || may_have_encoded_word(text)) return false;
      named = true;
      name = text;
    } else if (equals_ignoring_case(parameter, "filename")) {
      if (file) return false;
      file = true;
    } else if (equals_ignoring_case(parameter, "filename*")) {
      if (encoded) return false;
      encoded = true;
    } else {
      return false;
    }
  }
  // By `filename*` alone a part is a file to some and a field to others: no value either way.
  file = file || encoded;
  return !broken && named;
}

bool is_plain_encoding(std::string_view encoding) noexcept {
  return equals_ignoring_case(encoding, "binary") || equals_ignoring_case(encoding, "8bit") ||
         equals_ignoring_case(encoding, "7bit");
}

}  // namespace

bool Multipart::read_part(std::string_view part) {
  Part out;
  bool disposition = false, type = false, encoding = false;
  std::size_t head = 0;
  for (std::size_t lines = 0;; ++lines) {
    const std::size_t end = part.find(kLineEnd);
    head += end;
    if (end == std::string_view::npos || lines == kHeadLinesMax || head > kHeadBytesMax)
      return false;
    const std::string_view line = part.substr(0, end);
    part.remove_prefix(end + kLineEnd.size());
    if (line.empty()) break;
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos || ascii::has_control_but_tab(line)) return false;
    const std::string_view name = line.substr(0, colon);
    const std::string_view value = ascii::trimmed(line.substr(colon + 1));
    if (!is_header_name(name)) return false;
    if (equals_ignoring_case(name, "content-disposition")) {
      if (disposition || !read_disposition(value, out.name, out.file)) return false;
      disposition = true;
    } else if (equals_ignoring_case(name, "content-transfer-encoding")) {
      if (encoding || !is_plain_encoding(value)) return false;
      encoding = true;
    } else if (equals_ignoring_case(name, "content-type")) {
      // Netty takes a `name` and a `filename` of this line for those of the part.
      if (type || has_name(value, false) || may_have_encoded_word(value)) return false;
      type = true;
      const std::size_t parameters = std::min(value.find(';'), value.size());
      out.plain = equals_ignoring_case(ascii::trimmed(value.substr(0, parameters)), "text/plain") &&
                  read_charset(value.substr(parameters), out.ascii);
    }
  }
  if (!disposition) return false;
  out.value = part;
  parts_.push_back(out);
  return true;
}

bool Multipart::read(std::string_view body, std::string_view boundary, bool ascii) {
  parts_.clear();
  if (body.starts_with(kLineEnd)) body.remove_prefix(kLineEnd.size());
  if (find_delimiter(body, boundary, 0) != 0) return false;
  std::size_t at = boundary.size() + 2;
  for (;;) {
    if (body.substr(at, 2) == "--") break;
    if (body.substr(at, 2) != kLineEnd || parts_.size() == kPartsMax) return false;
    at += kLineEnd.size();
    const std::size_t next = find_delimiter(body, boundary, at);
    if (next == std::string_view::npos || next < at + 2 || body.substr(next - 2, 2) != kLineEnd)
      return false;
    if (!read_part(body.substr(at, next - 2 - at))) return false;
    const Part& part = parts_.back();
    if ((ascii || part.ascii) && !is_ascii(part.name)) return false;
    at = next + boundary.size() + 2;
  }
  const std::string_view rest = body.substr(at + 2);
  return (rest.empty() || rest == kLineEnd || rest == kBlankLine) && is_charset_unchanged();
}

/// Jetty reads all fields in the charset that a field `_charset_` names.
bool Multipart::is_charset_unchanged() const noexcept {
  return std::all_of(parts_.begin(), parts_.end(), [](const Part& part) {
    return !equals_ignoring_case(part.name, "_charset_") ||
           equals_ignoring_case(ascii::trimmed(part.value), "utf-8");
  });
}

template <class Match>
Extracted Multipart::find_matching(Match match) const noexcept {
  const Part* found = nullptr;
  bool elsewhere = false;
  for (const Part& part : parts_) {
    PathMatch got = match(part.name);
    if (got == PathMatch::no) {
      const std::string_view inner = netty_name(part.name);
      if (inner.size() < part.name.size() && !inner.empty()) got = match(inner);
    }
    if (got == PathMatch::no) continue;
    elsewhere = elsewhere || got == PathMatch::elsewhere;
    if (got == PathMatch::elsewhere) continue;
    if (found != nullptr || got == PathMatch::container || part.file)
      return Extracted::miss(MissReason::ambiguous);
    found = &part;
  }
  if (found == nullptr)
    return Extracted::miss(elsewhere ? MissReason::ambiguous : MissReason::absent);
  // ASP.NET drops the mark, others keep it.
  if (found->value.starts_with(kByteOrderMark)) return Extracted::miss(MissReason::ambiguous);
  const bool readable =
      found->plain && (found->ascii ? is_ascii(found->value) : is_utf8(found->value));
  if (!readable) return Extracted::miss(MissReason::unreadable);
  return {Value::text(found->value)};
}

Extracted Multipart::find(std::string_view name) const noexcept {
  return find_matching(
      [name](std::string_view part) { return path_match(match_form_name(part, name)); });
}

Extracted Multipart::find(std::span<const PathStep> path) const noexcept {
  return find_matching([path](std::string_view part) { return match_form_path(part, path); });
}

}  // namespace weir::policies
