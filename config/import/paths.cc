#include "config/import/paths.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "config/import/yaml_writer.h"
#include "core/chars/ascii.h"
#include "core/chars/percent.h"
#include "core/utf8.h"

namespace weir::config {
namespace {

/// How policies read the field `uri`.
constexpr std::string_view kUriReads[] = {"uri == ", "uri.startsWith(", "uri.matches("};

constexpr std::string_view kBareInPath = "-._~!$&'()*+,=:@/";

/// Whether `path` has this character as it is, and not as `%XX`.
bool is_bare(char c) {
  return ascii::is_letter_or_digit(c) || kBareInPath.find(c) != std::string_view::npos;
}

std::string escaped_text(std::string_view text) {
  std::string out;
  append_percent_encoded(out, text, kBareInPath);
  return out;
}

/// Reads a pattern of PCRE once, left to right.
class PatternReader {
 public:
  PatternReader(std::string_view pattern, bool of_path) : rest_(pattern), of_path_(of_path) {}

  CarriedPattern read() {
    while (!rest_.empty() && out_.why.empty()) step();
    if (!out_.why.empty()) out_.text.clear();
    return std::move(out_);
  }

 private:
  char take() {
    const char c = rest_.front();
    rest_.remove_prefix(1);
    return c;
  }

  void fail(std::string_view why) {
    out_.why = std::string(why) + ": write the condition in another way";
  }

  void step() {
    const char c = rest_.front();
    if (c == '\\') return escape();
    if (c == '[') return char_class();
    if (c == '(') return group();
    if (c == '*' || c == '+' || c == '?' || c == '}') return quantifier();
    if (of_path_ && static_cast<unsigned char>(c) >= 0x80) {
      const std::size_t length =
          std::min(rest_.size(), std::max<std::size_t>(1, decode_utf8(rest_).length));
      literal(rest_.substr(0, length));
      rest_.remove_prefix(length);
      return;
    }
    take();
    constexpr std::string_view kOperators = "^$.|){";
    if (!of_path_ || is_bare(c) || kOperators.find(c) != std::string_view::npos) {
      out_.text += c;
    } else {
      literal({&c, 1});
    }
  }

  /// Characters that `path` has escaped, as one thing that a quantifier may follow.
  void literal(std::string_view text) { out_.text += "(?:" + escaped_text(text) + ")"; }

  void escape() {
    take();
    if (rest_.empty()) return fail("the pattern ends with a backslash");
    const char c = take();
    if (c >= '1' && c <= '9') return fail("RE2 has no back references");
    if (c == 'g' || c == 'k') return fail("RE2 has no back references");
    if (c == 'Q') return fail("weir does not read \\Q");
    const bool letter = ascii::is_letter_or_digit(c) || static_cast<unsigned char>(c) >= 0x80;
    if (of_path_ && (c == 's' || c == 'h')) {
      literal(" ");
    } else if (of_path_ && !letter && !is_bare(c)) {
      literal({&c, 1});
    } else {
      (out_.text += '\\') += c;
    }
  }

  void char_class() {
    out_.text += take();
    bool first = true;
    while (!rest_.empty()) {
      const char c = take();
      if (of_path_ && static_cast<unsigned char>(c) >= 0x80)
        return fail("weir's path has such characters escaped, and a class cannot name them");
      out_.text += c;
      if (c == '\\' && !rest_.empty()) {
        out_.text += take();
      } else if (c == '[' && rest_.starts_with(':')) {
        const std::size_t end = rest_.find(":]");
        if (end == std::string_view::npos) break;
        out_.text += rest_.substr(0, end + 2);
        rest_.remove_prefix(end + 2);
      } else if (c == ']' && !first) {
        return;
      }
      first = first && c == '^';
    }
    fail("the pattern has a class without its end");
  }

  void group() {
    take();
    out_.text += '(';
    if (!rest_.starts_with('?')) return;
    for (const std::string_view odd : {"?=", "?!", "?<=", "?<!"}) {
      if (rest_.starts_with(odd)) return fail("RE2 has no look-ahead and no look-behind");
    }
    for (const std::string_view odd : {"?>", "?|", "?(", "?#", "?R", "?&", "?P>", "?P="}) {
      if (rest_.starts_with(odd)) return fail("RE2 has no (" + std::string(odd));
    }
    // A name of the group is of use to the other program alone.
    for (const auto& [start, end] : {std::pair{"?P<", '>'}, {"?<", '>'}, {"?'", '\''}}) {
      if (!rest_.starts_with(start)) continue;
      const std::size_t close = rest_.find(end, std::string_view(start).size());
      if (close == std::string_view::npos) return fail("the name of a group has no end");
      return rest_.remove_prefix(close + 1);
    }
    out_.text += take();
  }

