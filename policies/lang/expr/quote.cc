#include "policies/lang/expr/quote.h"

#include <cmath>

#include "core/chars/ascii.h"
#include "core/chars/hex.h"
#include "core/number.h"

namespace weir::policies::expr {

bool is_identifier(std::string_view text) noexcept {
  if (text.empty() || ascii::is_digit(text[0])) return false;
  for (const char c : text) {
    const bool letter = ascii::is_letter(c) || c == '_';
    if (!letter && !ascii::is_digit(c)) return false;
  }
  return true;
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out.append({'\\', c});
    } else if (c == '\n') {
      out.append("\\n");
    } else if (c == '\t') {
      out.append("\\t");
    } else if (ascii::is_control(c)) {
      append_hex(out += "\\u", static_cast<unsigned char>(c), 4);
    } else {
      out.push_back(c);
    }
  }
  return out + "\"";
}

std::string real_literal(double value) {
  if (value == 0 && std::signbit(value)) return "-0.0";  // as a divisor it is not 0.0
  std::string out = Number::real(value).to_string();
  if (out.find_first_of(".e") == std::string::npos) out += ".0";
  return out;
}

}  // namespace weir::policies::expr
