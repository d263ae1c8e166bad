#include "config/import/haproxy_fields.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "config/import/yaml_writer.h"
#include "config/text/units.h"
#include "core/chars/ascii.h"

namespace weir::config {
namespace {

using Kind = HaproxyField::Kind;

bool is_header_fetch(const std::string& name) {
  return name == "hdr" || name == "req.hdr" || name == "fhdr" || name == "req.fhdr";
}

std::optional<HaproxyField> header_field(const std::string& fetch, const std::string& argument) {
  // HAProxy takes the last value by default.
  const std::size_t comma = argument.find(',');
  if (comma != std::string::npos && argument.substr(comma + 1) != "-1") return std::nullopt;
  std::string header = ascii::lowered(argument.substr(0, comma));
  std::replace(header.begin(), header.end(), '-', '_');
  const bool address = fetch == "hdr_ip" || fetch == "req.hdr_ip" || header == "x_forwarded_for";
  if (!is_name(header, false)) return std::nullopt;
  if (address)
    return HaproxyField{
        Kind::address, "ip", false, {}, ascii::lowered(argument.substr(0, comma)), 32, 128};
  if (header == "host") return HaproxyField{Kind::text, "host", true, {}, {}, 32, 128};
  const Kind kind = fetch == "fhdr" || fetch == "req.fhdr" ? Kind::text : Kind::header;
  return HaproxyField{kind, "header." + header, true, {}, {}, 32, 128};
}

std::optional<HaproxyField> fetched(const std::string& text) {
  const auto [name, argument] = haproxy_call(text);
  static const std::map<std::string, HaproxyField, std::less<>> kPlain{
      {"src", {Kind::address, "ip", false, {}, {}, 32, 128}},
      {"path", {Kind::path, "path", false, {}, {}, 32, 128}},
      {"url", {Kind::text, "url", false, {}, {}, 32, 128}},
      {"pathq", {Kind::text, "url", false, {}, {}, 32, 128}},
      {"method", {Kind::text, "method", false, {}, {}, 32, 128}}};
  if (const auto plain = kPlain.find(name); plain != kPlain.end() && argument.empty())
    return plain->second;
  if (name == "int" || name == "str" || name == "always_true")
    return HaproxyField{Kind::constant, {}, false, {}, {}, 32, 128};
  if (argument.empty()) return std::nullopt;
  if (is_header_fetch(name) || name == "hdr_ip" || name == "req.hdr_ip")
    return header_field(name, argument);
  if (name == "hdr_val" || name == "req.hdr_val") {
    auto field = header_field("fhdr", argument);
    if (field) field->kind = Kind::number;
    return field;
  }
  const bool cookie = name == "req.cook" || name == "cook" || name == "cookie";
  if ((cookie || name == "url_param" || name == "urlp") && is_name(argument, false))
    return HaproxyField{Kind::text, (cookie ? "cookie." : "query.") + argument, true, {}, {}, 32,
                        128};
  return std::nullopt;
}

/// `ipmask(24,64)`; without a second mask HAProxy counts no IPv6 address.
bool mask(const std::string& argument, HaproxyField& field) {
  const std::size_t comma = argument.find(',');
  const auto v4 = parse_integer(argument.substr(0, comma));
  if (!v4 || *v4.value < 1 || *v4.value > 32) return false;
  field.v4_bits = static_cast<int>(*v4.value);
  if (comma == std::string::npos) return true;
  const auto v6 = parse_integer(argument.substr(comma + 1));
  if (!v6 || *v6.value < 1 || *v6.value > 128) return false;
  field.v6_bits = static_cast<int>(*v6.value);
  return true;
}

bool convert(const std::string& converter, HaproxyField& field) {
  const auto [name, argument] = haproxy_call(converter);
  // weir's host is in lower case, and has no port.
  if (field.name == "host")
    return converter == "lower" || converter == "field(1,:)" || name == "host_only";
  if (field.kind == Kind::address) return name == "ipmask" && mask(argument, field);
  if (converter != "lower" && converter != "upper") return false;
  field.function = converter + "Ascii";
  return true;
}

std::string quoted_pattern(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (std::string_view("\\.^$|()[]{}*+?").find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

std::string matches(const std::string& field, const std::string& pattern) {
  return field + ".matches(" + expression_text(pattern) + ")";
}

/// A word between delimiters, as -m dir and -m dom look for it; its own at the ends go.
std::string word_pattern(std::string_view word, std::string_view delimiters) {
  word = ascii::trimmed(word, delimiters);
  if (word.empty()) return {};
  const std::string set(delimiters);
  return "(^|[" + set + "])" + quoted_pattern(word) + "([" + set + "]|$)";
}

/// HAProxy compares each part of a header between commas: the ends of a pattern are the ends of a
/// part.
constexpr std::string_view kPartBegins = "(^|,)[ \\t]*";
constexpr std::string_view kPartEnds = "[ \\t]*(,|$)";

/// A pattern of a header's parts; empty: the ends of the pattern cannot be found.
std::string header_pattern(std::string pattern) {
  const bool begins = pattern.starts_with('^');
  const bool ends = pattern.ends_with('$') && !pattern.ends_with("\\$");
  std::string inner = pattern.substr(begins ? 1 : 0);
  if (ends) inner.pop_back();
  const bool set = inner.find("[^") != std::string::npos;
  for (std::size_t i = 0; i < inner.size(); ++i) {
    if (inner[i] == '\\') {
      ++i;
    } else if ((inner[i] == '^' && (i == 0 || inner[i - 1] != '[')) || inner[i] == '$') {
      return {};
    }
  }
  if (!begins && !ends) return pattern;
  // A pattern that may cross a comma, or that has alternatives, needs a group: otherwise the ends
  // would bind to one alternative only.
  if (set || inner.find('|') != std::string::npos) inner = "(" + inner + ")";
  return std::string(begins ? kPartBegins : "") + inner + std::string(ends ? kPartEnds : "");
}

/// weir's path has no slash at its end, and its escapes are minimal and in capitals.
bool is_normal_path(std::string_view text) {
  constexpr std::string_view kBare = "-._~!$&'()*+,=:@/";
  constexpr std::string_view kHex = "0123456789ABCDEF";
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool letter = ascii::is_letter_or_digit(c);
    if (c == '%') {
      if (i + 2 >= text.size() || kHex.find(text[i + 1]) == std::string_view::npos ||
          kHex.find(text[i + 2]) == std::string_view::npos)
        return false;
      i += 2;
    } else if (!letter && kBare.find(c) == std::string_view::npos) {
      return false;
    }
  }
  return text.find("//") == std::string_view::npos;
}

/// Whether a match of this pattern in a path may end with the path's last slash.
bool may_end_with_slash(std::string_view pattern) {
  const std::size_t slash = pattern.rfind('/');
  if (slash == std::string_view::npos) return false;
  if (pattern.find('|') != std::string_view::npos || slash + 1 >= pattern.size()) return true;
  const char next = pattern[slash + 1];
  const bool letter = ascii::is_letter_or_digit(next) || next == '-' || next == '_';
  if (!letter) return true;
  return slash + 2 < pattern.size() &&
         std::string_view("?*{").find(pattern[slash + 2]) != std::string_view::npos;
}

/// The path with the slash at its end that weir's path has not.
constexpr std::string_view kSlashed = "url.matches(\"^[^?]*/([?]|$)\")";

std::string path_comparison(const HaproxyField& path, const std::string& method, bool fold,
                            const std::string& given, std::string& why) {
  const std::string flag = fold || !path.function.empty() ? "(?i)" : "";
  if (method == "reg") {
    const std::string plain = matches(path.expression(), (fold ? "(?i)" : "") + given);
    if (!may_end_with_slash(given)) return plain;
    return "(" + plain + " || (" + std::string(kSlashed) + " && " +
           matches("(path + \"/\")", flag + given) + "))";
  }
  if (!is_normal_path(given)) {
    why = "weir's paths are in their normal form: write " + given + " as it is there";
    return {};
  }
  const std::string left = fold ? path.expression() + ".lowerAscii()" : path.expression();
  const std::string pattern = fold ? ascii::lowered(given) : given, text = expression_text(pattern);
  const bool slash = pattern.ends_with('/') && pattern != "/";
  // weir's path of `/api/` is `/api`.
  const std::string at_end = matches("url", flag + "^[^?]*" + quoted_pattern(pattern) + "([?]|$)");
  if (method == "beg") {
    const std::string plain = left + ".startsWith(" + text + ")";
    if (!slash) return plain;
    return "(" + plain + " || " + matches("url", flag + "^" + quoted_pattern(pattern)) + ")";
  }
  if (method == "end") return pattern.ends_with('/') ? at_end : left + ".endsWith(" + text + ")";
  if (method == "sub") {
    const std::string plain = left + ".contains(" + text + ")";
    return slash ? "(" + plain + " || " + at_end + ")" : plain;
  }
  if (!slash) return left + " == " + text;
  const std::string without = expression_text(pattern.substr(0, pattern.size() - 1));
  return "(" + left + " == " + without + " && " + std::string(kSlashed) + ")";
}

/// `gt 5`, `5`, `5:10`: integers, as -m int and -m len compare them.
std::string number_comparison(const std::string& value, const HaproxyWords& words,
                              std::string& why) {
  static const std::map<std::string, std::string, std::less<>> kOperators{
      {"eq", "=="}, {"ge", ">="}, {"gt", ">"}, {"le", "<="}, {"lt", "<"}};
  const auto known = words.empty() ? kOperators.end() : kOperators.find(words.front());
  const std::string compare = known == kOperators.end() ? "==" : known->second;
  std::string out;
  std::size_t tests = 0;
  for (std::size_t i = known == kOperators.end() ? 0 : 1; i < words.size(); ++i, ++tests) {
    const std::size_t colon = words[i].find(':');
    const auto low = parse_integer(words[i].substr(0, colon));
    const auto high = colon == std::string::npos ? low : parse_integer(words[i].substr(colon + 1));
    if (!low || !high || *low.value < 0 || (colon != std::string::npos && compare != "==")) {
      why = words[i] + " is not a number to compare with";
      return {};
    }
    out += (tests == 0 ? "" : " || ");
    if (colon == std::string::npos)
      out += value + " " + compare + " " + std::to_string(*low.value);
    else
      out += "(" + value + " >= " + std::to_string(*low.value) + " && " + value +
             " <= " + std::to_string(*high.value) + ")";
  }
  if (tests == 0) why = "a condition in it has nothing to compare with";
  return tests > 1 ? "(" + out + ")" : out;
}

std::string address_comparison(const HaproxyWords& patterns, std::string& why) {
  std::string any;
  for (const std::string& pattern : patterns) {
    if (!Cidr::parse(pattern)) {
      why = pattern + " is not a network that weir reads";
      return {};
    }
    any += (any.empty() ? "" : " || ") + std::string("ip.cidr(") + expression_text(pattern) + ")";
  }
  if (any.empty()) why = "a condition in it has nothing to compare with";
  return patterns.size() > 1 ? "(" + any + ")" : any;
}

/// One pattern of a text.
std::string text_comparison(const HaproxyField& field, const std::string& method, bool fold,
                            const std::string& given, std::string& why) {
  const bool header = field.kind == Kind::header, host = field.name == "host";
  if (host && method != "reg" && given.find(':') != std::string::npos) {
    why = "weir's host has no port";
    return {};
  }
  const std::string flag = fold && !host ? "(?i)" : "", name = field.expression();
  if (method == "dir" || method == "dom") {
    const std::string word =
        word_pattern(host ? ascii::lowered(given) : given, method == "dir" ? "/?" : "/?.:");
    if (word.empty()) why = "a condition in it has nothing to compare with";
    return word.empty() ? "" : matches(name, flag + word);
  }
  if (field.kind == Kind::path) return path_comparison(field, method, fold, given, why);
  if (method == "reg") {
    const std::string regex = header ? header_pattern(given) : given;
    if (!regex.empty()) return matches(name, (fold ? "(?i)" : "") + regex);
    why =
        "in a list HAProxy compares each part, weir the whole line: write the pattern for the "
        "whole line";
    return {};
  }
  if (header && method != "sub") {
    return matches(name, flag + std::string(method == "end" ? "" : kPartBegins) +
                             quoted_pattern(given) + std::string(method == "beg" ? "" : kPartEnds));
  }
  const std::string left = flag.empty() ? name : name + ".lowerAscii()";
  const std::string text = expression_text(host || fold ? ascii::lowered(given) : given);
  if (method == "beg") return left + ".startsWith(" + text + ")";
  if (method == "end") return left + ".endsWith(" + text + ")";
  if (method == "sub") return left + ".contains(" + text + ")";
  return left + " == " + text;
}

}  // namespace

std::pair<std::string, std::string> haproxy_call(const std::string& text) {
  const std::size_t open = text.find('(');
  if (open == std::string::npos || !text.ends_with(')')) return {text, {}};
  return {text.substr(0, open), text.substr(open + 1, text.size() - open - 2)};
}

HaproxyWords haproxy_steps(const std::string& sample) {
  HaproxyWords out(1);
  std::size_t depth = 0;
  for (const char c : sample) {
    if (c == '(') ++depth;
    if (c == ')' && depth > 0) --depth;
    if (c == ',' && depth == 0)
      out.emplace_back();
    else
      out.back() += c;
  }
  return out;
}

std::optional<HaproxyField> haproxy_field(const std::string& sample) {
  const HaproxyWords steps = haproxy_steps(sample);
  auto field = fetched(steps.front());
  for (std::size_t i = 1; field && i < steps.size(); ++i) {
    if (!convert(steps[i], *field)) return std::nullopt;
  }
  return field;
}

std::optional<std::vector<HaproxyField>> haproxy_key(const std::string& sample) {
  static const std::map<std::string, HaproxyWords, std::less<>> kSeveral{
      {"base", {"hdr(host)", "path"}},
      {"base32", {"hdr(host)", "path"}},
      {"base32+src", {"hdr(host)", "path", "src"}},
      {"baseq", {"hdr(host)", "url"}},
      {"url32", {"hdr(host)", "url"}},
      {"url32+src", {"hdr(host)", "url", "src"}}};
  const auto several = kSeveral.find(sample);
  std::vector<HaproxyField> out;
  // HAProxy counts requests without Host as well.
  for (const std::string& part :
       several == kSeveral.end() ? HaproxyWords{sample} : several->second) {
    const auto field = haproxy_field(part);
    if (!field) return std::nullopt;
    if (field->kind == Kind::constant) continue;
    out.push_back(*field);
    if (several != kSeveral.end()) out.back().absent = false;
  }
  return out;
}

std::string haproxy_comparison(const HaproxyField& field, const HaproxyMatch& match,
                               std::string& why) {
  const std::string& method = match.method;
  static constexpr std::string_view kMethods[] = {"",    "str", "beg", "end", "sub",   "dir",
                                                  "dom", "reg", "len", "int", "found", "ip"};
  if (std::find(std::begin(kMethods), std::end(kMethods), method) == std::end(kMethods)) {
    why = "weir does not match by -m " + method;
    return {};
  }
  if (method == "found") return field.absent ? "has(" + field.name + ")" : "true";
  const bool address = field.kind == Kind::address;
  if (field.kind == Kind::constant || address != (method == "ip" || (address && method.empty()))) {
    why = "weir has no such comparison";
    return {};
  }
  if (address) {
    if (field.address_from.empty()) return address_comparison(match.patterns, why);
    why = "an address of a header: see proxy.client_ip";
    return {};
  }
  if (method == "len") {
    if (field.kind == Kind::text || field.kind == Kind::header)
      return number_comparison("size(" + field.expression() + ")", match.patterns, why);
    why = "weir's paths are in their normal form, which has another length";
    return {};
  }
  if (method == "int" || (field.kind == Kind::number && method.empty())) {
    const std::string test = number_comparison("int(" + field.name + ")", match.patterns, why);
    return test.empty() ? test : "(" + matches(field.name, "^[0-9]{1,18}$") + " && " + test + ")";
  }
  std::string any;
  for (const std::string& pattern : match.patterns) {
    const std::string test = text_comparison(field, method, match.fold, pattern, why);
    if (test.empty()) return {};
    any += (any.empty() ? "" : " || ") + test;
  }
  if (any.empty()) why = "a condition in it has nothing to compare with";
  return match.patterns.size() > 1 ? "(" + any + ")" : any;
}

}  // namespace weir::config
