#include "config/text/secret_scan.h"

#include <algorithm>

#include "config/text/edit_distance.h"

namespace weir::config::secret_scan {
namespace {

constexpr std::string_view kSecretWords[] = {"password", "passwd",        "passphrase",
                                             "secret",   "token",         "api_key",
                                             "apikey",   "authorization", "credential"};

/// Too short to match anywhere in a key: only as a whole part between underscores.
constexpr std::string_view kShortWords[] = {"pass", "pwd", "requirepass"};

/// Whether `text` is probably a mistyped `word`: a letter or two are missing, too many, changed or
/// in the wrong order.
bool is_nearly(std::string_view text, std::string_view word) {
  constexpr std::size_t kLongest = 32;
  const std::size_t bound = word.size() >= 8 ? 2 : 1;
  return text.size() <= kLongest && edit_distance(text, word, bound) <= bound;
}

}  // namespace

bool is_secret_key(std::string key) {
  std::replace(key.begin(), key.end(), '-', '_');  // headers, too: `x-api-key`
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

std::size_t skip_blanks(std::string_view line, std::size_t at) noexcept {
  while (at < line.size() && is_blank(line[at])) ++at;
  return at;
}

bool is_comment(std::string_view line, std::size_t at) noexcept {
  return line[at] == '#' && (at == 0 || is_blank(line[at - 1]));
}

std::size_t close_of(std::string_view line, std::size_t at, char quote) noexcept {
  for (; at < line.size(); ++at) {
    if (line[at] == '\\' && quote == '"') {
      ++at;
    } else if (line[at] == quote) {
      if (quote == '"' || at + 1 >= line.size() || line[at + 1] != quote) return at;
      ++at;  // `''` is one within
    }
  }
  return npos;
}

std::size_t skip_properties(std::string_view line, std::size_t at) noexcept {
  at = skip_blanks(line, at);
  while (at < line.size() && (line[at] == '!' || line[at] == '&')) {
    at = skip_blanks(line, end_of_property(line, at));
  }
  return at;
}

std::size_t end_of_property(std::string_view line, std::size_t at) noexcept {
  while (at < line.size() && !is_blank(line[at]) && line[at] != ',' && !closes(line[at])) ++at;
  return at;
}

std::size_t end_of_brackets(std::string_view line, std::size_t at, std::size_t& depth) noexcept {
  bool fresh = true;
  for (; at < line.size(); ++at) {
    const char c = line[at];
    if (is_comment(line, at)) break;
    if (fresh && is_quote(c)) {
      const std::size_t close = close_of(line, at + 1, c);
      if (close != npos) at = close;
    }
    if (opens(c)) ++depth;
    if (closes(c) && --depth == 0) return at + 1;
    if (!is_blank(c)) fresh = opens(c) || c == ',' || c == ':';
  }
  return npos;
}

bool is_block(std::string_view line, std::size_t at) noexcept {
  std::size_t depth = 0;
  for (const char c : line.substr(0, at)) {
    if (opens(c)) ++depth;
    if (closes(c) && depth > 0) --depth;
  }
  return depth == 0;
}

std::size_t end_of_value(std::string_view line, std::size_t from, bool block) {
  if (from < line.size() && is_quote(line[from]))
    return std::min(close_of(line, from + 1, line[from]), line.size());
  if (from < line.size() && opens(line[from])) {
    std::size_t depth = 0;
    return std::min(end_of_brackets(line, from, depth), line.size());
  }
  std::size_t i = from;
  for (; i < line.size(); ++i) {
    if (!block && closes(line[i])) break;
    if (!block && line[i] == ',' && (i + 1 == line.size() || line[i + 1] == ' ')) break;
    if (line[i] == '#' && i > from && is_blank(line[i - 1])) break;
  }
  while (i > from && is_blank(line[i - 1])) --i;
  return i;
}

void cover_escaped(std::string& out, std::string_view line) {
  for (std::size_t at = 0; (at = line.find('"', at)) != npos;) {
    const std::size_t close = std::min(close_of(line, at + 1, '"'), line.size());
    bool hides = false;
    for (std::size_t i = at + 1; i + 1 < close; ++i) {
      if (line[i] != '\\') continue;
      ++i;
      hides = hides || std::string_view("/xuU").find(line[i]) != npos;
    }
    const std::size_t next = skip_blanks(line, std::min(close + 1, line.size()));
    const bool is_key = next < line.size() && line[next] == ':';
    if (hides) cover(out, at + 1, is_key ? line.size() : close);
    at = close + 1;
  }
}

}  // namespace weir::config::secret_scan
