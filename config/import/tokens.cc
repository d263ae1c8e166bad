#include "config/import/tokens.h"

#include <algorithm>

namespace weir::config {

std::vector<NginxToken> nginx_tokens(std::string_view text) {
  std::vector<NginxToken> out;
  std::size_t line = 1;
  for (std::size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (c == '\n') ++line;
    if (c == ' ' || c == '\t' || c == '\r' || c == '\n') {
      ++i;
    } else if (c == '#') {
      while (i < text.size() && text[i] != '\n') ++i;
    } else if (c == ';' || c == '{' || c == '}') {
      const auto kind = c == ';'   ? NginxToken::Kind::end
                        : c == '{' ? NginxToken::Kind::open
                                   : NginxToken::Kind::close;
      out.push_back({kind, std::string(1, c), line});
      ++i;
    } else {
      NginxToken token{NginxToken::Kind::word, {}, line};
      const char quote = c == '"' || c == '\'' ? c : '\0';
      if (quote != '\0') ++i;
      for (; i < text.size(); ++i) {
        const char d = text[i];
        if (d == '\\' && i + 1 < text.size()) {
          // In a regular expression the backslash stays, but before another one.
          const char next = text[++i];
          if (next == 't' || next == 'r' || next == 'n') {
            token.text += next == 't' ? '\t' : next == 'r' ? '\r' : '\n';
          } else {
            if (next != '"' && next != '\'' && next != '\\') token.text += d;
            token.text += next;
          }
        } else if (quote != '\0' ? d == quote
                                 : d == ';' || d == ' ' || d == '\t' || d == '\r' || d == '\n' ||
                                       (d == '{' && !token.text.ends_with('$'))) {
          break;
        } else {
          token.text += d;
        }
        if (text[i] == '\n') ++line;
      }
      if (quote != '\0' && i < text.size()) ++i;
      out.push_back(std::move(token));
    }
  }
  return out;
}

std::vector<HaproxyLine> haproxy_lines(std::string_view text) {
  std::vector<HaproxyLine> out;
  std::size_t number = 1;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    HaproxyLine found{number++, {}};
    std::string word;
    bool any = false;
    char quote = '\0';
    for (std::size_t i = 0; i < line.size(); ++i) {
      const char c = line[i];
      if (quote != '\0') {
        if (c == quote) {
          quote = '\0';
        } else if (c == '\\' && quote == '"' && i + 1 < line.size()) {
          word += line[++i];
        } else {
          word += c;
        }
      } else if (c == '"' || c == '\'') {
        quote = c;
        any = true;
      } else if (c == '#') {
        break;
      } else if (c == ' ' || c == '\t' || c == '\r') {
        if (any) found.words.push_back(word);
        word.clear();
        any = false;
      } else {
        if (c == '\\' && i + 1 < line.size()) {
          // In a regular expression the backslash belongs to it.
          if (line[i + 1] != ' ' && line[i + 1] != '#') word += c;
          word += line[++i];
        } else {
          word += c;
        }
        any = true;
      }
    }
    if (any) found.words.push_back(word);
    if (!found.words.empty()) out.push_back(std::move(found));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

}  // namespace weir::config
