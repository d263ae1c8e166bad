#include "policies/lang/extractors/form.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "core/utf8.h"
#include "policies/lang/extractors/arena.h"
#include "policies/lang/extractors/escapes.h"
#include "policies/lang/extractors/name_path.h"
#include "policies/lang/extractors/text.h"

namespace weir::policies {
namespace {

/// Past the ASCII at the beginning.
void skip_ascii(std::string_view& text) noexcept {
  while (text.size() >= 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, text.data(), sizeof word);
    if ((word & 0x8080808080808080) != 0) break;
    text.remove_prefix(8);
  }
  while (!text.empty() && static_cast<unsigned char>(text.front()) < 0x80) text.remove_prefix(1);
}

/// Whether a part of a pair between semicolons names the parameter. Some applications take `;` for
/// `&`, some for a part of the value, some drop the pair.
template <class Match>
bool names_between_semicolons(std::string_view pair, Match match) noexcept {
  while (!pair.empty()) {
    std::string_view part = next_part(pair, ';');
    if (match(next_part(part, '=')) != PathMatch::no) return true;
  }
  return false;
}

/// A parameter as it stands in the text.
struct Parameter {
  MissReason why;
  std::string_view name, raw;  ///< if it is there
};

/// The only parameter that `match` takes.
template <class Match>
Parameter find_raw(std::string_view encoded, Match match) noexcept {
  const bool semicolons = encoded.find(';') != std::string_view::npos;
  bool elsewhere = false;
  Parameter out{MissReason::absent, {}, {}};
  while (!encoded.empty()) {
    std::string_view value = next_part(encoded, '&');
    if (value.empty()) continue;
    if (semicolons && value.find(';') != std::string_view::npos) {
      if (names_between_semicolons(value, match)) return {MissReason::ambiguous, {}, {}};
      continue;
    }
    const std::string_view name = next_part(value, '=');
    const PathMatch got = match(name);
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

/// Reads the text once more with the highest bit of each byte dropped, as Node's `ascii` does, and
/// compares what it finds with `found`. Ambiguous if the two differ; else `found.why`.
template <class Match>
MissReason compare_in_seven_bits(Arena& arena, std::string_view encoded, const Parameter& found,
                                 Match match) noexcept {
  char* const room = arena.allocate(encoded.size());
  if (room == nullptr) return MissReason::unreadable;
  std::transform(encoded.begin(), encoded.end(), room,
                 [](char c) { return static_cast<char>(c & 0x7f); });
  const Parameter there = find_raw({room, encoded.size()}, match);
  arena.shrink(encoded.size(), 0);
  const bool same =
      there.why == found.why && (found.why != MissReason::none ||
                                 (there.raw.data() - room == found.raw.data() - encoded.data() &&
                                  is_ascii(found.name) && is_ascii(found.raw)));
  return same ? found.why : MissReason::ambiguous;
}

bool has_control(std::string_view text) noexcept {
  return std::any_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) < 0x20; });
}

/// The value of the only parameter that `match` takes.
template <class Match>
Extracted find_matching(Arena& arena, std::string_view encoded, Match match) noexcept {
  const Parameter found = find_raw(encoded, match);
  if (found.why == MissReason::ambiguous) return Extracted::miss(found.why);
  if (!is_ascii(encoded)) {
    const MissReason why = compare_in_seven_bits(arena, encoded, found, match);
    if (why != MissReason::none) return Extracted::miss(why);
  }
  if (found.why != MissReason::none) return Extracted::miss(found.why);
  // Netty ends a value at a raw line end, older Rack cuts a NUL off, aiohttp blanks at the end of
  // the body.
  const bool at_end = found.raw.data() + found.raw.size() == encoded.data() + encoded.size();
  if (has_control(found.raw) || (at_end && found.raw.ends_with(' ')))
    return Extracted::miss(MissReason::unreadable);
  return decoded_value(arena, found.raw, true);
}

}  // namespace

bool is_ascii(std::string_view text) noexcept {
  skip_ascii(text);
  return text.empty();
}

bool is_utf8(std::string_view text) noexcept {
  skip_ascii(text);
  while (!text.empty()) {
    const std::size_t length = decode_utf8(text).length;
    if (length == 0) return false;
    text.remove_prefix(length);
    skip_ascii(text);
  }
  return true;
}

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
