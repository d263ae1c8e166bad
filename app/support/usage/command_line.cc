#include "app/support/usage/command_line.h"

#include <algorithm>

#include "core/chars/ascii.h"

namespace weir::app {
namespace {

bool is_port(std::string_view word) {
  return !word.empty() && word.size() <= 5 &&
         std::all_of(word.begin(), word.end(), [](char c) { return ascii::is_digit(c); });
}

bool is_url(std::string_view word) {
  return word.find("://") != std::string_view::npos || word.starts_with("unix:");
}

std::string quoted_for_shell(const std::string& word) {
  constexpr std::string_view kPlain = "-_./:=,@%+";
  const bool plain = !word.empty() && std::all_of(word.begin(), word.end(), [&](char c) {
    return ascii::is_letter_or_digit(c) || kPlain.find(c) != std::string_view::npos;
  });
  if (plain) return word;
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

}  // namespace

bool is_configuration(std::string_view word) {
  return word.ends_with(".yaml") || word.ends_with(".yml");
}

bool is_app(std::string_view word) {
  const std::size_t colon = word.rfind(':');
  return is_port(word) || is_url(word) ||
         (colon != std::string_view::npos && is_port(word.substr(colon + 1)));
}

std::string app_url(const std::string& word) {
  if (is_port(word)) return "http://127.0.0.1:" + word;
  return is_url(word) ? word : "http://" + word;
}

std::string weir_line(const std::vector<std::string>& words) {
  std::string out = "weir";
  for (const std::string& word : words) out += " " + quoted_for_shell(word);
  return out;
}

}  // namespace weir::app
