#include "core/json_numbers.h"

#include <charconv>
#include <cmath>
#include <string_view>

#include "core/chars/ascii.h"
#include "core/chars/parse.h"

namespace weir {
namespace {

bool is_number_sign(char c) {
  return ascii::is_digit(c) || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E';
}

void append_fixed(std::string& out, double value) {
  char buffer[1200];  // the longest double has 1,077 characters
  out.append(buffer,
             std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::fixed).ptr);
}

void append_plain_number(std::string& out, std::string_view number) {
  if (const auto value = parse_whole<double>(number)) {
    append_fixed(out, *value);
  } else {
    out += number;
  }
}

}  // namespace

void append_json_number(std::string& out, Number number) {
  number = number.finite();
  const double value = number.as_real();
  const bool whole = !number.is_real() || (std::trunc(value) == value && std::abs(value) < 0x1p63);
  if (!whole) return append_fixed(out, value);
  char buffer[32];
  out.append(buffer, number.to_chars(buffer));
}

std::string plain_numbers(std::string json) {
  const std::string_view text = json;
  std::string out;
  std::size_t copied = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\') ++i;
      quoted = c != '"';
      continue;
    }
    quoted = c == '"';
    if (c != '-' && (c < '0' || c > '9')) continue;
    std::size_t end = i;
    while (end < text.size() && is_number_sign(text[end])) ++end;
    const std::string_view number = text.substr(i, end - i);
    if (number.find_first_of("eE") != std::string_view::npos) {
      out.append(text, copied, i - copied);
      append_plain_number(out, number);
      copied = end;
    }
    i = end - 1;
  }
  if (copied == 0) return json;  // mostly
  out.append(text, copied, text.size() - copied);
  return out;
}

}  // namespace weir
