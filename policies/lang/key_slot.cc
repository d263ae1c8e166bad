#include "policies/lang/key_slot.h"

#include "core/chars/ascii.h"
#include "core/utf8.h"
#include "policies/lang/extractors/form.h"

namespace weir::policies {
namespace {

/// Whether the text may have a word of RFC 2047: `=?charset?q?...?=`.
bool has_encoded_word(std::string_view text) noexcept {
  const std::size_t end = text.rfind("?=");
  if (end == std::string_view::npos) return false;
  for (std::size_t at = text.find("=?"); at != std::string_view::npos; at = text.find("=?", at)) {
    at += 2;
    const std::size_t mark = text.find('?', at);
    if (mark == std::string_view::npos || text.size() - mark < 3) return false;
    const char coding = ascii::lower(text[mark + 1]);
    const bool coded = (coding == 'q' || coding == 'b') && text[mark + 2] == '?';
    if (coded && end >= mark + 3) return true;
  }
  return false;
}

}  // namespace

bool is_header_read_alike(std::string_view value) noexcept {
  return is_utf8(value) && !has_encoded_word(value);
}

}  // namespace weir::policies
