#include "policies/lang/extractors/names.h"

#include "core/chars/ascii.h"
#include "policies/lang/extractors/escapes.h"
#include "policies/lang/extractors/name_text.h"

namespace weir::policies {
namespace {

using namespace name_text;

bool is_exact(std::string_view encoded, std::string_view wanted) noexcept {
  std::size_t at = 0;
  for (const char c : wanted) {
    if (at >= encoded.size()) return false;
    char byte = encoded[at] == '+' ? ' ' : encoded[at];
    const int escaped = encoded[at] == '%' ? escaped_byte(encoded, at) : -1;
    if (escaped >= 0) byte = static_cast<char>(escaped);
    at += escaped >= 0 ? 3 : 1;
    if (byte != c) return false;
  }
  return at == encoded.size();
}

/// Whether the name has a `[` and no `]` after it: PHP makes an underscore of it.
bool has_open_bracket(std::string_view encoded) noexcept {
  EncodedText text(encoded);
  bool open = false;
  for (char32_t c = text.next(); c != kEnd; c = text.next()) {
    if (c == U']' && open) return false;
    open = open || c == U'[';
  }
  return open;
}

/// The character at `at`, decoded, and `at` after it. Only ASCII matters.
char next_byte(std::string_view encoded, std::size_t& at) noexcept {
  const int escaped = encoded[at] == '%' ? escaped_byte(encoded, at) : -1;
  const char c = escaped >= 0 ? static_cast<char>(escaped) : encoded[at];
  at += escaped >= 0 ? 3 : 1;
  return c;
}

/// Where in `user.0`, `user.` or `user.0[x]` the name of the list ends; npos: it is no such name.
std::size_t list_end(std::string_view encoded) noexcept {
  if (encoded.find_first_of(".%") == std::string_view::npos) return std::string_view::npos;
  for (std::size_t at = 0; at < encoded.size();) {
    const std::size_t point = at;
    if (next_byte(encoded, at) != '.' || point == 0) continue;
    std::size_t next = at;
    char c = '\0';
    do {
      if (next >= encoded.size()) return point;
      c = next_byte(encoded, next);
    } while (ascii::is_digit(c));
    if (c == '.' || c == '[' || c == '\0') return point;
  }
  return std::string_view::npos;
}

/// Whether the name may begin with a point.
bool may_begin_with_point(std::string_view encoded) noexcept {
  return !encoded.empty() && !ascii::is_letter_or_digit(encoded.front()) &&
         encoded.find_first_of(".%") != std::string_view::npos;
}

/// The match of a name that is no element of a list by a point.
NameMatch match_whole(std::string_view encoded, std::string_view wanted, NamesOf of) noexcept {
  if (is_exact(encoded, wanted)) return NameMatch::exact;
  // `user[name]` and `user.name` are one path to parsers that nest.
  if (wanted.find_first_of("[.") != std::string_view::npos) {
    Folded a(EncodedText(encoded), Brackets::separate, true);
    Folded b(PlainText(wanted), Brackets::separate, true);
    if (!same(a, b)) return NameMatch::no;
    return a.opened() > b.opened() ? NameMatch::container : NameMatch::other;
  }
  {
    Folded a(EncodedText(encoded), Brackets::end_name, true);
    Folded b(PlainText(wanted), Brackets::letters, true);
    if (same(a, b)) return a.ended_by_bracket() ? NameMatch::container : NameMatch::other;
  }
  if (wanted.ends_with('_') || wanted.ends_with('-')) {  // a blank at the end, for PHP
    Folded a(EncodedText(encoded), Brackets::end_name, true, Blanks::are_underscores);
    Folded b(PlainText(wanted), Brackets::letters, true);
    if (same(a, b)) return a.ended_by_bracket() ? NameMatch::container : NameMatch::other;
  }
  if (of == NamesOf::parameters && may_begin_with_point(encoded)) {
    Folded a(EncodedText(encoded), Brackets::end_name, true, Blanks::dropped, Points::dropped);
    Folded b(PlainText(wanted), Brackets::letters, true);
    if (same(a, b)) return a.ended_by_bracket() ? NameMatch::container : NameMatch::other;
  }
  if (!has_open_bracket(encoded)) return NameMatch::no;
  Folded a(EncodedText(encoded), Brackets::are_underscores, true);
  Folded b(PlainText(wanted), Brackets::letters, true);
  return same(a, b) ? NameMatch::other : NameMatch::no;
}

}  // namespace

NameMatch match_json_name(std::string_view name, std::string_view wanted) noexcept {
  if (name == wanted) return NameMatch::exact;
  if (!may_match(name, wanted)) return NameMatch::no;
  name = name.substr(0, name.find('\0'));
  wanted = wanted.substr(0, wanted.find('\0'));
  Folded a(PlainText(name), Brackets::letters, false);
  Folded b(PlainText(wanted), Brackets::letters, false);
  return same(a, b) ? NameMatch::other : NameMatch::no;
}

NameMatch match_form_name(std::string_view encoded, std::string_view wanted, NamesOf of) noexcept {
  if (encoded == wanted && encoded.find_first_of("%+") == std::string_view::npos) {
    return NameMatch::exact;
  }
  if (!may_match(encoded, wanted)) return NameMatch::no;
  const NameMatch got = match_whole(encoded, wanted, of);
  if (got != NameMatch::no || of == NamesOf::cookies) return got;
  const std::size_t list = list_end(encoded);
  const bool is_element = list != std::string_view::npos &&
                          match_whole(encoded.substr(0, list), wanted, of) != NameMatch::no;
  return is_element ? NameMatch::container : NameMatch::no;
}

}  // namespace weir::policies
