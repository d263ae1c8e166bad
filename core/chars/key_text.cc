#include "core/chars/key_text.h"

#include <algorithm>
#include <utility>

namespace weir {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";

bool needs_quotes(std::string_view part) noexcept {
  return part.empty() || part.find(',') != std::string_view::npos || part.front() == '"' ||
         part.front() == '(' || kBlanks.find(part.front()) != std::string_view::npos ||
         kBlanks.find(part.back()) != std::string_view::npos;
}

void skip_blanks(std::string_view& text) noexcept {
  text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
}

/// Takes a part in quotes off the text, with the blanks after it. False: there is none.
bool take_quoted(std::string_view& text, std::string& part) {
  if (!text.starts_with('"')) return false;
  std::string out;
  for (std::size_t i = 1; i < text.size(); ++i) {
    if (text[i] != '"') {
      out += text[i];
    } else if (i + 1 < text.size() && text[i + 1] == '"') {
      out += text[i++];
    } else {
      std::string_view rest = text.substr(i + 1);
      skip_blanks(rest);
      if (!rest.empty() && rest.front() != ',') return false;
      text = rest;
      part = std::move(out);
      return true;
    }
  }
  return false;
}

}  // namespace

std::string key_text(std::span<const std::string> parts) {
  std::string out;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i != 0) out += ", ";
    if (!needs_quotes(parts[i])) {
      out += parts[i];
      continue;
    }
    out += '"';
    for (const char c : parts[i]) out.append(c == '"' ? 2 : 1, c);
    out += '"';
  }
  return out;
}

std::vector<std::string> key_parts(std::string_view text) {
  std::vector<std::string> out;
  while (true) {
    skip_blanks(text);
    std::string& part = out.emplace_back();
    if (!take_quoted(text, part)) {
      part = text.substr(0, text.find(','));
      text.remove_prefix(part.size());
      part.resize(part.find_last_not_of(kBlanks) + 1);  // npos + 1: all of it
    }
    if (text.empty()) return out;
    text.remove_prefix(1);
  }
}

}  // namespace weir
