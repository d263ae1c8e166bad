#include "policies/lang/expr/foreign_pattern.h"

#include <algorithm>
#include <vector>

#include "core/chars/ascii.h"
#include "policies/lang/expr/quote.h"

namespace weir::policies::expr {
namespace {

using Pieces = std::vector<std::string_view>;

constexpr std::size_t kPartsMax = 6;  // of a hint: a longer one is hard to read

/// Whether clients' values of this field have no `*` or `|` that a pattern would look for.
bool is_plain(const Subject& subject) {
  constexpr std::string_view kAttributes[] = {"path", "url", "host", "method", "scheme"};
  constexpr std::string_view kHeaders[] = {"user-agent", "referer", "origin", "x-forwarded-host"};
  const auto holds = [](const auto& words, std::string_view word) {
    return std::find(std::begin(words), std::end(words), word) != std::end(words);
  };
  return holds(kAttributes, subject.attribute) ||
         (subject.attribute == "header" && holds(kHeaders, subject.argument));
}

bool is_any_of(const Subject& subject, std::initializer_list<std::string_view> attributes) {
  return std::find(attributes.begin(), attributes.end(), subject.attribute) != attributes.end();
}

/// Parts between any of `marks`, without blanks around them. Empty: there is one part only, or one
/// of them is empty.
Pieces split(std::string_view text, std::string_view marks) {
  Pieces out;
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t end = std::min(text.find_first_of(marks, from), text.size());
    const std::string_view part = ascii::trimmed(text.substr(from, end - from), " ");
    if (part.empty()) return {};
    out.push_back(part);
    from = end + 1;
  }
  return out.size() > 1 ? out : Pieces{};
}

std::string call(const Subject& subject, std::string_view function, std::string_view text) {
  return subject.shown + "." + std::string(function) + "(" + quoted(text) + ")";
}

std::string_view function_of(Compared how) {
  switch (how) {
    case Compared::begin:
      return "startsWith";
    case Compared::end:
      return "endsWith";
    case Compared::part:
    case Compared::whole:
      break;
  }
  return "contains";
}

std::string plain_test(const Subject& subject, std::string_view text, Compared how) {
  return how == Compared::whole ? subject.shown + " == " + quoted(text)
                                : call(subject, function_of(how), text);
}

/// `/api/{id}/x` with `[^/]+` for a named segment, `/a/*/x` with `[^/]*` for a star.
std::string as_expression(const Subject& subject, std::string_view text, Compared how) {
  const bool segments = is_any_of(subject, {"path", "url"});
  std::string out = how == Compared::whole || how == Compared::begin ? "^" : "";
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool begins = i == 0 || text[i - 1] == '/';
    if (c == '*') {
      const bool any = i + 1 < text.size() && text[i + 1] == '*';
      out += any || !segments ? ".*" : "[^/]*";
      i += any ? 1 : 0;
    } else if ((c == '{' || c == '<' || c == ':') && segments && begins) {
      out += "[^/]+";
      i = std::min(text.find('/', i), text.size()) - 1;
    } else {
      if (std::string_view(".+?()[]{}^$|\\").find(c) != std::string_view::npos) out += '\\';
      out += c;
    }
  }
  if (how == Compared::whole || how == Compared::end) out += '$';
  return subject.shown + ".matches(" + (out.find('\\') == std::string::npos ? "" : "r") +
         (out.find('\\') == std::string::npos ? quoted(out) : "\"" + out + "\"") + ")";
}

/// Without the stars at both ends: what the value begins with, ends with or contains.
std::string star_test(const Subject& subject, std::string_view text, Compared how) {
  const std::size_t first = text.find_first_not_of('*');
  if (first == std::string_view::npos) return {};
  const std::size_t last = text.find_last_not_of('*');
  const std::string_view inner = text.substr(first, last + 1 - first);
  if (inner.find('*') != std::string_view::npos) return as_expression(subject, text, how);
  const bool open_begin = first > 0 || how == Compared::end || how == Compared::part;
  const bool open_end = last + 1 < text.size() || how == Compared::begin || how == Compared::part;
  return plain_test(subject, inner,
                    open_begin && open_end ? Compared::part
                    : open_begin           ? Compared::end
                    : open_end             ? Compared::begin
                                           : Compared::whole);
}

std::string test_of(const Subject& subject, std::string_view text, Compared how) {
  return text.find('*') == std::string_view::npos ? plain_test(subject, text, how)
                                                  : star_test(subject, text, how);
}

/// `["a", "b"]`, or the tests joined by `or`. Empty: too many to be shown.
std::string any_test(const Subject& subject, const Pieces& texts, Compared how) {
  if (texts.size() > kPartsMax) return {};
  const bool stars = std::any_of(texts.begin(), texts.end(), [](std::string_view text) {
    return text.find('*') != std::string_view::npos;
  });
  std::string out;
  if (how == Compared::whole && !stars) {
    for (const std::string_view text : texts) out += (out.empty() ? "" : ", ") + quoted(text);
    return subject.shown + " in [" + out + "]";
  }
  for (const std::string_view text : texts) {
    const std::string test = test_of(subject, text, how);
    if (test.empty()) return {};
    out += (out.empty() ? "" : " or ") + test;
  }
  return out;
}

