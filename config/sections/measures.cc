#include <algorithm>

#include "config/sections/key_parts.h"
#include "config/sections/sections.h"
#include "config/text/foreign_words.h"
#include "config/text/yaml_text.h"
#include "core/chars/ascii.h"

/// Common parts of policies, their metrics and views: a metric, a key, events.
namespace weir::config {
namespace {

/// Splits `a, f(b, c)` at its own commas; each part keeps its place where the text shows it.
std::vector<Text> split_arguments(const Text& whole, std::size_t begin, std::size_t end) {
  std::vector<Text> out;
  const std::string_view text = whole.value;
  std::size_t from = begin;
  int depth = 0;
  char quote = '\0';
  for (std::size_t i = begin; i <= end; ++i) {
    const char c = i < end ? text[i] : ',';
    if (quote != '\0' && i < end) {
      if (c == '\\') {
        ++i;
      } else if (c == quote) {
        quote = '\0';
      }
      continue;
    }
    if (c == '"' || c == '\'') quote = c;
    if (c == '(' || c == '[' || c == '{') ++depth;
    if (c == ')' || c == ']' || c == '}') --depth;
    if (i < end && (c != ',' || depth > 0)) continue;
    std::size_t first = from, last = i;
    while (first < last && text[first] == ' ') ++first;
    while (last > first && text[last - 1] == ' ') --last;
    out.push_back(
        {std::string(text.substr(first, last - first)), within(whole, first, last - first)});
    from = i + 1;
  }
  return out;
}

}  // namespace

void read_metric(Reader& reader, const Member& m, MetricDef& out) {
  const auto text = reader.expression(m);
  if (!text) return;
  const std::string_view all = text->value;
  const std::size_t paren = all.find('(');
  const std::string_view name = all.substr(0, paren);
  const MetricRow* const row = find_word(kMetrics, name);
  if (row == nullptr) {
    std::vector<std::string_view> allowed;
    for (const MetricRow& r : kMetrics) allowed.push_back(r.name);
    const ForeignWord foreign = foreign_word("metric", name);
    const std::size_t blank = name.find(' ');
    const bool split =
        blank != std::string_view::npos &&  // `distinct user`
        std::find(allowed.begin(), allowed.end(), name.substr(0, blank)) != allowed.end();
    reader.error(*m.value, quoted(name) + " is not a metric",
                 split ? "write " + std::string(name.substr(0, blank)) + "(" +
                             std::string(name.substr(blank + 1)) + ")"
                 : foreign.hint.empty() ? suggest(name, allowed)
                                        : std::string(foreign.hint));
    return;
  }
  out.kind = row->metric;
  out.where = m.value->where;
  out.arguments.clear();
  if (paren != std::string_view::npos) {
    if (all.back() != ')' || open_brackets(all) != 0) {
      return reader.error(*m.value, "the brackets of this metric do not match");
    }
    out.arguments = split_arguments(*text, paren + 1, all.size() - 1);
    if (out.arguments.size() == 1 && out.arguments[0].value.empty()) out.arguments.clear();
  }
  const bool blank = std::any_of(out.arguments.begin(), out.arguments.end(),
                                 [](const Text& t) { return t.value.empty(); });
  const std::size_t least = row->takes == Takes::nothing ? 0 : 1;
  const std::size_t most = row->arguments_most;
  if (out.arguments.size() < least || out.arguments.size() > most || blank) {
    reader.error(*m.value, most == 0 ? std::string(name) + " takes no argument"
                           : most == 1
                               ? std::string(name) + " takes one argument, as in " +
                                     std::string(name) + "(gold)"
                               : std::string(name) + " takes one to eight arguments, as in " +
                                     std::string(name) + "(user)");
  }
}

namespace {

/// Reads `24`, `48` or `24,56` after the slash. False: it is none of them, and is reported.
bool read_masks(Reader& reader, const Member& m, std::string_view masks, KeyPart& part) {
  const std::size_t comma = masks.find(',');
  const bool both = comma != std::string_view::npos;
  const auto first = parse_integer(masks.substr(0, comma));
  const auto second =
      both ? parse_integer(masks.substr(comma + 1)) : Parsed<std::int64_t>{0, "", ""};
  // A single number applies to its family: a number that fits IPv4 is for IPv4.
  const bool v4 = first && *first.value >= 0 && *first.value <= 32;
  const bool v6 = first && !both && *first.value > 32 && *first.value <= 128;
  if (!(v4 || v6) || !second || *second.value < 0 || *second.value > 128) {
    reader.error(*m.value, quoted(masks) + " is not a mask",
                 "write ip/24 (IPv4, 0 to 32), ip/48 (IPv6, 33 to 128) or ip/24,56 (both)");
    return false;
  }
  if (v4) part.v4_bits = static_cast<unsigned>(*first.value);
  if (v6) part.v6_bits = static_cast<unsigned>(*first.value);
  if (both) part.v6_bits = static_cast<unsigned>(*second.value);
  return true;
}

/// Suggests weir's form of `{header: X-Device}`, which other limiters use.
std::string hint_of_key(const Node& value) {
  std::string name = "x_device_id", family = "header";
  if (value.is_map() && value.items.size() == 1 && value.items[0].value->is_scalar() &&
      value.items[0].value->text.size() < 60) {
    const std::string word = ascii::lowered(value.items[0].key->text);
    if (word == "header" || word == "cookie" || word == "query" || word == "body") {
      family = word;
      name = value.items[0].value->text;
    }
  }
  if (family == "header") {
    name = ascii::lowered(name);
    std::replace(name.begin(), name.end(), '-', '_');
  }
  return "write key: " + family + "." + name;
}

/// `ip, path`, `ip + path`, `ip:path`: the parts, with commas between them. Empty: they are none.
std::string parts_of_key(std::string_view text) {
  std::string out;
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t end = std::min(text.find_first_of(",+:|", from), text.size());
    const std::string_view part = ascii::trimmed(text.substr(from, end - from), " ");
    const std::size_t dot = std::min(part.find('.'), part.size());
    const std::string_view rest = part.substr(std::min(dot + 1, part.size()));
    if (!is_name(part.substr(0, dot), false) || (!rest.empty() && !is_name(rest, false))) return {};
    out += (out.empty() ? "" : ", ") + std::string(part);
    from = end + 1;
  }
  return out.find(',') == std::string::npos ? std::string{} : out;
}

/// `user`, `header.x_user_id`, `ip/24`, `ip/24,56`, `{near: ...}`.
void read_key_part(Reader& reader, const Member& m, std::vector<KeyPart>& out) {
  if (m.value->is_map()) {
    for (const Member& inner : m.value->items) {
      if (inner.key->text != "near" || m.value->items.size() != 1) continue;
      KeyPart part;
      part.near = read_near(reader, inner);
      if (!part.near) return;
      part.field = {"near", part.near->where};
      const auto place = [](const KeyPart& other) { return other.near.has_value(); };
      if (std::any_of(out.begin(), out.end(), place)) {
        return reader.error(*inner.key, "a key has one place at most");
      }
      out.push_back(std::move(part));
      return;
    }
  }
  if (m.value->is_map() || m.value->is_list()) {
    reader.error(*m.value, "a part of a key is a field, not a map or list", hint_of_key(*m.value));
    return;
  }
  const auto text = reader.text(m);
  if (!text) return;
  const std::string_view all = text->value;
  const std::size_t slash = all.find('/');
  const std::string_view field = all.substr(0, slash);
  KeyPart part;
  std::size_t from = 0;
  bool ok = true;
  while (ok && from <= field.size()) {
    const std::size_t dot = std::min(field.find('.', from), field.size());
    ok = is_name(field.substr(from, dot - from), true);
    from = dot + 1;
  }
  if (!ok) {
    const std::string_view name = field.starts_with('$') ? field.substr(1) : std::string_view{};
    const ForeignWord foreign = foreign_word("expression", name);  // of nginx
    if (field.find('[') != std::string_view::npos) {  // the whole text: a slash may be part of it
      return reader.error(
          *m.value, quoted(all) + " is an expression, and a key names fields",
          "give it a name, fields: {mine: '" + std::string(all) + "'}, and write key: mine");
    }
    const std::string parts = parts_of_key(field);
    return reader.error(
        *m.value, quoted(field) + " is not a field",
        !foreign.hint.empty() ? std::string(foreign.hint)
        : !parts.empty()
            ? "write key: [" + parts + "]"
            : "a key names fields; give an expression a name under \"fields\" of the event");
  }
  part.field = {std::string(field), within(*text, 0, field.size())};
  if (slash != std::string_view::npos && !read_masks(reader, m, all.substr(slash + 1), part))
    return;
  for (const KeyPart& other : out) {
    if (other.field.value == part.field.value)
      return reader.error(*m.value, quoted(field) + " is given twice in the key");
  }
  out.push_back(std::move(part));
}

}  // namespace

