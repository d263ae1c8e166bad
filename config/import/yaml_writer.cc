#include "config/import/yaml_writer.h"

#include <algorithm>

#include "config/sections/sections.h"
#include "config/text/units.h"
#include "config/text/yaml_text.h"
#include "core/chars/ascii.h"
#include "core/chars/hex.h"
#include "core/utf8.h"

namespace weir::config {
namespace {

/// Characters that the loader refuses: bytes that are not text, invisible characters, and
/// characters that change the direction of the line.
bool is_shown(Utf8 c) {
  return c.length != 0 && !(c.code >= 0x80 && c.code < 0xa0) &&
         !(c.code >= 0x200b && c.code <= 0x200f) && !(c.code >= 0x2028 && c.code <= 0x202e) &&
         !(c.code >= 0x2060 && c.code <= 0x206f) && c.code != 0xfeff;
}

std::string in_quotes(std::string_view text) {
  std::string out = "\"";
  while (!text.empty()) {
    const char c = text.front();
    const Utf8 whole = decode_utf8(text);
    if (whole.length != 1) {
      const std::size_t length = std::max<std::size_t>(1, whole.length);
      is_shown(whole) ? out += text.substr(0, length) : out += '?';
      text.remove_prefix(length);
      continue;
    }
    text.remove_prefix(1);
    if (c == '"' || c == '\\') out += '\\';
    if (!ascii::is_control(c)) {
      out += c;
      continue;
    }
    // Both languages read \n, \t and \r; other controls as \xNN.
    out += '\\';
    if (c == '\n' || c == '\t' || c == '\r') {
      out += c == '\n' ? 'n' : c == '\t' ? 't' : 'r';
    } else {
      append_hex(out += 'x', static_cast<unsigned char>(c), 2);
    }
  }
  return out + '"';
}

}  // namespace

std::string yaml_text(std::string_view text) {
  const bool word = is_name(text, true) && !is_bare_boolean(text) && text != "true" &&
                    text != "false" && text != "null" && text != "y" && text != "n";
  return word ? std::string(text) : in_quotes(text);
}

std::string expression_text(std::string_view text) { return in_quotes(text); }

std::string shown(std::string_view text) {
  constexpr std::size_t kMost = 200;
  constexpr std::size_t kInARow = 32;  // brackets: the reader counts those in comments too
  std::string out;
  std::size_t brackets = 0;
  for (const char c : text.substr(0, kMost)) {
    brackets = c == '[' || c == '{' ? brackets + 1 : c == ' ' ? brackets : 0;
    // Bytes of UTF-8 could be cut in two, or no text at all.
    const bool plain = ascii::is_printable(c);
    out += plain && brackets <= kInARow ? c : '?';
  }
  return text.size() > kMost ? out + " ..." : out;
}

std::string as_comment(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    out += "# " + std::string(text.substr(0, end)) + "\n";
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

std::string ImportNames::make(std::string_view asked) {
  constexpr std::size_t kLongest = 52;
  std::string name;
  for (const char c : asked.substr(0, kLongest)) {
    const bool plain = ascii::is_letter_or_digit(c) || c == '_' || (dash_ && c == '-');
    name += plain ? c : dash_ ? '-' : '_';
  }
  const bool letter = !name.empty() && ascii::is_letter(name[0]);
  if (!letter) name.insert(0, "r");
  // A policy may have the name of a word of the expression language, an event may not.
  if (is_bare_boolean(name) || name == "request" || (!dash_ && is_reserved(name)))
    name += dash_ ? "-1" : "_1";
  std::string out = name;
  while (taken_.contains(out)) out = name + (dash_ ? "-" : "_") + std::to_string(++taken_[name]);
  taken_.emplace(out, 1);
  return out;
}

std::string written(const ImportedPolicy& policy) {
  std::string out;
  if (!policy.comment.empty()) out += "  # " + shown(policy.comment) + "\n";
  out += "  - name: " + yaml_text(policy.name) + "\n";
  out += "    watch: " + policy.watch + "\n";
  if (!policy.when.empty()) out += "    when: " + yaml_text(policy.when) + "\n";
  if (policy.key.size() == 1) out += "    key: " + yaml_text(policy.key.front()) + "\n";
  if (policy.key.size() > 1) {
    out += "    key: [";
    for (const std::string& part : policy.key) {
      out += (&part == policy.key.data() ? "" : ", ") + yaml_text(part);
    }
    out += "]\n";
  }
  if (!policy.missing.empty()) out += "    missing: " + policy.missing + "\n";
  if (!policy.metric.empty()) out += "    metric: " + yaml_text(policy.metric) + "\n";
  if (!policy.window.empty()) out += "    window: " + policy.window + "\n";
  if (policy.always) out += "    charge: always\n";
  if (policy.shadow) out += "    mode: shadow\n";
  out += "    then:\n";
  for (const std::string& rung : policy.rungs) out += "      - " + rung + "\n";
  return out;
}

std::string written_file(std::string_view of, const std::vector<ImportNote>& left_out,
                         std::string_view sections) {
  std::string out = "weir: 1\n";
  out +=
      as_comment("Written by weir import, of " + std::string(of) + ". docs/migrating.md has more.");
  if (!left_out.empty()) {
    out += "#\n# Not carried over:\n";
    for (const ImportNote& note : left_out) {
      out += "#   ";
      if (note.line != 0) out += "line " + std::to_string(note.line) + ": ";
      out += shown(note.what) + "\n#     " + shown(note.why) + "\n";
    }
  }
  return out + "\n" + std::string(sections);
}

}  // namespace weir::config