/// A whole segment of a path that matches any in other routers: `{id}`, `<id>`, `:id`.
std::string_view named_segment(std::string_view path) {
  while (!path.empty()) {
    const std::size_t slash = std::min(path.find('/'), path.size());
    const std::string_view segment = path.substr(0, slash);
    path.remove_prefix(std::min(slash + 1, path.size()));
    if (segment.size() < 2) continue;
    std::string_view name = segment.substr(1);
    if ((segment[0] == '{' && name.back() == '}') || (segment[0] == '<' && name.back() == '>')) {
      name.remove_suffix(1);
    } else if (segment[0] != ':') {
      continue;
    }
    const bool is_name = !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
      return ascii::is_letter_or_digit(c) || c == '_' || c == ':';
    });
    if (is_name && ascii::is_letter(name.front())) return segment;
  }
  return {};
}

/// Marks that no path or name of a host has, and every regular expression: `^`, `.*`, `\d`,
/// `[a-z]`.
bool looks_like_expression(std::string_view text) {
  constexpr std::string_view kSigns[] = {".*", ".+", "\\", "[0-9", "[a-z", "[A-Z", "[^", "(?"};
  const std::size_t group = text.find('(');
  return text.starts_with('^') ||
         (group != std::string_view::npos && text.find('|', group) != std::string_view::npos) ||
         std::any_of(std::begin(kSigns), std::end(kSigns), [text](std::string_view sign) {
           return text.find(sign) != std::string_view::npos;
         });
}

std::string anchored(const Subject& subject, std::string_view text, Compared how) {
  const bool begins = how == Compared::whole || how == Compared::begin;
  const bool ends = how == Compared::whole || how == Compared::end;
  return call(subject, "matches",
              (begins && !text.starts_with('^') ? "^" : "") + std::string(text) +
                  (ends && !text.ends_with('$') ? "$" : ""));
}

/// Whether a text that is looked for inside others is a sign, such as the `/*` of a comment, and
/// not a pattern: it has no letter and no digit.
bool is_sign(std::string_view text, Compared how) {
  return how == Compared::part && std::none_of(text.begin(), text.end(), ascii::is_letter_or_digit);
}

}  // namespace

ForeignPattern foreign_pattern(const Subject& subject, std::string_view text, Compared how) {
  if (text.size() < 2 || subject.attribute == "scheme") return {};
  const bool plain = is_plain(subject);
  const bool pages = is_any_of(subject, {"path", "url", "host"});
  if (subject.attribute == "method") {
    Pieces methods = split(text, "|,/");
    if (methods.empty()) methods = split(text, " ");
    if (methods.empty()) return {};
    return {"a request has one method", any_test(subject, methods, how), methods.size() > 1};
  }
  if (pages && !is_sign(text, how) && looks_like_expression(text))
    return {"only matches() takes patterns", anchored(subject, text, how), false};
  const bool one_of = plain || how == Compared::part;
  if (const Pieces parts = split(text, "|"); one_of && !parts.empty())
    return {"the | does not mean \"or\"", any_test(subject, parts, how), how != Compared::whole};
  if (is_any_of(subject, {"path", "url"})) {
    if (const std::string_view segment = named_segment(text); !segment.empty()) {
      return {std::string(segment) + " stands for itself", as_expression(subject, text, how),
              false};
    }
  }
  const bool both_ends = text.size() > 2 && text.front() == '*' && text.back() == '*' &&
                         text.find('/') == std::string_view::npos && how != Compared::whole;
  if ((plain || both_ends) && !is_sign(text, how) && text.find('*') != std::string_view::npos &&
      text.find_first_not_of('*') != std::string_view::npos) {
    return {"the * stands for itself", star_test(subject, text, how), false};
  }
  return {};
}

std::string slash_star_hint(const Subject& subject, std::string_view pattern) {
  bool in_class = false;
  for (std::size_t i = 0; i + 1 < pattern.size(); ++i) {
    const char c = pattern[i];
    if (in_class) {
      if (c == '\\') ++i;
      in_class = c != ']';
      continue;
    }
    if (c == '\\' && pattern[i + 1] != '/') {
      ++i;
      continue;
    }
    in_class = c == '[';
    // `/*$` may well allow slashes at the end. Before a colon it is the scheme of a URL.
    const bool star = c == '/' && pattern[i + 1] == '*' && (i == 0 || pattern[i - 1] != ':');
    const bool glob = star && (i + 2 == pattern.size() || pattern[i + 2] == '/' ||
                               pattern[i + 2] == '.' || pattern[i + 2] == '|');
    if (!glob) continue;
    std::string_view rest = pattern;
    if (rest.starts_with('^')) rest.remove_prefix(1);
    const bool simple = rest.find_first_of("\\[](){}^$+?.|") == std::string_view::npos;
    if (!simple || pattern.empty()) return "write .* for any text, [^/]* for a segment";
    return "write " + star_test(subject, rest, Compared::whole) +
           ", or .* for any text in a pattern";
  }
  return {};
}

std::string glob_hint(const Subject& subject, std::string_view pattern) {
  const bool stars = pattern.find("**") != std::string_view::npos;
  if (!stars && !pattern.starts_with('*') && !pattern.starts_with("^*")) return {};
  if (pattern.starts_with('^')) pattern.remove_prefix(1);
  if (pattern.ends_with('$')) pattern.remove_suffix(1);
  const std::string test = star_test(subject, pattern, Compared::whole);
  const std::string any = "in a pattern .* is any text";
  return test.empty() || pattern.find_first_of("\\[](){}^$+?|") != std::string_view::npos
             ? any
             : any + "; here write " + test;
}

}  // namespace weir::policies::expr
