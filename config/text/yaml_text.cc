#include "config/text/yaml_text.h"

#include <algorithm>
#include <array>

#include "core/chars/ascii.h"
#include "core/chars/hex.h"
#include "core/utf8.h"

namespace weir::config {
namespace {

/// Characters that are not allowed in a file: they show nothing, or look like something else.
std::string_view forbidden(char32_t c) {
  if ((c < 0x20 && c != '\t' && c != '\n' && c != '\r') || (c >= 0x7F && c < 0xA0)) {
    return "a control character";
  }
  if ((c >= 0x202A && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069)) {
    return "an invisible character that changes the direction of the text";
  }
  if (c == 0x2028 || c == 0x2029 || c == 0xFEFF) return "an invisible character";
  return {};
}

/// The column of a tab before the first other character of a line; 0 if there is none.
std::size_t indenting_tab(std::string_view text, std::uint32_t line) {
  std::size_t at = 0;
  for (std::uint32_t n = 1; n < line; ++n) at = text.find('\n', at) + 1;
  const std::size_t first = std::min(text.find_first_not_of(" \t", at), text.size());
  const std::size_t tab = text.substr(at, first - at).find('\t');
  return tab == std::string_view::npos ? 0 : tab + 1;
}

struct SyntaxRow {
  std::string_view theirs;  // begins with
  std::string_view ours;
  std::string_view hint;
};
constexpr std::string_view kQuoteExpression =
    "in { } and [ ] a text with , { } [ ] or after a closing quote must be quoted as a whole";
constexpr SyntaxRow kSyntax[] = {
    {"end of map flow", "this { } map goes wrong here, or is not closed", kQuoteExpression},
    {"end of sequence flow", "this [ ] list goes wrong here, or is not closed", kQuoteExpression},
    {"illegal flow end", "a closing bracket without its opening one", kQuoteExpression},
    {"end of map not found", "a new key or the end of this map is expected here",
     "check the indentation; a text with quotes or [ ] in it must be quoted as a whole"},
    {"end of sequence not found", "a list item (-) or the end of this list is expected here",
     "check the indentation"},
    {"illegal map value", "a second \": \" in one line",
     "quote a text that holds \": \"; check the indentation"},
    {"illegal map key", "a key is not allowed here", "check the indentation"},
    {"illegal block entry", "a list item (-) is not allowed here",
     "put the list on lines of its own"},
    {"illegal tab", "a tab in the indentation", "indent with blanks"},
    {"alias not found", "a text that begins with * must be quoted", "write \"*\""},
    {"the referenced anchor", "this alias has no anchor",
     "a text that begins with * must be quoted, as in \"*\""},
    {"anchor not found", "a text that begins with & must be quoted", ""},
    {"illegal character found while scanning a", "a text that begins with * or & must be quoted",
     ""},
    {"aliases can't have", "a text that begins with * must be quoted", "write \"*\""},
    {"cannot assign multiple", "a text that begins with & or ! must be quoted", ""},
    {"unknown token", "a text with this character here must be quoted",
     "quote the whole text, as in \"GET /a?b=1\""},
    {"unknown escape character", "an unknown escape in a double-quoted text",
     "write \\\\ for a backslash, or use single quotes"},
    {"bad character found while scanning hex", "a bad \\x or \\u escape", ""},
    {"illegal EOF in scalar", "a quoted text without its closing quote", ""},
    {"bad file", "nested too deeply", ""},
};

}  // namespace

bool check_text(std::string_view text, std::uint32_t file, const TreeLimits& limits,
                Problems& problems) {
  Where where{file, 1, 1, 1};
  if (text.size() > limits.bytes) {
    problems.error(where, "the file has more than " + std::to_string(limits.bytes >> 20) + " MiB");
    return false;
  }
  // yaml-cpp reads a flow collection on one line to its end before it reports anything, and a line
  // may be the whole file: collections that would have too many nodes, or too many levels, are
  // refused before.
  std::size_t brackets_in_a_row = 0, flow_signs = 0;
  for (std::size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (c == '\n') {
      ++where.line;
      where.column = 1;
      ++i;
      continue;
    }
    const Utf8 d = decode_utf8(text.substr(i));
    if (d.length == 0) {
      problems.error(where, "not UTF-8");
      return false;
    }
    const bool lone_return = c == '\r' && (i + 1 == text.size() || text[i + 1] != '\n');
    if (const std::string_view what = lone_return ? "a control character" : forbidden(d.code);
        !what.empty()) {
      problems.error(where, std::string(what) + " in the file");
      return false;
    }
    const bool opens = c == '[' || c == '{';
    if (opens || c == ',' || c == ']' || c == '}') ++flow_signs;
    brackets_in_a_row = opens ? brackets_in_a_row + 1 : c == ' ' ? brackets_in_a_row : 0;
    if (brackets_in_a_row > limits.depth) {
      problems.error(where, "nested deeper than " + std::to_string(limits.depth) + " levels");
      return false;
    }
    if (flow_signs > 2 * limits.nodes) {
      problems.error(where, "more than " + std::to_string(limits.nodes) + " nodes", kManyNodes);
      return false;
    }
    where.column += static_cast<std::uint32_t>(d.length);
    i += d.length;
  }
  return true;
}

Token token_at(std::string_view text, std::size_t from) {
  Token token;
  token.from = token.begin = std::min(from, text.size());
  std::size_t i = token.begin;
  if (i < text.size() && text[i] == '&') {  // an anchor's mark is that of the anchor
    while (i < text.size() && text[i] != ' ' && text[i] != '\n') ++i;
    while (i < text.size() && text[i] == ' ') ++i;
    if (i >= text.size() || text[i] == '\n' || text[i] == '\r') {
      token.length = 1;
      return token;
    }
    token.begin = i;
  }
  const char quote = i < text.size() ? text[i] : '\0';
  if (quote != '"' && quote != '\'') {  // plain, or the | or > of a block
    token.length = 1;
    return token;
  }
  std::size_t line_end = std::string_view::npos;
  for (++i; i < text.size(); ++i) {
    if (text[i] == '\n' && line_end == std::string_view::npos) line_end = i;
    if (quote == '"' && text[i] == '\\') {
      ++i;
    } else if (text[i] == quote) {
      if (quote == '\'' && i + 1 < text.size() && text[i + 1] == quote) {
        ++i;
      } else {
        token.length = std::min(i + 1, line_end) - token.begin;
        return token;
      }
    }
  }
  token.unterminated = true;
  token.length = 1;
  return token;
}

bool is_bare_boolean(std::string_view word) {
  if (word.size() > 3) return false;
  const std::string low = ascii::lowered(word);
  return low == "on" || low == "off" || low == "yes" || low == "no";
}

void check_plain(const Node& node, Problems& problems) {
  if (is_bare_boolean(node.text)) {
    const std::string word(node.text);
    const bool truth = word.size() != 3 ? (word[1] | 0x20) == 'n' : (word[0] | 0x20) == 'y';
    problems.error(
        node.where, "bare \"" + word + "\" is a boolean to some YAML readers and a text to others",
        std::string("write ") + (truth ? "true" : "false") + ", or quote it as \"" + word + "\"");
    return;
  }
  std::string_view digits = node.text;
  if (!digits.empty() && (digits[0] == '-' || digits[0] == '+')) digits.remove_prefix(1);
  if (digits.size() < 2 || digits[0] != '0' || !ascii::is_digit(digits[1])) return;
  const bool number =
      std::all_of(digits.begin(), digits.end(),
                  [](char c) { return ascii::is_digit(c) || c == '.' || c == '_'; }) &&
      std::count(digits.begin(), digits.end(), '.') <= 1;
  if (!number) return;
  problems.error(
      node.where, "number with a leading zero: " + std::string(node.text.substr(0, 40)),
      "some YAML readers take it for octal; leave out the zero, or quote it if it is a text");
}

void tell_syntax(std::string_view what, Where where, std::string_view text, Problems& problems) {
  // The parser's place may be past the end (an unclosed bracket): show the last line that has text.
  const auto lines = static_cast<std::uint32_t>(std::count(text.begin(), text.end(), '\n'));
  if (where.line > lines + 1) where.line = lines + 1;
  if (const std::size_t tab = indenting_tab(text, where.line); tab != 0) {
    where.column = static_cast<std::uint32_t>(tab);
    problems.error(where, "a tab in the indentation", "indent with blanks");
    return;
  }
  for (const SyntaxRow& row : kSyntax) {
    if (what.starts_with(row.theirs)) {
      problems.error(where, std::string(row.ours), std::string(row.hint));
      return;
    }
  }
  problems.error(where, "YAML syntax: " + std::string(what));
}

int open_brackets(std::string_view text) {
  int depth = 0;
  char quote = '\0';
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote != '\0') {
      if (c == '\\') {
        ++i;
      } else if (c == quote) {
        quote = '\0';
      }
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '(' || c == '[') {
      ++depth;
    } else if (c == ')' || c == ']') {
      --depth;
    }
  }
  return depth;
}

bool is_digits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), ascii::is_digit);
}

bool is_masked_name(std::string_view text) {
  const std::size_t slash = text.rfind('/');
  return slash != std::string_view::npos && slash > 0 && is_digits(text.substr(slash + 1)) &&
         ascii::is_letter(text[0]);
}

std::string quoted(std::string_view text) {
  constexpr std::size_t kLongest = 80;
  std::string out = "\"";
  const bool cut = text.size() > kLongest;
  if (cut) {
    std::size_t end = kLongest;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
    text = text.substr(0, end);
  }
  for (const char c : text) {
    if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (ascii::is_control(c)) {
      append_hex(out += "\\x", static_cast<unsigned char>(c), 2);
    } else {
      out += c;
    }
  }
  return out + (cut ? "...\"" : "\"");
}

}  // namespace weir::config
