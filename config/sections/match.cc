#include "config/sections/match.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "config/text/http_method.h"
#include "config/text/yaml_text.h"
#include "core/chars/ascii.h"
#include "core/chars/method.h"

namespace weir::config {
namespace {

bool is_word(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), ascii::is_letter);
}

/// `GET|POST /x`, `GET, POST /x`, `GET POST /x`: the methods before the route, in capitals. Empty:
/// there are not several.
std::vector<std::string> several_methods(std::string_view all) {
  const std::size_t route = all.find(" /");
  const std::string_view before = all.substr(0, route);
  const bool joined =
      route != std::string_view::npos && before.find_first_of("|,/") != std::string_view::npos;
  std::vector<std::string> out;
  for (std::size_t from = 0; from < before.size();) {
    const std::size_t end = std::min(before.find_first_of("|,/ ", from), before.size());
    const std::string_view word = before.substr(from, end - from);
    if (!word.empty()) out.push_back(ascii::uppered(word));
    if (!word.empty() && !(joined ? is_word(word) : is_http_method(out.back()))) return {};
    from = end + 1;
  }
  return out.size() > 1 ? out : std::vector<std::string>{};
}

std::string one_of(const std::vector<std::string>& methods) {
  std::string out;
  for (const std::string& method : methods) out += (out.empty() ? "\"" : ", \"") + method + "\"";
  return "method in [" + out + "]";
}

/// `?a=1&b` as conditions: `query.a == "1" and has(query.b)`. Only its first parameters, and their
/// names alone without `values`.
std::string query_test(std::string_view query, bool values) {
  std::string out;
  constexpr int kMost = 3;
  for (int k = 0; k < kMost && !query.empty(); ++k) {
    const std::size_t end = std::min(query.find('&'), query.size());
    const std::string_view pair = query.substr(0, end);
    query.remove_prefix(std::min(end + 1, query.size()));
    const std::size_t equals = std::min(pair.find('='), pair.size());
    const std::string name(pair.substr(0, equals));
    if (!is_name(name, false)) return "query.name == \"...\"";
    if (!out.empty()) out += " and ";
    const std::string_view value = pair.substr(std::min(equals + 1, pair.size()));
    const bool any =
        !values || value.empty() || value.find_first_of("*{\"'\\%+") != std::string_view::npos;
    out += any ? "has(query." + name + ")" : "query." + name + " == \"" + std::string(value) + "\"";
  }
  return out.empty() ? "query.name == \"...\"" : out;
}

/// Suggests a correction of an invalid route: one with a query, a scheme or a host.
std::string route_hint(std::string_view method, std::string_view route) {
  const std::string before = "write match: " + std::string(method == "*" ? "\"* " : "") +
                             std::string(method == "*" ? "" : std::string(method) + " ");
  const std::string after = method == "*" ? "\"" : "";
  const std::string begins = "a route begins with / and has no blanks, ? or #";
  if (route.empty() || route.size() > 80 || route.find_first_of(" #") != std::string_view::npos)
    return begins;
  const std::size_t scheme = route.find("://");
  const bool has_host = scheme != std::string_view::npos || route.starts_with("//") ||
                        (route.front() != '/' && route.find('/') > route.find('.'));
  if (scheme != std::string_view::npos) route.remove_prefix(scheme + 3);
  if (route.starts_with("//")) route.remove_prefix(2);
  if (route.empty()) return begins;
  std::string tests;
  if (has_host && route.front() != '/') {
    const std::size_t slash = std::min(route.find('/'), route.size());
    const std::string_view host = route.substr(0, slash);
    route.remove_prefix(slash);
    if (host.find_first_of("*{") == std::string_view::npos) {
      tests = "host == \"" + ascii::lowered(host.substr(0, host.find(':'))) + "\"";
    } else {
      const std::size_t dot = host.find_last_of("*}");
      tests = "host.endsWith(\"" + ascii::lowered(host.substr(dot + 1)) + "\")";
    }
  }
  const std::size_t mark = route.find('?');
  if (mark != std::string_view::npos) {
    if (!tests.empty()) tests += " and ";
    tests += query_test(route.substr(mark + 1), !has_host);  // of a URL it may be a secret
    route = route.substr(0, mark);
  }
  std::string path(route);
  if (!path.starts_with('/')) path = "/" + path;
  if (path.find_first_of("^$\\") != std::string::npos) return begins;
  return before + path + after + (tests.empty() ? "" : ", and when: '" + tests + "'");
}

