#include "policies/lang/expr/never_equal.h"

#include <algorithm>
#include <array>

#include "core/chars/ascii.h"
#include "core/chars/percent.h"
#include "policies/lang/expr/checker.h"
#include "policies/lang/expr/functions.h"
#include "policies/lang/expr/quote.h"
#include "policies/lang/extractors.h"
#include "policies/lang/extractors/blank.h"

namespace weir::policies::expr {
namespace {

bool has_capital(std::string_view text) {
  return std::any_of(text.begin(), text.end(), ascii::is_upper);
}
bool has_small(std::string_view text) {
  return std::any_of(text.begin(), text.end(), ascii::is_lower);
}
std::string capitals(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = ascii::upper(c);
  return out;
}

/// Methods are case-sensitive. A spelling unlike any known method may be an app's own method.
bool misspells_a_method(std::string_view text) {
  static constexpr std::array<std::string_view, 9> kMethods = {
      "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT"};
  return has_small(text) &&
         std::find(kMethods.begin(), kMethods.end(), capitals(text)) != kMethods.end();
}

struct Never {
  std::string why;
  std::string hint;
};

/// Of a path that begins with a slash: what its normal form, which policies match, never has.
Never path_never(std::string_view path) {
  std::string escaped;
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte > ' ' && byte < 0x7f) {
      escaped += c;
    } else {
      append_percent(escaped, c);
    }
  }
  if (escaped != path) {
    return {"in a path, blanks and bytes that are not ASCII are escaped",
            "write " + quoted(escaped)};
  }
  if (path.find("//") != std::string_view::npos)
    return {"policies match a path with single slashes", "write one slash"};
  if (path.find(';') != std::string_view::npos) {
    return {"policies match a path without ;parameters",
            "write " + quoted(path.substr(0, path.find(';')))};
  }
  if (path.size() > 1 && path.ends_with('/')) {
    return {"policies match a path without the slash at its end",
            "write " + quoted(path.substr(0, path.size() - 1)) + ", which holds for both"};
  }
  return {};
}

Never text_never(std::string_view field, std::string_view text) {
  if (field == "method" && misspells_a_method(text)) {
    return {"methods are in capitals", "write " + quoted(capitals(text))};
  }
  if (field == "scheme" && text != "http" && text != "https") {
    return {"a scheme is http or https", ""};
  }
  if (field == "host" && has_capital(text)) {
    return {"a host is in small letters", "write " + quoted(ascii::lowered(text))};
  }
  if (field == "host" && text.find(':') != std::string_view::npos && !text.starts_with('[')) {
    return {"a host comes without its port", "write " + quoted(text.substr(0, text.find(':')))};
  }
  if (field == "path" && !text.starts_with('/')) {
    return {"a path begins with /", "write " + quoted("/" + std::string(text))};
  }
  if (field == "path" && text.find('?') != std::string_view::npos) {
    return {"a path has no query", "test the query by itself: query.name == \"...\""};
  }
  if (field == "path") return path_never(text);
  return {};
}

Never value_never(const Checker& checker, const Ast& field, const Value& value) {
  if (field.op == Op::call && field.function != nullptr && value.is(Type::text)) {
    const std::string_view text = value.as_text();
    if (field.function->name == "lowerAscii" && has_capital(text))
      return {"lowerAscii() gives small letters", "write " + quoted(ascii::lowered(text))};
    if (field.function->name == "upperAscii" && has_small(text))
      return {"upperAscii() gives capitals", "write " + quoted(capitals(text))};
    if (field.function->name == "trim" && trim_blanks(text) != text)
      return {"trim() removes blanks at both ends", "write " + quoted(trim_blanks(text))};
    return {};
  }
  if (field.op != Op::load) return {};
  const Slot& slot = checker.scope.slots()[field.slot];
  if (slot.extractor == nullptr) return {};
  if (value.is(Type::text)) return text_never(slot.extractor->name, value.as_text());
  if (slot.extractor->name == "status" && value.is(Type::integer) &&
      (value.as_integer() < 100 || value.as_integer() > 599)) {
    return {"a status is between 100 and 599", ""};
  }
  return {};
}

}  // namespace

void warn_never_equal(Checker& checker, const Ast& field, const Ast& literal) {
  if (literal.op != Op::constant) return;
  const auto look = [&](const Value& value) {
    Never never = value_never(checker, field, value);
    if (never.why.empty()) return false;
    const std::string shown =
        value.is(Type::text) ? quoted(value.as_text()) : std::to_string(value.as_integer());
    checker.diagnostics.warning(literal.begin, literal.end,
                                checker.source(field) + " is never " + shown + ": " + never.why,
                                std::move(never.hint));
    return true;
  };
  if (!literal.constant.is(Type::list)) {
    look(literal.constant);
    return;
  }
  for (const Value& item : literal.constant.as_list()) {
    if (look(item)) return;  // one warning per list is enough
  }
}

}  // namespace weir::policies::expr
