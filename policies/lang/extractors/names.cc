#include "policies/lang/extractors/names.h"

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

/// Whether a `[` stands in the name and no `]` after it: PHP makes an underscore of it.
bool has_open_bracket(std::string_view encoded) noexcept {
  EncodedText text(encoded);
  bool open = false;
  for (char32_t c = text.next(); c != kEnd; c = text.next()) {
    if (c == U']' && open) return false;
    open = open || c == U'[';
  }
  return open;
}

}  // namespace

NameMatch match_json_name(std::string_view name, std::string_view wanted) noexcept {
  if (name == wanted) return NameMatch::exact;
  if (!may_match(name, wanted)) return NameMatch::no;
  Folded a(PlainText(name), Brackets::letters, false);
  Folded b(PlainText(wanted), Brackets::letters, false);
  return same(a, b) ? NameMatch::other : NameMatch::no;
}

NameMatch match_form_name(std::string_view encoded, std::string_view wanted) noexcept {
  if (encoded == wanted && encoded.find_first_of("%+") == std::string_view::npos) {
    return NameMatch::exact;
  }
  if (!may_match(encoded, wanted)) return NameMatch::no;
  if (is_exact(encoded, wanted)) return NameMatch::exact;
  // `user[name]` and `user.name` are one path to those who nest.
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
  if (!has_open_bracket(encoded)) return NameMatch::no;
  Folded a(EncodedText(encoded), Brackets::are_underscores, true);
  Folded b(PlainText(wanted), Brackets::letters, true);
  return same(a, b) ? NameMatch::other : NameMatch::no;
}

}  // namespace weir::policies
