#include "config/text/secrets.h"

#include <algorithm>

#include "config/text/edit_distance.h"
#include "config/text/problem.h"
#include "core/chars/ascii.h"

namespace weir::config {
namespace {

constexpr auto npos = std::string_view::npos;
constexpr std::string_view kSecretWords[] = {"password", "passwd",        "passphrase",
                                             "secret",   "token",         "api_key",
                                             "apikey",   "authorization", "credential"};

/// Too short to stand anywhere in a key: a part of it between underscores.
constexpr std::string_view kShortWords[] = {"pass", "pwd", "requirepass"};

bool is_word(char c) noexcept { return ascii::is_letter_or_digit(c) || c == '_' || c == '-'; }

/// Whether somebody meant `word` and has mistyped it: a letter or two are missing, too many,
/// changed or in the wrong order.
bool is_nearly(std::string_view text, std::string_view word) {
  constexpr std::size_t kLongest = 32;
  const std::size_t bound = word.size() >= 8 ? 2 : 1;
  return text.size() <= kLongest && edit_distance(text, word, bound) <= bound;
}

/// Also of a mistyped key: the message about it shows its line.
bool is_secret_key(const std::string& key) {
  if (key.ends_with("_file")) return false;
  if (std::any_of(std::begin(kSecretWords), std::end(kSecretWords),
                  [&](std::string_view word) { return key.find(word) != npos; }))
    return true;
  for (std::string_view rest = key; !rest.empty();) {  // `redis_pasword`, too
    if (std::any_of(std::begin(kSecretWords), std::end(kSecretWords),
                    [&](std::string_view word) { return is_nearly(rest, word); }))
      return true;
    const std::size_t next = rest.find('_');
    const std::string_view word = rest.substr(0, next);
    if (std::any_of(std::begin(kSecretWords), std::end(kSecretWords),
                    [&](std::string_view secret) { return is_nearly(word, secret); }) ||
        std::find(std::begin(kShortWords), std::end(kShortWords), word) != std::end(kShortWords))
      return true;
    rest.remove_prefix(next == npos ? rest.size() : next + 1);
  }
  return false;
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

/// The values of a query: tokens and signatures stand there under many names.
void cover_query(std::string& line, std::size_t from, std::size_t end) {
  std::size_t at = std::min(line.find('?', from), end);
  while ((at = line.find('=', at)) < end) {
    const std::size_t to = std::min(line.find('&', at), end);
    cover(line, at + 1, to);
    at = to;
  }
}

/// Covers the text between `://` and `@`, from the first colon on, and the values of queries.
void cover_passwords(std::string& line) {
  for (std::size_t at = 0; (at = line.find("://", at)) != npos; at += 3) {
    const std::size_t begin = at + 3;
    const std::size_t end = std::min(line.find_first_of(" \t\"'<>", begin), line.size());
    cover_query(line, begin, end);
    // A password may hold `/` or `@` although it should not.
    const std::size_t sign = std::string_view(line).substr(0, end).rfind('@');
    if (sign == npos || sign < begin) continue;
    const std::size_t colon = line.find(':', begin);
    cover(line, colon < sign ? colon + 1 : begin, sign);
  }
}

/// The sections whose keys are names and words of the language: none of them is a secret's.
constexpr std::string_view kSectionsOfNames[] = {"fields",   "events",   "tables",
                                                 "defaults", "policies", "views"};

/// Covers the text that begins at `at` in an expression. Others than texts, such as null, numbers
/// and fields, are no secrets.
void cover_text(std::string& out, std::string_view line, std::size_t at) {
  if (at >= line.size()) return;
  // Within a quoted YAML value: `"... == \"a\""` and the like in single quotes.
  const bool doubled = line.substr(at).starts_with("\\\"") || line.substr(at).starts_with("''");
  if (doubled) {
    const std::size_t close = line.find(line.substr(at, 2), at + 2);
    if (close != npos) return cover(out, at + 2, close);
  }
  if (line[at] == '"' || line[at] == '\'') cover(out, at + 1, end_of_value(line, at));
}

/// What stands in the list of `query.token in ["a", "b"]`, whose `in` is at `at`.
void cover_choice(std::string& out, std::string_view line, std::size_t at) {
  if (!line.substr(std::min(at, line.size())).starts_with("in")) return;
  const std::size_t open = line.find_first_not_of(' ', at + 2);
  if (open == npos || line[open] != '[') return;
  cover(out, open + 1, std::min(line.find(']', open), line.size()));
}

}  // namespace

std::string without_secrets_of_message(std::string_view text) {
  std::string out(text);
  cover_passwords(out);
  // Without a blank after the colon, YAML takes `password:abc` as a key.
  for (std::size_t at = 0; (at = out.find('"', at)) != npos; ++at) {
    std::size_t end = at + 1;
    while (end < out.size() && is_word(out[end])) ++end;
    if (end >= out.size() || (out[end] != ':' && out[end] != '=')) continue;
    const std::size_t close = out.find('"', end);
    if (close == npos || !is_secret_key(lower_word(out.substr(at + 1, end - at - 1)))) continue;
    cover(out, end + 1, close);
  }
  return out;
}

LineKeys LineSections::next(std::string_view line) {
  std::size_t end = 0;
  while (end < line.size() && is_word(line[end])) ++end;
  // Deeper in its section, an item of its list, blank, or a comment.
  if (end == 0 || line.front() == '-') return keys_;
  keys_ = std::find(std::begin(kSectionsOfNames), std::end(kSectionsOfNames),
                    line.substr(0, end)) != std::end(kSectionsOfNames)
              ? LineKeys::names
              : LineKeys::settings;
  return keys_;
}

std::string without_secrets(std::string_view line, std::string_view before, LineKeys keys) {
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
    if (is_secret_key(key)) cover_choice(out, line, at);
    if (line.substr(at).starts_with("!=") || line.substr(at).starts_with("==")) {
      at = line.find_first_not_of(' ', at + 2);
      if (is_secret_key(key)) cover_text(out, line, at);
      continue;
    }
    if (keys == LineKeys::names) continue;
    if (at >= line.size() || (line[at] != ':' && line[at] != '=')) continue;
    ++at;
    while (at < line.size() && line[at] == ' ') ++at;
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
  if (keys == LineKeys::names) return out;
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
