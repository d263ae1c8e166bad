#include "config/text/look_alikes.h"

#include <algorithm>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "core/chars/ascii.h"
#include "core/chars/hex.h"
#include "core/utf8.h"

namespace weir::config {
namespace {

struct LookAlikeRow {
  char32_t code;
  LookAlike says;
};
constexpr LookAlikeRow kLookAlikes[] = {
    {0x00A0, {"a no-break space", " "}},
    {0x2007, {"a figure space", " "}},
    {0x200B, {"a zero-width space", ""}},
    {0x202F, {"a narrow no-break space", " "}},
    {0x2060, {"a word joiner", ""}},
    {0x3000, {"an ideographic space", " "}},
    {0x2018, {"a curly quote", "'"}},
    {0x2019, {"a curly quote", "'"}},
    {0x201C, {"a curly quote", "\""}},
    {0x201D, {"a curly quote", "\""}},
    {0x2013, {"an en dash", "-"}},
    {0x2014, {"an em dash", "-"}},
    {0x2212, {"a minus sign", "-"}},
    {0x3001, {"an ideographic comma", ","}},
    {0x3010, {"a black lenticular bracket", "["}},
    {0x3011, {"a black lenticular bracket", "]"}},
};

/// U+FF01 to U+FF5E are the printable characters of ASCII in full width.
constexpr std::string_view kAscii =
    "!\"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstuvwxyz{|"
    "}~";
constexpr char32_t kFullWidth = 0xFF01;

/// Beside such a letter punctuation in full width is prose.
bool is_wide_letter(char32_t c) {
  const bool full_width_sign = c >= kFullWidth && c < kFullWidth + kAscii.size();
  return c >= 0x2E80 && !full_width_sign && look_alike(c).name.empty();
}

struct Character {
  char32_t code;
  std::uint32_t column;  ///< from 1, in bytes
  std::uint32_t length;
};

/// The characters of a line outside of quotes and comments. A quote begins where a value can.
std::vector<Character> bare_characters(std::string_view line) {
  std::vector<Character> out;
  char quote = '\0';
  char before = ' ';
  for (std::size_t i = 0; i < line.size();) {
    const Utf8 d = decode_utf8(line.substr(i));
    if (d.length == 0) break;
    const char c = d.length == 1 ? line[i] : 'x';
    const bool opens = std::string_view(" [{,:(").find(before) != std::string_view::npos;
    if (quote != '\0') {
      if (c == quote) quote = '\0';
    } else if (c == '#' && before == ' ') {
      break;
    } else if ((c == '"' || c == '\'') && opens) {
      quote = c;
    } else {
      out.push_back(
          {d.code, static_cast<std::uint32_t>(i + 1), static_cast<std::uint32_t>(d.length)});
    }
    before = c == '\t' ? ' ' : c;
    i += d.length;
  }
  return out;
}

}  // namespace

LookAlike look_alike(char32_t c) {
  for (const LookAlikeRow& row : kLookAlikes) {
    if (row.code == c) return row.says;
  }
  if (c >= kFullWidth && c < kFullWidth + kAscii.size()) {
    const std::string_view plain = kAscii.substr(c - kFullWidth, 1);
    const bool letter = ascii::is_letter(plain[0]);
    return {letter                      ? "a full-width letter"
            : ascii::is_digit(plain[0]) ? "a full-width digit"
            : plain == ":"              ? "a full-width colon"
            : plain == ","              ? "a full-width comma"
            : plain == "(" || plain == ")" || plain == "[" || plain == "]" || plain == "{" ||
                    plain == "}"
                ? "a full-width bracket"
                : "a full-width sign",
            plain};
  }
  return {};
}

std::string look_alike_text(char32_t c) {
  std::string code;
  for (int shift = 12; shift >= 0; shift -= 4) code += upper_hex_digit(c >> shift);
  return std::string(look_alike(c).name) + " (U+" + code + ")";
}

std::string look_alike_hint(char32_t c) {
  const std::string_view plain = look_alike(c).plain;
  if (plain.empty()) return "leave it out";
  if (plain == " ") return "write a blank";
  return plain == "\"" ? "write '\"'" : "write \"" + std::string(plain) + "\"";
}

namespace {

/// The look-alike characters of a line that are not part of prose.
std::vector<Character> look_alikes_in(std::string_view line) {
  std::vector<Character> out;
  const auto characters = bare_characters(line);
  for (std::size_t i = 0; i < characters.size(); ++i) {
    if (look_alike(characters[i].code).name.empty()) continue;
    const bool prose = (i > 0 && is_wide_letter(characters[i - 1].code)) ||
                       (i + 1 < characters.size() && is_wide_letter(characters[i + 1].code));
    if (!prose) out.push_back(characters[i]);
  }
  return out;
}

std::optional<Character> look_alike_in(std::string_view line) {
  const auto all = look_alikes_in(line);
  return all.empty() ? std::nullopt : std::optional(all.front());
}

std::string message_of(const Character& c) {
  return "this is " + look_alike_text(c.code) + ": YAML reads it as an ordinary character";
}

}  // namespace

std::string without_look_alikes(std::string_view text, std::uint32_t line) {
  std::string out;
  std::uint32_t number = 0;
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t end = std::min(text.find('\n', from), text.size());
    const std::string_view one = text.substr(from, end - from);
    std::size_t kept = 0;
    if (++number == line || number + 1 == line) {
      for (const Character& c : look_alikes_in(one)) {
        out.append(one.substr(kept, c.column - 1 - kept)).append(look_alike(c.code).plain);
        kept = c.column - 1 + c.length;
      }
    }
    out.append(one.substr(kept)).append(text.substr(end, 1));
    from = end + 1;
  }
  return out;
}

bool tell_look_alike(std::string_view text, std::uint32_t file, std::uint32_t line,
                     Problems& problems) {
  std::uint32_t number = 0;
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t end = std::min(text.find('\n', from), text.size());
    const std::string_view one = text.substr(from, end - from);
    from = end + 1;
    if (++number > line) break;
    if (number + 1 < line) continue;
    if (const auto c = look_alike_in(one)) {
      problems.error({file, number, c->column, c->length}, message_of(*c),
                     look_alike_hint(c->code));
      return true;
    }
  }
  return false;
}

void warn_of_look_alikes(const std::vector<SourceText>& texts, Problems& problems) {
  constexpr std::size_t kMost = 20;
  std::size_t told = 0;
  std::set<std::pair<std::uint32_t, std::uint32_t>> wrong;  // file and line
  std::set<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>> known;
  for (const Problem& problem : problems.all()) {
    if (problem.severity != Problem::Severity::error) continue;
    wrong.emplace(problem.where.file, problem.where.line);
    known.emplace(problem.where.file, problem.where.line, problem.where.column);
  }
  for (std::uint32_t file = 0; file < texts.size(); ++file) {
    const std::string_view text = texts[file].text;
    std::uint32_t number = 0;
    for (std::size_t from = 0; from < text.size() && told < kMost;) {
      const std::size_t end = std::min(text.find('\n', from), text.size());
      const auto c = look_alike_in(text.substr(from, end - from));  // one of a line is enough
      from = end + 1;
      ++number;
      if (!c || known.contains({file, number, c->column})) continue;
      const Where where{file, number, c->column, c->length};
      wrong.contains({file, number})
          ? problems.error(where, message_of(*c), look_alike_hint(c->code))
          : problems.warning(where, message_of(*c), look_alike_hint(c->code));
      ++told;
    }
  }
}

}  // namespace weir::config