  void quantifier() {
    out_.text += take();
    if (rest_.starts_with('+')) return fail("RE2 has no possessive quantifiers");
    if (rest_.starts_with('?')) out_.text += take();
  }

  std::string_view rest_;
  bool of_path_;
  CarriedPattern out_;
};

/// Whether a slash at the end of the path could be part of a match. False is certain.
bool may_read_last_slash(std::string_view pattern) {
  if (pattern.starts_with("(?i)")) pattern.remove_prefix(4);
  if (pattern.starts_with("^/")) pattern.remove_prefix(2);  // the first slash
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    if (c == '/' || c == '.' || c == '[') {
      if (c != '[') return true;
      // A class of letters, digits and the like has no slash.
      const std::size_t end = pattern.find(']', i + 1);
      if (end == std::string_view::npos) return true;
      for (const char d : pattern.substr(i + 1, end - i - 1)) {
        if (!ascii::is_letter_or_digit(d) && d != '_' && d != '-') return true;
      }
      const std::string_view inside = pattern.substr(i + 1, end - i - 1);
      for (std::size_t k = 1; k + 1 < inside.size(); ++k) {
        if (inside[k] == '-' &&
            !(ascii::is_letter_or_digit(inside[k - 1]) && ascii::is_letter_or_digit(inside[k + 1])))
          return true;
      }
      i = end;
    } else if (c == '\\') {
      if (++i == pattern.size()) return true;
      if (pattern[i] == '/' || (ascii::is_letter_or_digit(pattern[i]) &&
                                std::string_view("dwbsAz").find(pattern[i]) == pattern.npos))
        return true;
    }
  }
  return false;
}

bool is_tied_to_the_end(std::string_view pattern) {
  return pattern.find('$') != std::string_view::npos ||
         pattern.find("\\z") != std::string_view::npos ||
         pattern.find("\\b") != std::string_view::npos;
}

std::string field_matches(std::string_view field, std::string_view pattern) {
  return std::string(field) + ".matches(" + expression_text(pattern) + ")";
}

}  // namespace

PathCondition path_is(std::string_view text) {
  const std::string whole = expression_text(escaped_text(text));
  const std::string exactly = "uri == " + whole;
  if (text == "/") return {"path == " + whole, "path == " + whole};
  return {text.ends_with('/') ? exactly : "path == " + whole, exactly};
}

PathCondition path_begins(std::string_view text) {
  const bool slash = text.size() > 1 && text.ends_with('/');
  const std::string condition = std::string(slash ? "uri" : "path") + ".startsWith(" +
                                expression_text(escaped_text(text)) + ")";
  return {condition, condition};
}

PathCondition path_matches(std::string_view pattern) {
  const bool reads = may_read_last_slash(pattern);
  return {field_matches(reads ? "uri" : "path", pattern),
          field_matches(reads || is_tied_to_the_end(pattern) ? "uri" : "path", pattern)};
}

std::string uri_field(std::string_view policies) {
  const bool used = std::any_of(
      std::begin(kUriReads), std::end(kUriReads),
      [&](std::string_view read) { return policies.find(read) != std::string_view::npos; });
  if (!used) return {};
  // A last segment of dots and parameters is none for some applications, as for `path`.
  return "# The path with the slash at its end, which `path` does not have.\nfields:\n  uri: " +
         yaml_text("path != \"/\" && url.matches(" +
                   expression_text("^[^?]*/\\.*(;[^/?]*)?(\\?|$)") + ") ? path + \"/\" : path") +
         "\n\n";
}

CarriedPattern carried_pattern(std::string_view pattern, bool of_path, bool caseless,
                               const PatternCheck& check) {
  CarriedPattern out = PatternReader(pattern, of_path).read();
  if (!out.why.empty()) return out;
  if (caseless) out.text.insert(0, "(?i)");
  if (!check) return out;
  if (std::string why = check(out.text); !why.empty()) {
    return {{}, "RE2 does not read the pattern (" + why + "): write the condition in another way"};
  }
  return out;
}

}  // namespace weir::config