/// Reports a star, or braces that are not a whole segment: no route may have them. False: it has
/// reported one.
bool check_stars(Reader& reader, const Member& m, std::string_view segment, bool last) {
  constexpr std::string_view kHint =
      "write {name} for any one segment, * at the end for everything below";
  const std::size_t star = segment.find('*');
  const std::size_t brace = segment.find_first_of("{}");
  if (star == std::string_view::npos && brace == std::string_view::npos) return true;
  if (segment.starts_with('{') && segment.ends_with('}')) {
    const std::string_view name = segment.substr(1, segment.size() - 2);
    if (is_name(name, false)) return true;
    const std::size_t colon = std::min(name.find(':'), name.size());
    std::string plain(name.substr(0, std::min(colon, name.find_first_of(".*"))));
    std::replace(plain.begin(), plain.end(), '-', '_');
    std::string hint(kHint);
    if (is_name(plain, false)) {
      hint = "write {" + plain + "}";
      if (colon < name.size())
        hint += ", and when: '" + plain + ".matches(\"^" + std::string(name.substr(colon + 1)) +
                "$\")'";
    }
    reader.error(*m.value, quoted(segment) + ": { } takes a name of letters, digits and _", hint);
    return false;
  }
  if (segment == "*" && last) return true;
  if (segment == "*") {
    reader.error(*m.value, "\"*\" stands for everything below and must come last",
                 "for any one segment write {name}");
    return false;
  }
  if (segment == "**") {
    reader.error(*m.value, "\"**\" is not a segment of a route",
                 last ? "write *: at the end it stands for everything below"
                      : "write {name} for any one segment; or match \"* /*\", and test "
                        "path.matches(\"...\") under \"when\"");
    return false;
  }
  std::string hint(kHint);
  if (segment.starts_with('*') && segment.find_first_of("*{}", 1) == std::string_view::npos) {
    hint = "write * for the segment, and when: 'path.endsWith(\"" + std::string(segment.substr(1)) +
           "\")'";
  } else if (star + 1 == segment.size() && brace == std::string_view::npos) {
    hint = "write {page} for the segment, and when: 'page.startsWith(\"" +
           std::string(segment.substr(0, star)) + "\")'";
  } else if (segment.starts_with('{')) {
    hint = "write {page} for the segment, and when: 'page.endsWith(\"" +
           std::string(segment.substr(segment.find('}') + 1)) + "\")'";
  }
  reader.error(*m.value,
               "\"{name}\" and \"*\" stand for whole segments, and not in " + quoted(segment),
               hint);
  return false;
}

/// Segments as other routers spell them, which are literal text here: `:id`, `<id>`, `[0-9]+`.
void check_segments(Reader& reader, const Member& m, std::string_view route) {
  for (std::string_view rest = route.substr(1); !rest.empty();) {
    const std::size_t slash = std::min(rest.find('/'), rest.size());
    const std::string_view segment = rest.substr(0, slash);
    rest.remove_prefix(std::min(slash + 1, rest.size()));
    if (segment.empty()) continue;
    std::string_view name = segment;
    if (name.size() > 1 && name.front() == '<' && name.back() == '>') name.remove_suffix(1);
    const bool named = segment.size() > 1 &&
                       std::string_view(":<$@").find(name.front()) != std::string_view::npos &&
                       is_name(name.substr(1), false);
    const bool pattern = segment.find_first_of("^()[]") != std::string_view::npos ||
                         segment.find(".*") != std::string_view::npos;
    if (segment.front() == '{' || (!named && !pattern)) {
      if (!check_stars(reader, m, segment, rest.empty())) return;
      continue;
    }
    const std::string message = quoted(segment) + " is matched letter by letter";
    if (named) {
      const std::string hint = "for any segment write {" + std::string(name.substr(1)) + "}";
      // In angle brackets no path in its normal form has it.
      name.size() == segment.size() ? reader.problems().warning(m.value->where, message, hint)
                                    : reader.error(*m.value, message, hint);
    } else {
      reader.problems().warning(
          m.value->where, message,
          "routes are not patterns: write {name} for a segment, * at the end, "
          "or test the path under "
          "\"when\"");
    }
  }
}

}  // namespace

