#include "config/text/secrets.h"

#include <algorithm>

namespace weir::config {
namespace {

constexpr auto npos = std::string_view::npos;
constexpr std::string_view kSecretWords[] = {"password", "passwd",        "passphrase",
                                             "secret",   "token",         "api_key",
                                             "apikey",   "authorization", "credential"};

bool is_word(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-';
}

std::string lower_word(std::string_view word) {
  std::string out(word);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c | 0x20);
    if (c == '-') c = '_';
  }
  return out;
}

bool is_secret_key(const std::string& key) {
  if (key.ends_with("_file")) return false;
  return std::any_of(std::begin(kSecretWords), std::end(kSecretWords),
                     [&](std::string_view word) { return key.find(word) != npos; });
}

void cover(std::string& line, std::size_t from, std::size_t to) {
  for (std::size_t i = from; i < to && i < line.size(); ++i) line[i] = '*';
}

/// Where the value that begins at `from` ends.
std::size_t end_of_value(std::string_view line, std::size_t from) {
  if (from < line.size() && (line[from] == '"' || line[from] == '\'')) {
    for (std::size_t i = from + 1; i < line.size(); ++i) {
      if (line[i] == '\\' && line[from] == '"')
        ++i;
      else if (line[i] == line[from])
        return i;
    }
    return line.size();
  }
  std::size_t i = from;
  for (; i < line.size(); ++i) {
    if (line[i] == '}' || line[i] == ']') break;
    if (line[i] == ',' && (i + 1 == line.size() || line[i + 1] == ' ')) break;
    if (line[i] == '#' && i > from && line[i - 1] == ' ') break;
  }
  while (i > from && line[i - 1] == ' ') --i;
  return i;
}

/// Covers the text between `://` and `@`, from the first colon on.
void cover_passwords(std::string& line) {
  for (std::size_t at = 0; (at = line.find("://", at)) != npos; at += 3) {
    const std::size_t begin = at + 3;
    const std::size_t end = std::min(line.find_first_of(" \t\"'<>", begin), line.size());
    // A password may hold `/` or `@` although it should not.
    const std::size_t sign = std::string_view(line).substr(0, end).rfind('@');
    if (sign == npos || sign < begin) continue;
    const std::size_t colon = line.find(':', begin);
    cover(line, colon < sign ? colon + 1 : begin, sign);
  }
}

}  // namespace

std::string without_url_passwords(std::string_view text) {
  std::string out(text);
  cover_passwords(out);
  return out;
}

std::string without_secrets(std::string_view line, std::string_view before) {
  std::string out(line);
  cover_passwords(out);
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (!is_word(line[i]) || (i > 0 && is_word(line[i - 1]))) continue;
    std::size_t end = i;
    while (end < line.size() && is_word(line[end])) ++end;
    const std::string key = lower_word(line.substr(i, end - i));
    std::size_t at = end;
    if (at < line.size() && (line[at] == '"' || line[at] == '\'')) ++at;
    while (at < line.size() && line[at] == ' ') ++at;
    if (at >= line.size() || (line[at] != ':' && line[at] != '=')) continue;
    ++at;
    while (at < line.size() && (line[at] == ' ' || line[at] == '=')) ++at;
    const bool quoted = at < line.size() && (line[at] == '"' || line[at] == '\'');
    const std::size_t to = end_of_value(line, at);
    if (is_secret_key(key)) {
      cover(out, at + (quoted ? 1 : 0), to);
    } else if (key == "webhook") {
      const std::size_t host = line.find("://", at);
      const std::size_t path = host == npos ? npos : line.find('/', host + 3);
      if (path != npos && path < to) cover(out, path + 1, to);
    }
  }
  // `password: |` and the like.
  while (!before.empty() && std::string_view(" \t\r|>-+").find(before.back()) != npos)
    before.remove_suffix(1);
  if (before.ends_with(':')) {
    before.remove_suffix(1);
    std::size_t from = before.size();
    while (from > 0 && is_word(before[from - 1])) --from;
    const std::size_t text = line.find_first_not_of(' ');
    if (is_secret_key(lower_word(before.substr(from))) && text != npos &&
        text > std::min(before.find_first_not_of(' '), before.size())) {
      cover(out, text, out.size());
    }
  }
  return out;
}

}  // namespace weir::config
