#include "policies/lang/extractors/cookies.h"

#include <algorithm>
#include <array>

#include "core/chars/ascii.h"
#include "policies/lang/extractors/arena.h"
#include "policies/lang/extractors/blank.h"
#include "policies/lang/extractors/escapes.h"
#include "policies/lang/extractors/form.h"
#include "policies/lang/extractors/names.h"
#include "policies/lang/extractors/text.h"

namespace weir::policies {
namespace {

/// Python's SimpleCookie ends a cookie at a blank, older Java at a comma.
constexpr std::string_view kOtherSeparators = " \t,";
/// WebOb ends a cookie at each of these, and at a byte beyond ASCII.
constexpr std::string_view kMarks = "\"\\[]";

constexpr std::array<bool, 256> kEnds = [] {
  std::array<bool, 256> out{};
  for (const std::string_view all : {kOtherSeparators, kMarks}) {
    for (const char c : all) out[static_cast<unsigned char>(c)] = true;
  }
  for (std::size_t c = 0x80; c < out.size(); ++c) out[c] = true;
  return out;
}();

/// Where some application ends a cookie before the `;`.
std::size_t find_end(std::string_view pair) noexcept {
  const auto end = std::find_if(pair.begin(), pair.end(),
                                [](char c) { return kEnds[static_cast<unsigned char>(c)]; });
  return end == pair.end() ? std::string_view::npos : static_cast<std::size_t>(end - pair.begin());
}

/// The match of a cookie's name. Sanic reads `__Host-sid` and `__Secure-sid` as `sid`.
NameMatch match_cookie_name(std::string_view cookie, std::string_view name) noexcept {
  const NameMatch match = match_form_name(cookie, name, NamesOf::cookies);
  if (match != NameMatch::no) return match;
  for (const std::string_view prefix : {"__host-", "__secure-"}) {
    if (equals_ignoring_case(cookie.substr(0, prefix.size()), prefix))
      return match_form_name(cookie.substr(prefix.size()), name, NamesOf::cookies);
  }
  return NameMatch::no;
}

/// Whether inside this text another cookie of this name could begin.
bool hides(std::string_view text, std::string_view name) noexcept {
  std::size_t at = find_end(text);
  while (at != std::string_view::npos) {
    text.remove_prefix(at + 1);
    at = find_end(text);
    const std::string_view part = text.substr(0, at);
    const std::size_t equals = part.find('=');
    if (equals != std::string_view::npos &&
        match_cookie_name(part.substr(0, equals), name) != NameMatch::no) {
      return true;
    }
  }
  return false;
}

/// Whether applications trim the value differently.
bool has_odd_blank(std::string_view value) noexcept {
  return trim_blanks(value).size() != value.size();
}

bool is_unreserved(int byte) noexcept {
  return (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'z') ||
         (byte >= 'A' && byte <= 'Z') || byte == '-' || byte == '_' || byte == '.';
}

/// Whether a letter or digit is escaped. No encoder does that; applications that do not decode see
/// a difference between `%61` and `a`.
bool escapes_a_letter(std::string_view value) noexcept {
  for (std::size_t at = value.find('%'); at != std::string_view::npos;
       at = value.find('%', at + 1)) {
    if (is_unreserved(escaped_byte(value, at))) return true;
  }
  return false;
}

/// Gin and Rack read `+` as a blank: two spellings of one blank in a value give many of the whole.
bool mixes_blanks(std::string_view value) noexcept {
  return value.find('+') != std::string_view::npos &&
         (value.find("%20") != std::string_view::npos || value.find(' ') != std::string_view::npos);
}

Extracted cookie_value(Arena& arena, std::string_view value) noexcept {
  if (value.size() >= 2 && value.front() == '"' && value.back() == '"') {
    value = value.substr(1, value.size() - 2);
    if (value.find_first_of("\\\"") != std::string_view::npos)
      return Extracted::miss(MissReason::ambiguous);
  } else if (value.starts_with('{') || value.starts_with('[')) {
    // JSON as browsers' scripts write it. A parser that ends the cookie there reads no value at
    // all.
    if (value.find_first_of(kOtherSeparators) != std::string_view::npos)
      return Extracted::miss(MissReason::ambiguous);
  } else if (find_end(value) != std::string_view::npos ||
             value.find('{') != std::string_view::npos) {
    // From a quote at the beginning Python reads to the next quote after a `;`; older Node cuts the
    // last byte off. Undertow ends a value at `{`. WebOb reads `\141` as `a`.
    return Extracted::miss(MissReason::ambiguous);
  }
  if (mixes_blanks(value)) return Extracted::miss(MissReason::ambiguous);
  if (escapes_a_letter(value)) return Extracted::miss(MissReason::ambiguous);
  const Extracted out = decoded_value(arena, value, false);
  // Express parses what follows as JSON, which has many spellings of one value.
  if (out.value.is(Type::text) && out.value.as_text().starts_with("j:"))
    return Extracted::miss(MissReason::ambiguous);
  return out;
}

}  // namespace

Extracted find_cookie(Arena& arena, std::span<const HeaderField> headers,
                      std::string_view name) noexcept {
  bool found = false;
  bool is_last = false;  // of its line
  std::string_view value;
  for (const HeaderField& field : headers) {
    if (!equals_ignoring_case(field.name, "cookie")) continue;
    std::string_view rest = field.value;
    // WSGI and PHP join the lines with a comma, so the value continues.
    if (is_last && rest.substr(0, rest.find(';')).find('=') == std::string_view::npos)
      return Extracted::miss(MissReason::ambiguous);
    is_last = false;
    while (!rest.empty()) {
      const std::string_view pair = ascii::trimmed(next_part(rest, ';'));
      const std::size_t equals = pair.find('=');
      const NameMatch match = match_cookie_name(pair.substr(0, equals), name);
      is_last = match != NameMatch::no;
      if (match == NameMatch::no) {
        if (hides(pair, name)) return Extracted::miss(MissReason::ambiguous);
        continue;
      }
      // Without `=` some applications read "", others nothing.
      if (found || match == NameMatch::container || equals == std::string_view::npos ||
          hides(pair.substr(equals), name)) {
        return Extracted::miss(MissReason::ambiguous);
      }
      found = true;
      value = ascii::trimmed(pair.substr(equals + 1));
      // Python trims all that Unicode calls a blank, and JavaScript's String others than Go.
      if (has_odd_blank(value)) return Extracted::miss(MissReason::ambiguous);
    }
  }
  if (!found) return Extracted::miss(MissReason::absent);
  return cookie_value(arena, value);
}

}  // namespace weir::policies