void read_key(Reader& reader, const Member& m, std::vector<KeyPart>& out) {
  if (!m.value->is_list()) return read_key_part(reader, m, out);
  if (m.value->items.empty()) reader.error(*m.value, "\"key\" is an empty list");
  if (m.value->items.size() > kKeyPartsMax) {
    return reader.error(*m.value, "a key has at most " + std::to_string(kKeyPartsMax) + " parts");
  }
  for (const Member& item : m.value->items) read_key_part(reader, item, out);
}

std::vector<KeyPart> read_list_fields(Reader& reader, const Member& m) {
  std::vector<KeyPart> out;
  for (const Text& text : reader.texts(m)) {
    KeyPart part;
    const std::string_view all = text.value;
    const std::size_t slash = all.find('/');
    const std::size_t end = std::min(slash, all.size());
    part.field = {std::string(all.substr(0, end)), within(text, 0, end)};
    if (slash != std::string_view::npos && !read_masks(reader, m, all.substr(slash + 1), part)) {
      return {};
    }
    out.push_back(std::move(part));
  }
  return out;
}

std::vector<Text> read_event_names(Reader& reader, const Member& m) {
  std::vector<Text> out = reader.texts(m);
  for (std::size_t i = 0; i < out.size(); ++i) {
    for (std::size_t j = 0; j < i && i < 64; ++j) {
      if (out[i].value == out[j].value)
        reader.problems().error(out[i].where, quoted(out[i].value) + " is given twice");
    }
  }
  return out;
}

}  // namespace weir::config
