#include "config/text/secrets.h"

#include <algorithm>
#include <vector>

#include "config/text/problem.h"
#include "config/text/secret_scan.h"

namespace weir::config {
namespace {

using namespace secret_scan;

/// The values of a query: tokens and signatures occur there under many names.
void cover_query(std::string& line, std::size_t from, std::size_t end) {
  std::size_t at = std::min(line.find('?', from), end);
  while ((at = line.find('=', at)) < end) {
    const std::size_t to = std::min(line.find('&', at), end);
    cover(line, at + 1, to);
    at = to;
  }
}

/// The quote that is open before `begin`; npos: none.
std::size_t open_quote(std::string_view line, std::size_t begin) {
  std::size_t open = npos;
  for (std::size_t i = 0; i < begin; ++i) {
    const bool inside = line[i] == '\'' && i > 0 && is_word(line[i - 1]);  // `it's`
    if (open == npos ? is_quote(line[i]) && !inside : line[i] == line[open])
      open = open == npos ? i : npos;
  }
  return open;
}

/// The end of the URL whose `://` is at `at`. A quote ends it only if one is open before it: a
/// password may hold the other one, or both.
std::size_t end_of_url(std::string_view line, std::size_t at) {
  std::size_t begin = at;
  while (begin > 0 && (is_word(line[begin - 1]) || line[begin - 1] == '+')) --begin;
  std::size_t open = open_quote(line, begin);
  if (begin > 0 && is_quote(line[begin - 1])) open = begin - 1;
  const bool escaped = open != npos && open > 0 && line[open - 1] == '\\';
  const bool angle = line.substr(0, at).rfind('<') != npos;
  std::size_t i = at + 3;
  for (; i < line.size() && (open != npos || (line[i] != ' ' && line[i] != '\t')); ++i) {
    if (angle && line[i] == '>') break;
    if (open == npos || line[i] != line[open]) continue;
    const bool doubled = line[i] == '\'' && i + 1 < line.size() && line[i + 1] == '\'';
    const bool behind = line[i] == '"' && line[i - 1] == '\\';
    if (behind && !escaped) continue;
    if (!doubled) return behind ? i - 1 : i;
    ++i;
  }
  return i;
}

/// Covers the text between `://` and `@`, from the first colon on, and the values of queries.
void cover_passwords(std::string& line) {
  for (std::size_t at = 0; (at = line.find("://", at)) != npos; at += 3) {
    const std::size_t begin = at + 3;
    const std::size_t end = end_of_url(line, at);
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

/// Covers the texts of expressions that name a secret's field, in any form: a text may come
/// before `==` or in a call. `&&`, `||` and a comma part them, outside of brackets. Null, numbers
/// and fields are no secrets.
class Expressions {
 public:
  Expressions(std::string& out, std::string_view line) : out_(out), line_(line) {}

  void cover_texts() {
    bool fresh = true;  // a YAML value or key may begin here
    for (std::size_t i = 0; i < line_.size(); ++i) {
      const char c = line_[i];
      if (is_comment(line_, i)) break;
      if (is_blank(c)) continue;
      if (fresh && is_quote(c)) {
        const std::size_t close = close_of(line_, i + 1, c);
        const std::size_t next = close == npos ? npos : skip_blanks(line_, close + 1);
        const bool is_key = next < line_.size() && line_[next] == ':';
        if (is_key || (close != npos && ends_value(next))) {
          if (!is_key) cover_within(i + 1, close, c);
          i = is_key ? next : close;
          fresh = is_key;
          continue;
        }
      }
      if (fresh && is_word(c)) {
        std::size_t end = i;
        while (end < line_.size() && is_word(line_[end])) ++end;
        const std::size_t colon = skip_blanks(line_, end);
        const bool dash = c == '-' && end == i + 1;
        const bool is_key = colon < line_.size() && line_[colon] == ':' &&
                            (colon + 1 == line_.size() || is_blank(line_[colon + 1]));
        if (dash || is_key) {
          i = is_key ? colon : i;
          continue;
        }
      }
      if (fresh && (opens(c) || c == '?')) continue;
      if (c == ',' && depth_ == 0) {
        end_clause();
        fresh = true;
        continue;
      }
      fresh = false;
      i = step(i, line_.size(), 0);
      last_ = line_[i];
    }
    goes_on_ = secret_ && (depth_ > 0 || kUnfinished.find(last_) != npos ||
                           line_.substr(0, line_.find_last_not_of(" \r") + 1).ends_with(" in"));
    end_clause();
  }

  /// Whether the next line continues an expression that names a secret's field.
  bool goes_on() const { return goes_on_; }

 private:
  static constexpr std::string_view kUnfinished = "=!?:<>+~";

  struct Text {
    std::size_t from, to;
  };

  bool ends_value(std::size_t at) const {
    return at >= line_.size() || line_[at] == ',' || closes(line_[at]) || is_comment(line_, at);
  }

  /// Within a quoted YAML value: `"... == \"a\""` and the like in single quotes.
  void cover_within(std::size_t from, std::size_t to, char quote) {
    for (std::size_t i = from; i < to; ++i) i = step(i, to, quote);
    end_clause();
  }

  /// Takes the token at `i`, and returns the position of its last byte.
  std::size_t step(std::size_t i, std::size_t to, char quote) {
    const std::string_view rest = line_.substr(i, to - i);
    const std::string_view mark = quote == '"' && rest.starts_with("\\\"")  ? rest.substr(0, 2)
                                  : quote == '\'' && rest.starts_with("''") ? rest.substr(0, 2)
                                  : is_quote(rest[0])                       ? rest.substr(0, 1)
                                                                            : std::string_view{};
    if (!mark.empty() && (rest[0] != '\'' || i == 0 || !is_word(line_[i - 1]))) {
      std::size_t close = i + mark.size();
      while (close < to && line_.substr(close, mark.size()) != mark)
        close += line_[close] == '\\' && mark.size() == 1 ? 2U : 1U;
      close = std::min(close, to);
      // header["x-api-key"]
      const bool is_name = i > 1 && line_[i - 1] == '[' && is_word(line_[i - 2]);
      if (is_name)
        secret_ = secret_ ||
                  is_secret_key(lower_word(line_.substr(i + mark.size(), close - i - mark.size())));
      else
        texts_.push_back({i + mark.size(), close});
      return std::min(close + mark.size(), to) - 1;
    }
    if (is_word(rest[0])) {
      std::size_t end = i;
      while (end < to && is_word(line_[end])) ++end;
      secret_ = secret_ || is_secret_key(lower_word(line_.substr(i, end - i)));
      return end - 1;
    }
    if (rest[0] == '(' || rest[0] == '[') ++depth_;
    if ((rest[0] == ')' || rest[0] == ']') && depth_ > 0) --depth_;
    if (depth_ == 0 && (rest.starts_with("&&") || rest.starts_with("||"))) end_clause();
    return i;
  }

  void end_clause() {
    for (const Text& text : texts_) {
      if (secret_) cover(out_, text.from, text.to);
    }
    texts_.clear();
    secret_ = false;
    depth_ = 0;
  }

  std::string& out_;
  std::string_view line_;
  std::vector<Text> texts_;  // of this clause
  std::size_t depth_ = 0;
  bool secret_ = false;
  char last_ = ' ';
  bool goes_on_ = false;
};

/// Covers the items of the list in `query.token in ["a", "b"]`, whose `in` is at `at`.
void cover_choice(std::string& out, std::string_view line, std::size_t at) {
  if (!line.substr(std::min(at, line.size())).starts_with("in")) return;
  const std::size_t open = line.find_first_not_of(' ', at + 2);
  if (open == npos || line[open] != '[') return;
  cover(out, open + 1, std::min(line.find(']', open), line.size()));
}

/// The plain word before a colon in column 0; empty if there is none.
std::string_view section_name(std::string_view line) {
  std::size_t end = 0;
  while (end < line.size() && is_word(line[end])) ++end;
  const std::size_t colon = skip_blanks(line, end);
  const bool is_key = colon < line.size() && line[colon] == ':' &&
                      (colon + 1 == line.size() || is_blank(line[colon + 1]));
  return is_key ? line.substr(0, end) : std::string_view{};
}

/// Whether a line in column 0 begins `notify:`, also misspelt, or may begin it: a bracket, a quote,
/// a tag, `?` and `---` may begin any section.
bool may_begin_notify(std::string_view line) {
  return section_name(line).empty() || lower_word(line.substr(0, 5)) == "notif";
}

/// Whether a key may be that of a webhook, also if it is misspelt.
bool is_hook_key(std::string_view key) {
  return key.starts_with("web") || key.find("hook") != npos;
}

/// The value of such a key: the part after the host, or all of it if there is no host.
void cover_hook(std::string& line, std::size_t at, std::size_t to) {
  const std::size_t scheme = line.find("://", at);
  const std::size_t host = scheme < to ? scheme + 3 : at;
  const std::size_t path = line.find('/', host);
  if (path < to) {
    cover(line, path + 1, to);
  } else if (host == at) {
    cover(line, at, to);
  }
}

/// Covers the path of each URL: a caller who knows the path of a webhook may post there.
void cover_paths(std::string& line) {
  for (std::size_t at = 0; (at = line.find("://", at)) != npos; at += 3) {
    const std::size_t path = line.find('/', at + 3);
    if (path >= end_of_url(line, at)) continue;
    cover(line, path + 1, std::min(line.find_first_of(" \t,}]\"'", path), line.size()));
  }
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
    if (close == npos) continue;
    const std::string key = lower_word(out.substr(at + 1, end - at - 1));
    if (is_secret_key(key)) {
      cover(out, end + 1, close);
    } else if (is_hook_key(key)) {
      cover_hook(out, end + 1, close);
    }
  }
  return out;
}

/// The kind of keys in a section that begins with this line, in column 0. Only a plain word is
/// taken for the name of a section: a quote, `?`, a tag, a bracket or `---` may begin any section.
LineKeys LineSections::section_of(std::string_view line) const {
  if (anchors_.settings) return LineKeys::settings;
  const std::string_view name = section_name(line);
  const bool names = std::find(std::begin(kSectionsOfNames), std::end(kSectionsOfNames), name) !=
                     std::end(kSectionsOfNames);
  return names ? LineKeys::names : LineKeys::settings;
}

namespace {

/// Whether there is an alias, as far as names show: most files have none.
bool has_aliases(std::string_view text) {
  std::set<std::string_view> anchors;
  each_name(text, '&', [&](std::size_t from, std::size_t to) {
    anchors.insert(text.substr(from, to - from));
  });
  bool found = false;
  each_name(text, '*', [&](std::size_t from, std::size_t to) {
    found = found || anchors.contains(text.substr(from, to - from));
  });
  return found;
}

}  // namespace

LineSections::LineSections(std::string_view text) {
  constexpr int kRounds = 8;
  if (!has_aliases(text)) return;
  // The value of an anchor may have aliases of others.
  for (int round = 0; note_anchors(text); ++round) {
    if (round == kRounds) {
      anchors_.all = anchors_.settings = true;
      return;
    }
  }
}

/// False: nothing is new.
bool LineSections::note_anchors(std::string_view text) {
  std::set<std::string, std::less<>> among_names, in_settings;
  const Anchors before = anchors_;
  LineSections sections;
  sections.anchors_ = before;
  for (std::size_t end = 0; end != npos; text.remove_prefix(std::min(end + 1, text.size()))) {
    end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    const LineMask mask = sections.next(line);
    const std::string shown = line.find('*') == npos ? std::string() : without_secrets(line, mask);
    each_name(line, '*', [&](std::size_t from, std::size_t to) {
      const std::string name(line.substr(from, to - from));
      const bool is_covered = shown.find_first_not_of('*', from) >= to;
      if (is_covered || mask.hooks) {
        anchors_.secrets.insert(name);
      } else if (mask.keys == LineKeys::settings) {
        in_settings.insert(name);
      }
    });
    if (mask.keys != LineKeys::names) continue;
    each_name(line, '&', [&](std::size_t from, std::size_t to) {
      among_names.emplace(line.substr(from, to - from));
    });
  }
  anchors_.settings = anchors_.settings || std::any_of(in_settings.begin(), in_settings.end(),
                                                       [&](const std::string& name) {
                                                         return among_names.contains(name);
                                                       });
  return anchors_.secrets.size() != before.secrets.size() || anchors_.settings != before.settings;
}

bool LineSections::is_secret(std::string_view anchor) const {
  return anchors_.all || anchors_.secrets.contains(anchor);
}

LineMask LineSections::next(std::string_view line) {
  const std::size_t text = skip_blanks(line, 0);
  if (text == line.size()) return inside_ == Inside::nothing ? section_ : LineKeys::secret;
  anchored_ = false;
  cut_ = 0;
  const bool flow = depth_ > 0;
  const std::size_t from = inside_ == Inside::nothing ? 0 : end_of_secret(line, text);
  if (from == npos) return LineKeys::secret;
  const bool began_secret = from > 0;
  const bool item = line[0] == '-' && (line.size() == 1 || is_blank(line[1]));
  if (!began_secret && text == 0 && !item && line[0] != '#' && !closes(line[0])) {
    section_ = section_of(line);
    hooks_ = may_begin_notify(line);
    depth_ = 0;
  }
  look_for_secrets(line, from);
  if (inside_ == Inside::nothing) look_for_expression(line);
  LineMask out = began_secret ? LineKeys::secret : section_;
  out.flow = flow;
  out.anchored = anchored_;
  out.hooks = hooks_;
  out.cut = cut_;
  return out;
}

/// The end of the secret that the line continues: 0 if it continues none, npos if the
/// next line continues it as well.
std::size_t LineSections::end_of_secret(std::string_view line, std::size_t text) {
  std::size_t end = 0;
  switch (inside_) {
    case Inside::nothing:
      break;
    case Inside::deeper:
      if (line[text] == '#' && text <= column_) return 0;  // a comment ends nothing
      if (text > column_ || (text == column_ && line[text] == '-' && items_)) return npos;
      break;
    case Inside::quote: {
      const std::size_t close = close_of(line, 0, quote_);
      if (close == npos) return npos;
      end = close + 1;
      break;
    }
    case Inside::brackets:
      end = end_of_brackets(line, 0, open_);
      if (end == npos) return npos;
      break;
    case Inside::flow:
      inside_ = Inside::nothing;
      if (!section_name(line).empty()) return 0;  // a bracket is missing above
      end = end_of_secret_at(line, skip_properties(line, 0));
      if (inside_ != Inside::nothing) return npos;
      if (end == 0) return 0;  // there is no value
      break;
  }
  inside_ = Inside::nothing;
  return end;
}

/// Where a secret's value ends that begins at `at`; inside_ shows whether the next line continues
/// it.
std::size_t LineSections::end_of_secret_at(std::string_view line, std::size_t at) {
  const bool flow = depth_ > 0;
  if (at < line.size() && is_quote(line[at])) {
    const std::size_t close = close_of(line, at + 1, line[at]);
    if (close != npos) return close + 1;
    inside_ = Inside::quote;
    quote_ = line[at];
    return line.size();
  }
  if (at < line.size() && opens(line[at])) {
    open_ = 0;
    const std::size_t end = end_of_brackets(line, at, open_);
    if (end != npos) return end;
    inside_ = Inside::brackets;
    return line.size();
  }
  if (!flow) {
    inside_ = Inside::deeper;  // the text of `|`, a list, a map, or more words
    items_ = at >= line.size() || is_comment(line, at);
    return line.size();
  }
  const std::size_t end = end_of_value(line, at);
  const std::size_t next = skip_blanks(line, end);
  if (next >= line.size() || is_comment(line, next)) {
    inside_ = Inside::flow;
    return line.size();
  }
  return end;
}

/// The rest of an expression, as in `when: header.token in [`, is covered like a secret.
void LineSections::look_for_expression(std::string_view line) {
  std::string out(line);
  Expressions expressions(out, line);
  expressions.cover_texts();
  if (!expressions.goes_on()) return;
  std::size_t key = skip_blanks(line, 0);
  while (line.substr(key).starts_with("- ")) key = skip_blanks(line, key + 2);
  const bool is_key = !section_name(line.substr(key)).empty();
  inside_ = depth_ > 0 ? Inside::flow : Inside::deeper;
  column_ = is_key || key == 0 ? key : key - 1;
  items_ = false;
}

/// An unclosed quote at `at` begins no text, which would hide the rest of the line. A setting or a
/// URL continues in the next line, perhaps with a part of a password or path.
bool LineSections::look_for_cut_text(std::string_view line, std::size_t at) {
  if (section_ != LineKeys::settings && line.find("://", at) == npos) return false;
  cut_ = at + 1;
  inside_ = Inside::quote;
  quote_ = line[at];
  return true;
}

void LineSections::look_for_secrets(std::string_view line, std::size_t from) {
  bool fresh = true;  // a key or a value may begin here
  // The column that a value's next lines exceed, and whether a list may be in it as well.
  const std::size_t text = skip_blanks(line, 0);
  std::size_t owner = text == 0 ? 0 : text - 1;
  bool owner_is_key = false;
  for (std::size_t i = from; i < line.size(); ++i) {
    const char c = line[i];
    if (is_comment(line, i)) return;
    if (is_blank(c)) continue;
    if (fresh && (c == '&' || c == '!')) {
      const std::size_t end = end_of_property(line, i + 1);
      if (c == '&' && is_secret(line.substr(i + 1, end - i - 1))) {
        anchored_ = true;
        column_ = owner;
        const std::size_t at = end_of_secret_at(line, skip_properties(line, i));
        items_ = items_ && owner_is_key;
        if (inside_ != Inside::nothing) return;
        i = at - 1;
        fresh = false;
        continue;
      }
      i = end - 1;
      continue;
    }
    const std::size_t close = fresh && is_quote(c) ? close_of(line, i + 1, c) : npos;
    if (fresh && is_quote(c) && close == npos && look_for_cut_text(line, i)) return;
    std::size_t key = i, end = i;
    if (close != npos) {
      key = i + 1;
      end = close;
    } else if (is_word(c)) {
      while (end < line.size() && is_word(line[end])) ++end;
    }
    const std::size_t colon = skip_blanks(line, close == npos ? end : close + 1);
    const bool is_key = end > key && colon < line.size() && line[colon] == ':' &&
                        (close != npos || colon + 1 == line.size() || is_blank(line[colon + 1]));
    if (is_key) {
      // Behind a comma outside of brackets: a map without braces of its own, the file's.
      if (comma_) section_ = LineKeys::settings;
      comma_ = false;
      fresh = true;
      owner = key;
      owner_is_key = true;
      i = colon;
      if (section_ == LineKeys::settings &&
          is_secret_key(lower_word(line.substr(key, end - key)))) {
        column_ = key;
        const std::size_t at = end_of_secret_at(line, skip_properties(line, colon + 1));
        if (inside_ != Inside::nothing) return;
        i = at - 1;
        fresh = false;
      }
      continue;
    }
    comma_ = c == ',' && depth_ == 0;
    if (close != npos || end > i) {
      const bool dash = c == '-' && end == i + 1;
      if (fresh && dash) owner = i;
      owner_is_key = owner_is_key && !dash;
      i = close != npos ? close : end - 1;
      fresh = fresh && dash;
      continue;
    }
    if (fresh && opens(c)) ++depth_;
    if (closes(c) && depth_ > 0) --depth_;
    fresh = opens(c) ? fresh : c == ',' || (fresh && c == '?');
  }
}

std::string without_secrets(std::string_view line, LineMask mask) {
  std::string out(line);
  if (mask.keys == LineKeys::secret) {
    cover(out, skip_blanks(line, 0), line.size() - (line.ends_with('\r') ? 1 : 0));
    return out;
  }
  cover_passwords(out);
  if (mask.hooks) cover_paths(out);
  if (mask.cut != 0) cover(out, mask.cut, out.size());
  if (mask.keys == LineKeys::settings) cover_escaped(out, line);
  Expressions(out, line).cover_texts();
  const auto cover_value = [&](std::size_t at) {
    const bool quoted = at < line.size() && is_quote(line[at]);
    std::size_t end = end_of_value(line, at, !mask.flow && is_block(line, at));
    // Of `'https://h/?api_key=...'` the quote stays: else a text that is masked twice has no end.
    const std::size_t open = quoted ? npos : open_quote(line, at);
    if (open != npos) end = std::min(end, close_of(line, at, line[open]));
    cover(out, at + (quoted ? 1 : 0), end);
  };
  if (mask.anchored) {
    each_name(line, '&',
              [&](std::size_t from, std::size_t) { cover_value(skip_properties(line, from - 1)); });
  }
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (!is_word(line[i]) || (i > 0 && is_word(line[i - 1]))) continue;
    std::size_t end = i;
    while (end < line.size() && is_word(line[end])) ++end;
    const std::string key = lower_word(line.substr(i, end - i));
    std::size_t at = end;
    if (at < line.size() && is_quote(line[at])) ++at;
    at = skip_blanks(line, at);
    if (is_secret_key(key)) cover_choice(out, line, at);
    if (mask.keys == LineKeys::names || line.substr(at).starts_with("==")) continue;
    if (at >= line.size() || (line[at] != ':' && line[at] != '=')) continue;
    at = skip_properties(line, at + 1);
    const std::size_t to = end_of_value(line, at);
    if (is_secret_key(key)) {
      cover_value(at);
    } else if (is_hook_key(key)) {
      if (at >= to || line[at] == '{' || line[at] == '[') continue;
      cover_hook(out, at + (is_quote(line[at]) ? 1 : 0), to);
    }
  }
  return out;
}

std::string text_without_secrets(std::string_view text) {
  std::string out;
  LineSections sections(text);
  for (std::size_t end = 0; end != npos; text.remove_prefix(std::min(end + 1, text.size()))) {
    end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    out += without_secrets(line, sections.next(line));
    if (end != npos) out += '\n';
  }
  return out;
}

}  // namespace weir::config
