#include "policies/lang/expr/never_text.h"

#include <algorithm>
#include <array>

#include "config/text/http_method.h"
#include "core/chars/ascii.h"
#include "core/chars/hex.h"
#include "core/chars/percent.h"
#include "core/path_readings.h"
#include "policies/lang/expr/quote.h"

namespace weir::policies::expr {
namespace {

bool has_capital(std::string_view text) {
  return std::any_of(text.begin(), text.end(), ascii::is_upper);
}
bool has_small(std::string_view text) {
  return std::any_of(text.begin(), text.end(), ascii::is_lower);
}
/// Methods are case-sensitive. A spelling unlike any known method may be an app's own method.
bool misspells_a_method(std::string_view text) {
  return has_small(text) && config::is_http_method(ascii::uppered(text));
}

struct Never {
  std::string why;
  std::string hint;
};

std::string write(std::string_view text) {
  return text.empty() ? std::string() : "write " + quoted(text);
}

/// A path as policies match it: bytes that must not be bare in one are escaped, and the digits of
/// an escape are in capitals.
std::string escaped_path(std::string_view path) {
  constexpr std::string_view kOdd = "\"<>[\\]^`{|}";
  std::string out;
  for (std::size_t i = 0; i < path.size(); ++i) {
    const char c = path[i];
    if (c == ' ' || !ascii::is_printable(c) || kOdd.find(c) != std::string_view::npos) {
      append_percent(out, c);
    } else if (c == '%') {
      out += c;
      for (const std::size_t end = std::min(i + 2, path.size() - 1); i < end;)
        out += ascii::upper(path[++i]);
    } else {
      out += c;
    }
  }
  return out;
}

/// Whether the normal form of a path, which policies match, can never be or have this text.
Never path_never(std::string_view path, Compared how, const Subject& subject) {
  const bool lowered = subject.lowered;
  if ((how == Compared::whole || how == Compared::begin) && !path.starts_with('/'))
    return {"a path begins with /", write("/" + std::string(path))};
  if (path.find('?') != std::string_view::npos)
    return {"a path has no query", "test the query by itself: query.name == \"...\""};
  std::string escaped = escaped_path(path);
  if (lowered) escaped = ascii::lowered(escaped);
  if (escaped != path && !(lowered && has_capital(path))) {
    const bool letters =
        std::equal(path.begin(), path.end(), escaped.begin(), escaped.end(),
                   [](char a, char b) { return ascii::upper(a) == ascii::upper(b); });
    return {letters ? "the digits of an escape are in capitals"
                    : "in a path, blanks, signs such as < and letters beyond ASCII are escaped",
            write(escaped)};
  }
  std::string folded(path);
  // Text from the middle of a path may begin with the digits of an escape.
  std::size_t digits = 0;
  if (how == Compared::end || how == Compared::part) {
    while (digits < std::min<std::size_t>(2, path.size()) && hex_value(path[digits]) >= 0) ++digits;
  }
  fold_letters(std::span(folded).subspan(digits));
  if (subject.folded && folded != path)
    return {"with proxy.path: {case: fold} a path is in lower case", write(folded)};
  if (path.find("//") != std::string_view::npos)
    return {"policies match a path with single slashes", "write one slash"};
  const bool at_end = how == Compared::whole || how == Compared::end;
  if (path.find("./") != std::string_view::npos || (at_end && path.ends_with('.')))
    return {"policies match a path without dots at the end of a segment", ""};
  if (at_end && path.size() > 1 && path.ends_with('/')) {
    return {"policies match a path without the slash at its end",
            write(path.substr(0, path.size() - 1)) + ", which holds for both"};
  }
  return {};
}

Never host_never(std::string_view text, Compared how) {
  if (const std::size_t scheme = text.find("://"); scheme != std::string_view::npos) {
    const std::string_view rest = text.substr(scheme + 3);
    return {"a host comes without a scheme", write(rest.substr(0, rest.find_first_of(":/")))};
  }
  if (text.find('/') != std::string_view::npos) {
    return {"a host comes without a path", write(text.substr(0, text.find('/')))};
  }
  if (has_capital(text)) return {"a host is in small letters", write(ascii::lowered(text))};
  const bool address = text.starts_with('[') || how != Compared::whole;  // a part of an IPv6 one
  if (!address && text.find(':') != std::string_view::npos)
    return {"a host comes without its port", write(text.substr(0, text.find(':')))};
  if (text.ends_with('.') && (how == Compared::whole || how == Compared::end))
    return {"a host comes without the dot at its end", write(text.substr(0, text.size() - 1))};
  return {};
}

Never value_never(const Subject& subject, std::string_view text, Compared how) {
  const std::string_view attribute = subject.attribute;
  constexpr std::array<std::string_view, 4> kOfAll = {"method", "host", "path", "url"};
  const bool any = text.find_first_not_of('*') == std::string_view::npos ||
                   (attribute == "method" && (text == "ANY" || text == "ALL"));
  if (any && how == Compared::whole &&
      std::find(kOfAll.begin(), kOfAll.end(), attribute) != kOfAll.end()) {
    return {"here it does not mean any " + std::string(attribute), "leave the test out"};
  }
  if (attribute == "method" && misspells_a_method(text))
    return {"methods are in capitals", write(ascii::uppered(text))};
  if (attribute == "scheme" && how == Compared::whole && text != "http" && text != "https")
    return {"a scheme is http or https", ""};
  if (attribute == "host") return host_never(text, how);
  if (attribute == "path") return path_never(text, how, subject);
  if (attribute == "url" && !text.starts_with('/') &&
      (how == Compared::whole || how == Compared::begin)) {
    return {"url is path and query, and begins with /", "test the host by itself: host == \"...\""};
  }
  return {};
}

std::string_view verb(Compared how) {
  switch (how) {
    case Compared::begin:
      return " never begins with ";
    case Compared::end:
      return " never ends with ";
    case Compared::part:
      return " never contains ";
    case Compared::whole:
      break;
  }
  return " is never ";
}

}  // namespace

NeverText never_text(const Subject& subject, std::string_view text, Compared how, bool negated) {
  if (text.empty()) return {};
  if (const ForeignPattern found = foreign_pattern(subject, text, how); !found.why.empty()) {
    std::string hint;
    if (found.condition.empty()) {
      hint = "write a test for each, joined by or";
    } else if (!negated) {
      hint = "write " + found.condition;
    } else {
      const bool group = found.several || found.condition.find(" in [") != std::string::npos ||
                         found.condition.find(" == ") != std::string::npos;
      hint = "write not " + (group ? "(" + found.condition + ")" : found.condition);
    }
    return {quoted(text) + " is compared letter by letter: " + found.why, std::move(hint),
            found.condition};
  }
  Never never = value_never(subject, text, how);
  // The path keeps an escaped semicolon as `%3B`; a text with `;` means the parameters of a path.
  if (const auto at = text.find(';');
      never.why.empty() && subject.attribute == "path" && at != std::string_view::npos) {
    return {quoted(text) + " does not find the parameters of a path: policies match a path " +
                "without ;parameters",
            write(text.substr(0, at)),
            {}};
  }
  if (never.why.empty() && subject.attribute == "method" && how == Compared::whole) {
    const std::string_view meant = config::meant_http_method(text);
    if (!meant.empty()) {
      return {quoted(text) + " is a method of its own here",
              "did you mean " + std::string(meant) + "?",
              {}};
    }
  }
  if (never.why.empty()) return {};
  return {subject.shown + std::string(verb(how)) + quoted(text) + ": " + never.why,
          std::move(never.hint),
          {}};
}

}  // namespace weir::policies::expr
