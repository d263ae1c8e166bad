#include "policies/lang/extractors/media_type.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include "core/chars/ascii.h"
#include "core/chars/token.h"
#include "policies/lang/extractors/text.h"

namespace weir::policies {
namespace {

constexpr std::size_t kBoundaryMax = 70;  // RFC 2046

/// Brackets are not token characters, but .NET and others write `items[0]` without quotes.
bool is_bare_character(char c) noexcept { return is_token(c) || c == '[' || c == ']'; }

/// Whether a boundary has only those of the characters of RFC 2046 that no parser takes for an end.
/// Dashes alone would make every boundary look like the last.
bool is_plain_boundary(std::string_view boundary) noexcept {
  static constexpr std::string_view kMarks = "'()+_./:=?-";
  return boundary.find_first_not_of('-') != std::string_view::npos &&
         boundary.size() <= kBoundaryMax && !may_have_encoded_word(boundary) &&
         std::all_of(boundary.begin(), boundary.end(), [](char c) {
           return ascii::is_letter_or_digit(c) || kMarks.find(c) != std::string_view::npos;
         });
}

BodyKind kind_of(std::string_view type) noexcept {
  if (equals_ignoring_case(type, "application/json") || equals_ignoring_case(type, "text/json"))
    return BodyKind::json;
  if (equals_ignoring_case(type, "application/x-www-form-urlencoded")) return BodyKind::form;
  if (equals_ignoring_case(type, "multipart/form-data")) return BodyKind::multipart;
  constexpr std::string_view kSuffix = "+json";
  if (type.size() > kSuffix.size() && type.find('/') != std::string_view::npos &&
      equals_ignoring_case(type.substr(type.size() - kSuffix.size()), kSuffix)) {
    return BodyKind::json;
  }
  return BodyKind::none;
}

/// Charsets of one byte a character that begin with US-ASCII, by the labels of the WHATWG Encoding
/// standard. Charsets of more bytes are no members: a lone lead byte takes the next one with it in
/// some decoders.
constexpr std::string_view kAsciiBased[] = {
    "us-ascii",     "ascii",        "iso-8859-1",   "iso8859-1",    "iso88591",     "iso_8859-1",
    "latin1",       "l1",           "cp819",        "iso-8859-2",   "iso8859-2",    "latin2",
    "iso-8859-3",   "iso8859-3",    "latin3",       "iso-8859-4",   "iso8859-4",    "latin4",
    "iso-8859-5",   "iso8859-5",    "iso-8859-6",   "iso8859-6",    "iso-8859-7",   "iso8859-7",
    "iso-8859-8",   "iso8859-8",    "iso-8859-9",   "iso8859-9",    "latin5",       "iso-8859-10",
    "iso8859-10",   "latin6",       "iso-8859-11",  "iso8859-11",   "iso-8859-13",  "iso8859-13",
    "iso-8859-14",  "iso8859-14",   "iso-8859-15",  "iso8859-15",   "iso_8859-15",  "iso-8859-16",
    "windows-1250", "windows-1251", "windows-1252", "windows-1253", "windows-1254", "windows-1255",
    "windows-1256", "windows-1257", "windows-1258", "cp1250",       "cp1251",       "cp1252",
    "cp1253",       "cp1254",       "cp1255",       "cp1256",       "cp1257",       "cp1258",
    "windows-874",  "koi8-r",       "koi8-u",
};

/// Charsets with two bytes for a character beyond US-ASCII, without shifts between them: escapes of
/// a query are split off before they are decoded, so ASCII means the same in all of them.
constexpr std::string_view kAsciiBasedOfTwoBytes[] = {
    "gbk",        "gb2312", "gb18030",   "x-gbk",          "cp936",       "ms936", "big5",
    "big5-hkscs", "cp950",  "euc-kr",    "ks_c_5601-1987", "windows-949", "cp949", "euc-jp",
    "eucjp",      "sjis",   "shift_jis", "shift-jis",      "windows-31j", "ms932", "cp932",
};

bool take_charset(std::string_view charset, bool& ascii) noexcept {
  const auto is = [&](std::string_view name) { return equals_ignoring_case(charset, name); };
  ascii = std::any_of(std::begin(kAsciiBased), std::end(kAsciiBased), is);
  return ascii || is("utf-8") || is("utf8");
}

bool names_charset(std::string_view parameters) noexcept {
  constexpr std::string_view kCharset = "charset";
  for (std::size_t at = 0; at + kCharset.size() <= parameters.size(); ++at) {
    if (equals_ignoring_case(parameters.substr(at, kCharset.size()), kCharset)) return true;
  }
  return false;
}

/// Parsers of RFC 2231 take `charset*=` and `charset*0=` for a charset.
bool is_encoded_charset(std::string_view name) noexcept {
  constexpr std::string_view kCharset = "charset";
  return name.size() > kCharset.size() &&
         equals_ignoring_case(name.substr(0, kCharset.size()), kCharset);
}

}  // namespace

bool may_have_encoded_word(std::string_view text) noexcept {
  return text.find("=?") != std::string_view::npos;
}

bool read_charset(std::string_view parameters, bool& ascii) noexcept {
  std::string_view name, text;
  bool broken = false, charset = false;
  while (next_header_parameter(parameters, name, text, broken)) {
    if (is_encoded_charset(name)) return false;
    if (!equals_ignoring_case(name, "charset")) continue;
    if (charset || !take_charset(text, ascii)) return false;
    charset = true;
  }
  return !broken;
}

namespace {

Charset charset_named(std::string_view name) noexcept {
  bool ascii = false;
  if (take_charset(name, ascii)) return ascii ? Charset::ascii_based : Charset::utf8;
  const bool two_bytes =
      std::any_of(std::begin(kAsciiBasedOfTwoBytes), std::end(kAsciiBasedOfTwoBytes),
                  [name](std::string_view each) { return equals_ignoring_case(name, each); });
  return two_bytes ? Charset::ascii_based : Charset::other;
}

Charset charset_of_parameters(std::string_view parameters) noexcept {
  std::optional<Charset> out;
  std::string_view name, text;
  bool broken = false;
  while (next_header_parameter(parameters, name, text, broken)) {
    if (is_encoded_charset(name)) return Charset::other;
    if (!equals_ignoring_case(name, "charset")) continue;
    if (out) return Charset::other;  // several
    out = charset_named(text);
  }
  return broken ? Charset::other : out.value_or(Charset::utf8);
}

}  // namespace

Charset charset_of(std::span<const HeaderField> headers) noexcept {
  Charset out = Charset::utf8;
  for (const HeaderField& field : headers) {
    if (!equals_ignoring_case(field.name, "content-type")) continue;
    const std::size_t parameters = field.value.find(';');
    if (parameters == std::string_view::npos) continue;
    const std::string_view text = field.value.substr(parameters);
    if (!names_charset(text)) continue;
    out = std::max(out, charset_of_parameters(text));
  }
  return out;
}

bool next_header_parameter(std::string_view& rest, std::string_view& name, std::string_view& value,
                           bool& broken) noexcept {
  broken = false;
  do {
    rest = ascii::trimmed(rest);
    if (rest.empty()) return false;
    broken = true;
    if (rest.front() != ';') return false;
    rest.remove_prefix(1);
    rest = ascii::trimmed(rest);
    broken = false;
    if (rest.empty()) return false;  // a `;` at the end
  } while (rest.front() == ';');
  broken = true;
  const auto bare = [](std::string_view text) {
    return static_cast<std::size_t>(std::find_if_not(text.begin(), text.end(), is_bare_character) -
                                    text.begin());
  };
  const auto end = static_cast<std::size_t>(
      std::find_if_not(rest.begin(), rest.end(), [](char c) { return is_token(c); }) -
      rest.begin());
  if (end == 0 || end + 1 >= rest.size() || rest[end] != '=') return false;
  name = rest.substr(0, end);
  rest.remove_prefix(end + 1);
  if (rest.front() != '"') {
    const std::size_t size = bare(rest);
    value = rest.substr(0, size);
    // PHP takes single quotes for quotes. Those of an encoded value (`utf-8''x`) are a pair, and
    // nothing between them ends a parameter.
    const auto quotes = std::count(value.begin(), value.end(), '\'');
    const bool pair = quotes == 2 && name.ends_with('*');
    if (size == 0 || (quotes != 0 && !pair)) return false;
    rest.remove_prefix(size);
  } else {
    rest.remove_prefix(1);
    const std::size_t close = rest.find('"');
    if (close == std::string_view::npos) return false;
    value = rest.substr(0, close);
    rest.remove_prefix(close + 1);
    if (ascii::has_control(value) || value.find('\\') != std::string_view::npos) return false;
  }
  broken = false;
  return true;
}

MediaType parse_media_type(std::string_view value) noexcept {
  MediaType out;
  std::string_view rest = value;
  const std::size_t end = std::min(rest.find(';'), rest.size());
  out.kind = kind_of(ascii::trimmed(rest.substr(0, end)));
  if (out.kind == BodyKind::none) return out;
  rest.remove_prefix(end);
  std::string_view name, text;
  bool broken = false, charset = false;
  while (next_header_parameter(rest, name, text, broken)) {
    if (equals_ignoring_case(name, "charset")) {
      out.ambiguous = out.ambiguous || charset || !take_charset(text, out.ascii);
      charset = true;
    } else if (out.kind == BodyKind::multipart) {
      // PHP looks for the word anywhere in the line, so any other parameter makes it ambiguous.
      out.ambiguous = out.ambiguous || !equals_ignoring_case(name, "boundary") ||
                      !out.boundary.empty() || !is_plain_boundary(text);
      out.boundary = text;
    } else {
      out.ambiguous = out.ambiguous || is_encoded_charset(name);
    }
  }
  out.ambiguous = out.ambiguous || broken;
  if (out.kind == BodyKind::multipart && out.boundary.empty()) out.ambiguous = true;
  return out;
}

MediaType media_type_of(std::span<const HeaderField> headers) noexcept {
  const HeaderField* found = nullptr;
  for (const HeaderField& field : headers) {
    if (!equals_ignoring_case(field.name, "content-type")) continue;
    if (found != nullptr) {
      MediaType two;
      two.ambiguous = true;
      return two;
    }
    found = &field;
  }
  return found == nullptr ? MediaType{} : parse_media_type(found->value);
}

}  // namespace weir::policies
