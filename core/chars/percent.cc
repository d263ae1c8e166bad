#include "core/chars/percent.h"

#include "core/chars/ascii.h"

namespace weir {

void append_percent_encoded(std::string& out, std::string_view text, std::string_view bare) {
  for (const char c : text) {
    if (ascii::is_letter_or_digit(c) || bare.find(c) != std::string_view::npos) {
      out += c;
    } else {
      append_percent(out, c);
    }
  }
}

std::optional<std::string> percent_decode(std::string_view text, bool plus) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += plus && text[i] == '+' ? ' ' : text[i];
      continue;
    }
    if (i + 2 >= text.size()) return std::nullopt;
    const int high = hex_value(text[i + 1]), low = hex_value(text[i + 2]);
    if (high < 0 || low < 0) return std::nullopt;
    out += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return out;
}

}  // namespace weir
