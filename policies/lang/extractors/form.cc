#include "policies/lang/extractors/form.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "core/chars/ascii.h"
#include "core/utf8.h"
#include "policies/lang/extractors/arena.h"
#include "policies/lang/extractors/escapes.h"
#include "policies/lang/extractors/name_path.h"
#include "policies/lang/extractors/text.h"

namespace weir::policies {
namespace {

/// Reads a form without decoding its names.
struct AsItStands {
  static std::size_t find(std::string_view text, char c) noexcept { return text.find(c); }
  static std::string_view name(std::string_view raw) noexcept { return raw; }
};

/// A form as read by applications that drop the highest bit of each byte, as Node's `ascii` does.
class InSevenBits {
 public:
  static std::size_t find(std::string_view text, char c) noexcept {
    const auto at =
        std::find_if(text.begin(), text.end(), [c](char each) { return drop(each) == c; });
    return at == text.end() ? std::string_view::npos : static_cast<std::size_t>(at - text.begin());
  }
  /// A view until the next call.
  std::string_view name(std::string_view raw) noexcept {
    if (is_ascii(raw)) return raw;
    is_too_long_ = is_too_long_ || raw.size() > room_.size();
    if (is_too_long_) return {};
    std::transform(raw.begin(), raw.end(), room_.begin(), drop);
    return {room_.data(), raw.size()};
  }
  /// Some name has not been read.
  bool is_too_long() const noexcept { return is_too_long_; }

 private:
  static char drop(char c) noexcept { return static_cast<char>(c & 0x7f); }

  std::array<char, kRawNameMax> room_;
  bool is_too_long_ = false;
};

/// next_part() of text.h.
template <class Reading>
std::string_view next_part_of(const Reading& reading, std::string_view& rest,
                              char separator) noexcept {
  const std::size_t at = reading.find(rest, separator);
  const std::string_view part = rest.substr(0, at);
  rest.remove_prefix(at == std::string_view::npos ? rest.size() : at + 1);
  return part;
}

/// Whether a part of a pair between semicolons names the parameter. Some applications take `;` for
/// `&`, some for a part of the value, some drop the pair.
template <class Reading, class Match>
bool names_between_semicolons(Reading& reading, std::string_view pair, Match match) noexcept {
  while (!pair.empty()) {
    std::string_view part = next_part_of(reading, pair, ';');
    if (match(reading.name(next_part_of(reading, part, '='))) != PathMatch::no) return true;
  }
  return false;
}

/// A parameter, not decoded.
struct Parameter {
  MissReason why;
  std::string_view name, raw;  ///< if it is there
};

/// The only parameter that `match` takes.
template <class Reading, class Match>
Parameter find_raw(Reading& reading, std::string_view encoded, Match match) noexcept {
  const bool semicolons = reading.find(encoded, ';') != std::string_view::npos;
  bool elsewhere = false;
  Parameter out{MissReason::absent, {}, {}};
  while (!encoded.empty()) {
    std::string_view value = next_part_of(reading, encoded, '&');
    if (value.empty()) continue;
    if (semicolons && reading.find(value, ';') != std::string_view::npos) {
      if (names_between_semicolons(reading, value, match)) return {MissReason::ambiguous, {}, {}};
      continue;
    }
    const std::string_view name = next_part_of(reading, value, '=');
    const PathMatch got = match(reading.name(name));
    if (got == PathMatch::no) continue;
    elsewhere = elsewhere || got == PathMatch::elsewhere;
    if (got == PathMatch::elsewhere) continue;
    const bool found = out.why == MissReason::none;
    if (found || got == PathMatch::container) return {MissReason::ambiguous, {}, {}};
    out = {MissReason::none, name, value};
  }
  if (out.why == MissReason::absent && elsewhere) out.why = MissReason::ambiguous;
  return out;
}

/// Reads the text once more in seven bits, and compares the result with `found`. Ambiguous if the
/// two differ; else `found.why`. If a raw name is too long for that, the result is unknown.
template <class Match>
MissReason compare_in_seven_bits(std::string_view encoded, const Parameter& found,
                                 Match match) noexcept {
  InSevenBits reading;
  const Parameter there = find_raw(reading, encoded, match);
  if (reading.is_too_long()) return MissReason::unreadable;
  const bool same =
      there.why == found.why &&
      (found.why != MissReason::none ||
       (there.raw.data() == found.raw.data() && is_ascii(found.name) && is_ascii(found.raw)));
  return same ? found.why : MissReason::ambiguous;
}

/// Servers read DEL as they read a letter; they differ at the others.
bool may_end_early(std::string_view text) noexcept {
  return std::any_of(text.begin(), text.end(),
                     [](char c) { return ascii::is_control(c) && c != '\x7f'; });
}

/// The value of the only parameter that `match` takes.
template <class Match>
Extracted find_matching(Arena& arena, std::string_view encoded, Match match) noexcept {
  AsItStands reading;
  const Parameter found = find_raw(reading, encoded, match);
  if (found.why == MissReason::ambiguous) return Extracted::miss(found.why);
  if (!is_ascii(encoded)) {
    const MissReason why = compare_in_seven_bits(encoded, found, match);
    if (why != MissReason::none) return Extracted::miss(why);
  }
  if (found.why != MissReason::none) return Extracted::miss(found.why);
  // Netty ends a value at a raw line end, older Rack cuts a NUL off, aiohttp blanks at the end of
  // the body.
  const bool at_end = found.raw.data() + found.raw.size() == encoded.data() + encoded.size();
  if (may_end_early(found.raw) || (at_end && found.raw.ends_with(' ')))
    return Extracted::miss(MissReason::unreadable);
  return decoded_value(arena, found.raw, true);
}

}  // namespace

Extracted decoded_value(Arena& arena, std::string_view raw, bool plus) noexcept {
  const bool plain = raw.find_first_of(plus ? "%+" : "%") == std::string_view::npos;
  if (!plain) {
    char* const out = arena.allocate(raw.size());
    if (out == nullptr) return Extracted::miss(MissReason::unreadable);
    std::size_t size = 0;
    for (std::size_t at = 0; at < raw.size();) {
      if (raw[at] != '%') {
        out[size++] = plus && raw[at] == '+' ? ' ' : raw[at];
        ++at;
        continue;
      }
      const int byte = escaped_byte(raw, at);
      if (byte < 0) return Extracted::miss(MissReason::unreadable);
      out[size++] = static_cast<char>(byte);
      at += 3;
    }
    arena.shrink(raw.size(), size);
    raw = {out, size};
  }
  if (!is_utf8(raw)) return Extracted::miss(MissReason::unreadable);
  return {Value::text(raw)};
}

Extracted find_parameter(Arena& arena, std::string_view encoded, std::string_view name) noexcept {
  return find_matching(arena, encoded, [name](std::string_view parameter) {
    return path_match(match_form_name(parameter, name));
  });
}

Extracted find_parameter(Arena& arena, std::string_view encoded,
                         std::span<const PathStep> path) noexcept {
  return find_matching(arena, encoded, [path](std::string_view parameter) {
    return match_form_path(parameter, path);
  });
}

}  // namespace weir::policies
