#include "config/import/cel_negation.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "core/chars/ascii.h"

namespace weir::config {
namespace {

constexpr int kDepthMax = 32;

bool is_word_char(char c) { return ascii::is_letter_or_digit(c) || c == '_'; }

/// Whether the quote at `at` begins a raw text: r"..." or br"...".
bool is_raw(std::string_view text, std::size_t at) {
  std::size_t word = at;
  while (word > 0 && is_word_char(text[word - 1])) --word;
  const std::string_view prefix = text.substr(word, at - word);
  return prefix.size() <= 2 && prefix.find_first_of("rR") != std::string_view::npos;
}

/// The place after the token at `at`: a text, a comment, or one character.
std::size_t behind(std::string_view text, std::size_t at) {
  const char c = text[at];
  if (text.substr(at, 2) == "//") return std::min(text.find('\n', at), text.size());
  if (c != '"' && c != '\'') return at + 1;
  const bool raw = is_raw(text, at);
  const std::string end(text.substr(at, 3) == std::string(3, c) ? 3 : 1, c);
  for (at += end.size(); at < text.size() && text.substr(at, end.size()) != end; ++at) {
    if (text[at] == '\\' && !raw) ++at;
  }
  return std::min(at + end.size(), text.size());
}

/// The place of the parenthesis that closes the one at `at`.
std::optional<std::size_t> closing(std::string_view text, std::size_t at) {
  std::vector<char> open;
  for (; at < text.size(); at = behind(text, at)) {
    const char c = text[at];
    if (c == '(' || c == '[' || c == '{') open.push_back(c == '(' ? ')' : c == '[' ? ']' : '}');
    if (c != ')' && c != ']' && c != '}') continue;
    if (open.empty() || open.back() != c) return std::nullopt;
    open.pop_back();
    if (open.empty()) return at;
  }
  return std::nullopt;
}

/// The parts of a text between the operators `by` outside of all parentheses. None: a parenthesis
/// is not closed.
std::optional<std::vector<std::string_view>> split(std::string_view text, std::string_view by) {
  std::vector<std::string_view> out;
  std::size_t begin = 0;
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (c == ')' || c == ']' || c == '}') return std::nullopt;
    if (c == '(' || c == '[' || c == '{') {
      const auto end = closing(text, at);
      if (!end) return std::nullopt;
      at = *end + 1;
    } else if (text.substr(at, by.size()) == by) {
      out.push_back(text.substr(begin, at - begin));
      begin = at += by.size();
    } else {
      at = behind(text, at);
    }
  }
  out.push_back(text.substr(begin));
  return out;
}

/// Trims the blanks that CEL skips between words, in every locale.
std::string_view trimmed(std::string_view text) { return ascii::trimmed(text, " \t\r\n\f\v"); }

std::string pushed(std::string_view text, int depth);

/// The negation of a condition.
std::string negated(std::string_view text, int depth) {
  text = trimmed(text);
  const auto branches = split(text, "?");
  if (depth > kDepthMax || !branches || branches->size() != 1)
    return "!(" + (depth > kDepthMax ? std::string(text) : pushed(text, depth + 1)) + ")";
  for (const auto& [by, instead] : {std::pair{"||", " && "}, std::pair{"&&", " || "}}) {
    const auto parts = split(text, by);
    if (!parts || parts->size() == 1) continue;
    std::string out;
    for (const std::string_view part : *parts)
      out += (out.empty() ? "(" : instead) + negated(part, depth + 1);
    return out + ")";
  }
  const bool is_negated = text.starts_with('!');
  const std::string_view group = is_negated ? trimmed(text.substr(1)) : text;
  if (group.starts_with('(') && closing(group, 0) == group.size() - 1) {
    const std::string_view inner = group.substr(1, group.size() - 2);
    return is_negated ? "(" + pushed(inner, depth + 1) + ")" : negated(inner, depth + 1);
  }
  return "!(" + pushed(text, depth + 1) + ")";
}

std::string pushed(std::string_view text, int depth) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] == '!') {
      const std::size_t open = text.find_first_not_of(" \t\r\n", at + 1);
      if (open != std::string_view::npos && text[open] == '(') {
        if (const auto end = closing(text, open)) {
          out += negated(text.substr(open + 1, *end - open - 1), depth + 1);
          at = *end + 1;
          continue;
        }
      }
    }
    const std::size_t next = behind(text, at);
    out += text.substr(at, next - at);
    at = next;
  }
  return out;
}

}  // namespace

std::string push_negations(std::string_view text) {
  std::string bare;  // a comment would hide a parenthesis that is put after it
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t next = behind(text, at);
    if (text.substr(at, 2) != "//") bare += text.substr(at, next - at);
    at = next;
  }
  return pushed(bare, 0);
}

}  // namespace weir::config