void tell_match(Reader& reader, const Member& m) {
  if (m.value->is_list()) {
    std::string first = "POST /a";
    if (!m.value->items.empty() && m.value->items[0].value->is_scalar())
      first = m.value->items[0].value->text.substr(0, 60);
    reader.error(*m.value, "\"match\" is one method and route, not a list",
                 "write an event for each: a: {match: " + first +
                     "}, b: {match: GET /b}; a policy may watch several: watch: [a, b]");
    return;
  }
  std::string method = "POST", path = "/login";
  for (const Member& part : m.value->items) {
    if (!part.value->is_scalar() || part.value->text.size() > 60) continue;
    const std::string word = ascii::lowered(part.key->text);
    if (word == "method" || word == "methods") method = ascii::uppered(part.value->text);
    if (word == "path" || word == "route" || word == "url" || word == "uri" || word == "prefix")
      path = part.value->text;
    if (is_http_method(ascii::uppered(word)))
      method = ascii::uppered(word), path = part.value->text;
  }
  if (!path.starts_with('/')) path = "/" + path;
  reader.error(*m.value, "\"match\" is a method and a route in one text, not a map",
               "write match: " + method + " " + path);
}

void check_match(Reader& reader, const Member& m, const Text& match) {
  const std::string_view all = match.value;
  const std::size_t blank = all.find(' ');
  const std::string_view method = all.substr(0, blank);
  const std::string_view route =
      blank == std::string_view::npos ? std::string_view{} : all.substr(blank + 1);
  if (blank == std::string_view::npos && all.starts_with('/')) {
    reader.error(*m.value, "\"match\" needs a method before the route",
                 "write \"* " + std::string(all.substr(0, 60)) + "\" for any method");
    return;
  }
  if (const auto methods = several_methods(all); !methods.empty()) {
    const std::size_t from = all.find(" /");
    const std::string path(from == std::string_view::npos ? "/x" : all.substr(from + 1, 60));
    reader.error(*m.value, "\"match\" has one method, or * for any",
                 "write match: \"* " + path + "\", and when: '" + one_of(methods) + "'");
  } else if (method != "*" && !is_method(method)) {
    reader.error(*m.value, quoted(method) + " is not a method",
                 is_word(method) ? "write " + ascii::uppered(method) +
                                       ": a method is written in capitals; * means any"
                                 : "a method is written in capitals; * means any");
  } else if (route.empty() || route.front() != '/' || route.starts_with("//") ||
             route.find_first_of(" ?#") != std::string_view::npos) {
    reader.error(*m.value, quoted(route) + " is not a route", route_hint(method, route));
  } else {
    if (method == "ANY" || method == "ALL") {
      reader.problems().warning(
          m.value->where, quoted(method) + " is a method of its own here",
          "write \"* " + std::string(route.substr(0, 60)) + "\" for any method");
    } else if (const auto meant = meant_http_method(method); !meant.empty()) {
      reader.problems().warning(m.value->where, quoted(method) + " is a method of its own here",
                                "did you mean " + std::string(meant) + "?");
    }
    check_segments(reader, m, route);
  }
}

}  // namespace weir::config
