#include "net/http/target.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <optional>

#include "core/assert.h"
#include "core/chars/ascii.h"
#include "core/chars/hex.h"

namespace weir::net {
namespace {

using Refusal = HttpRefusal;

/// The role of a byte in a path.
enum class Part : std::uint8_t {
  unreserved,  ///< its escape is decoded always
  reserved,    ///< sub-delims, ':' and '@': its escape is decoded for policies
  odd,         ///< must not be bare: escaped
  dot,         ///< unreserved, but may be a dot segment
  upper,       ///< unreserved
  semicolon,
  slash,
  percent,
};

constexpr auto kParts = [] {
  std::array<Part, 256> table;
  table.fill(Part::odd);
  for (unsigned c = 'a'; c <= 'z'; ++c) table[c] = Part::unreserved;
  for (unsigned c = 'A'; c <= 'Z'; ++c) table[c] = Part::upper;
  for (unsigned c = '0'; c <= '9'; ++c) table[c] = Part::unreserved;
  for (const char c : {'-', '_', '~'}) table[static_cast<unsigned char>(c)] = Part::unreserved;
  for (const char c : {'!', '$', '&', '\'', '(', ')', '*', '+', ',', '=', ':', '@'}) {
    table[static_cast<unsigned char>(c)] = Part::reserved;
  }
  table['.'] = Part::dot;
  table[';'] = Part::semicolon;
  table['/'] = Part::slash;
  table['%'] = Part::percent;
  return table;
}();

constexpr Part part_of(char c) noexcept { return kParts[static_cast<unsigned char>(c)]; }

/// Whether the path is its own normal form. May be false although it is (the slow way then copies
/// it). `dots`: becomes true where it has a dot, which a script needs.
bool is_normal(std::string_view path, const PathRules& rules, bool& dots) noexcept {
  for (std::size_t i = 0; i < path.size(); ++i) {
    const Part part = part_of(path[i]);
    if (part <= Part::reserved) continue;  // nearly every byte: one comparison
    const bool last = i + 1 == path.size();
    switch (part) {
      case Part::slash:
        if (last ? i != 0 : path[i + 1] == '/') return false;
        break;
      case Part::dot:
        if (last || path[i + 1] == '/') return false;
        dots = true;
        break;
      case Part::upper:
        if (rules.fold_case) return false;
        break;
      default:
        return false;
    }
  }
  return true;
}

/// The byte that the escape at text[i] encodes; nullopt if it is none.
std::optional<unsigned char> escaped(std::string_view text, std::size_t i) noexcept {
  if (i + 2 >= text.size() || text[i] != '%') return std::nullopt;
  const int high = hex_value(text[i + 1]);
  const int low = hex_value(text[i + 2]);
  if (high < 0 || low < 0) return std::nullopt;
  return static_cast<unsigned char>(high * 16 + low);
}

/// Whether the escapes from text[i] on, the first of them for `lead` >= 0x80, begin with one
/// well-formed UTF-8 character (Unicode, table 3-7). Returns how many bytes it has, or 0.
std::size_t utf8_size(std::string_view text, std::size_t i, unsigned char lead) noexcept {
  const std::size_t size = lead >= 0xc2 && lead <= 0xdf   ? 2
                           : lead >= 0xe0 && lead <= 0xef ? 3
                           : lead >= 0xf0 && lead <= 0xf4 ? 4
                                                          : 0;
  for (std::size_t k = 1; k < size; ++k) {
    const std::optional<unsigned char> next = escaped(text, i + 3 * k);
    unsigned low = 0x80;
    unsigned high = 0xbf;
    if (k == 1) {
      if (lead == 0xe0) low = 0xa0;
      if (lead == 0xf0) low = 0x90;
      if (lead == 0xed) high = 0x9f;
      if (lead == 0xf4) high = 0x8f;
    }
    if (!next || *next < low || *next > high) return 0;
  }
  return size;
}

/// Escapes that servers read in different ways.
enum class Odd : std::uint8_t { none, slash, other };

/// The kind of the escape at text[i], which encodes `byte`; `bytes`: how many escapes in a row
/// are one character.
Odd oddness(std::string_view text, std::size_t i, unsigned char byte, std::size_t& bytes) noexcept {
  bytes = 1;
  if (byte == '/' || byte == '\\') return Odd::slash;
  if (ascii::is_control(static_cast<char>(byte))) return Odd::other;
  if (byte < 0x80) return Odd::none;
  const std::size_t size = utf8_size(text, i, byte);
  if (size == 0) return Odd::other;
  bytes = size;
  return Odd::none;
}

/// Builds a path segment by segment: after two segments it holds `/a/b`.
class Builder {
 public:
  explicit Builder(std::span<char> out) noexcept : out_(out) {}

  void put(char c) noexcept { out_[size_++] = c; }
  void put(std::string_view text) noexcept {
    if (text.empty()) return;  // its data() may be null
    std::memmove(out_.data() + size_, text.data(), text.size());
    size_ += text.size();
  }
  void put_escape(unsigned char c) noexcept {
    put('%');
    put(upper_hex_digit(c >> 4));
    put(upper_hex_digit(c));
  }

  std::size_t size() const noexcept { return size_; }
  char back() const noexcept { return out_[size_ - 1]; }
  std::string_view from(std::size_t start) const noexcept {
    return {out_.data() + start, size_ - start};
  }
  void resize(std::size_t size) noexcept { size_ = size; }
  void drop_segment() noexcept {
    while (size_ > 0 && out_[--size_] != '/') {
    }
  }
  /// The path so far, at least `/`.
  std::string_view path() noexcept {
    if (size_ == 0) put('/');
    return from(0);
  }

 private:
  std::span<char> out_;
  std::size_t size_ = 0;
};

/// Calls segment(text, is_last) for each segment of a path; stops at the first false.
template <class F>
bool for_each_segment(std::string_view path, F segment) noexcept {
  path.remove_prefix(1);
  for (;;) {
    const std::size_t end = std::min(path.find('/'), path.size());
    const bool last = end == path.size();
    if (!segment(path.substr(0, end), last)) return false;
    if (last) return true;
    path.remove_prefix(end + 1);
  }
}

/// RFC 3986's normal form of one segment, and its oddities. False: a broken escape.
bool put_normal(Builder& out, std::string_view text, bool& odd_slash, bool& odd_escape) noexcept {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c != '%') {
      if (part_of(c) != Part::odd) {
        out.put(c);
        continue;
      }
      if (c == '\\') odd_slash = true;
      out.put_escape(static_cast<unsigned char>(c));
      continue;
    }
    const std::optional<unsigned char> byte = escaped(text, i);
    if (!byte || *byte == 0) return false;
    std::size_t bytes = 1;
    const Odd odd = oddness(text, i, *byte, bytes);
    odd_slash = odd_slash || odd == Odd::slash;
    odd_escape = odd_escape || odd == Odd::other;
    const Part part = part_of(static_cast<char>(*byte));
    if (part == Part::unreserved || part == Part::upper || part == Part::dot) {
      out.put(static_cast<char>(*byte));
    } else {
      for (std::size_t k = 0; k < bytes; ++k) out.put_escape(*escaped(text, i + 3 * k));
    }
    i += 3 * bytes - 1;
  }
  return true;
}

bool is_dots(std::string_view segment) noexcept { return segment == "." || segment == ".."; }

/// One segment of a path in normal form, as policies match it.
void put_folded(Builder& out, std::string_view segment) noexcept {
  for (std::size_t i = 0; i < segment.size(); ++i) {
    char c = segment[i];
    if (c == '%') {
      const auto byte = static_cast<char>(*escaped(segment, i));
      if (part_of(byte) != Part::reserved) {
        out.put(segment.substr(i, 3));
        i += 2;
        continue;
      }
      c = byte;
      i += 2;
    }
    out.put(c);
  }
}

/// How to treat a segment that folding makes empty.
enum class Hollow : std::uint8_t {
  vanishes,  ///< dots with parameters are dots
  is_name,   ///< the segment stays unchanged
};

/// The form of a normal path that policies match, with its letters. `hollow`: set if there is such
/// a segment.
std::string_view fold_names(std::string_view path, Hollow as, Builder out, bool& hollow) noexcept {
  for_each_segment(path, [&](std::string_view segment, bool) {
    if (segment.empty()) return true;
    const std::string_view name = segment.substr(0, segment.find(';'));
    const bool dots = is_dots(name);  // with parameters: without, they are gone
    const bool left = !dots && name.find_first_not_of('.') != std::string_view::npos;
    hollow = hollow || !left;
    if (!left && as == Hollow::vanishes) {
      if (name.size() == 2 && dots) out.drop_segment();
      return true;
    }
    out.put('/');
    put_folded(out, left ? name.substr(0, name.find_last_not_of('.') + 1) : segment);
    return true;
  });
  return out.path();
}

/// The same with its letters in lower case, if the rules require it.
std::string_view fold(std::string_view path, const PathRules& rules, Hollow as,
                      std::span<char> room, bool& hollow) noexcept {
  const std::string_view folded = fold_names(path, as, Builder(room), hollow);
  if (rules.fold_case) fold_letters(room.first(folded.size()));
  return folded;
}

/// The ASCII character for which the escapes from text[i] on are an overlong form, and how many
/// escapes they are; 0: they are none.
std::size_t overlong_size(std::string_view text, std::size_t i, unsigned char lead,
                          char& stands_for) noexcept {
  const std::size_t size = lead == 0xc0 || lead == 0xc1 ? 2
                           : lead == 0xe0               ? 3
                           : lead == 0xf0               ? 4
                                                        : 0;
  unsigned value = lead & (size == 2 ? 0x1f : 0x0f);
  for (std::size_t k = 1; k < size; ++k) {
    const std::optional<unsigned char> next = escaped(text, i + 3 * k);
    if (!next || (*next & 0xc0) != 0x80) return 0;
    value = value << 6 | (*next & 0x3f);
  }
  if (size == 0 || value >= 0x80) return 0;
  stands_for = static_cast<char>(value);
  return size;
}

/// A path in normal form, as read by a server that decodes slashes first, or misreads bytes that
/// are not UTF-8. Bare characters and escapes come out in normal form. With `merges`, `..` removes
/// the segment before it and the slashes between both: `/a//..` is `/`, and else `/a/`.
class LaxReader {
 public:
  LaxReader(bool slashes, bool escapes, bool merges, Builder out) noexcept
      : slashes_(slashes), escapes_(escapes), merges_(merges), out_(out) {}

  std::string_view read(std::string_view path) noexcept {
    out_.put('/');
    for (std::size_t i = 1; i < path.size(); ++i) {
      if (path[i] != '%') {
        path[i] == '/' ? next_segment() : out_.put(path[i]);
        continue;
      }
      const unsigned char byte = *escaped(path, i);
      std::size_t bytes = 1;
      const Odd odd = oddness(path, i, byte, bytes);
      char stands_for = 0;
      if (odd == Odd::slash && slashes_) {
        next_segment();
      } else if (odd == Odd::other && escapes_) {
        bytes = std::max<std::size_t>(1, overlong_size(path, i, byte, stands_for));
        if (stands_for != 0) put(stands_for);
      } else {
        out_.put(path.substr(i, 3 * bytes));
      }
      i += 3 * bytes - 1;
    }
    end_segment();
    return out_.path();
  }

 private:
  void put(char c) noexcept {
    const Part part = part_of(c);
    if (part == Part::slash || c == '\\') {
      next_segment();
    } else if (part == Part::odd || part == Part::percent) {
      out_.put_escape(static_cast<unsigned char>(c));
    } else {
      out_.put(c);
    }
  }
  void end_segment() noexcept {
    const std::string_view text = out_.from(start_ + 1);
    if (!is_dots(text)) return;
    const bool up = text.size() == 2;
    out_.resize(start_);
    if (!up) return;
    while (merges_ && out_.size() > 0 && out_.back() == '/') out_.resize(out_.size() - 1);
    out_.drop_segment();
  }
  void next_segment() noexcept {
    end_segment();
    start_ = out_.size();
    out_.put('/');
  }

  bool slashes_;
  bool escapes_;
  bool merges_;
  Builder out_;
  std::size_t start_ = 0;  // of the segment under way
};

}  // namespace

HttpRefusal normalise_target(std::string_view target, const PathRules& rules,
                             std::span<char> scratch, NormalTarget& out) noexcept {
  WEIR_ASSERT(!target.empty() && target.front() == '/');
  std::string_view path = target;
  std::string_view rest;  // the query with its mark
  out.query = {};
  if (const void* mark = std::memchr(target.data(), '?', target.size())) {
    const auto at = static_cast<std::size_t>(static_cast<const char*>(mark) - target.data());
    path = target.substr(0, at);
    rest = target.substr(at);
    out.query = target.substr(at + 1);
  }
  out.lax = out.named = out.merged = out.cased_path = {};
  const auto has_script = [](std::string_view read) {
    return any_php_script(read, [](std::size_t) noexcept { return true; });
  };
  bool dots = false;
  if (is_normal(path, rules, dots)) [[likely]] {
    out.path = out.forward = path;
    out.target = target;
    out.has_script = dots && has_script(path);
    return Refusal::none;
  }
  WEIR_ASSERT(scratch.size() >= normal_path_room(target.size()));
  const std::size_t room = 3 * target.size();
  Builder normal(scratch.first(room));
  bool odd_slash = false;
  bool odd_escape = false;
  const bool good = for_each_segment(path, [&](std::string_view segment, bool last) {
    const std::size_t start = normal.size();
    normal.put('/');
    if (!put_normal(normal, segment, odd_slash, odd_escape)) return false;
    const std::string_view text = normal.from(start + 1);
    if (!is_dots(text)) return true;
    const bool up = text.size() == 2;
    normal.resize(start);
    if (up) normal.drop_segment();
    if (last) normal.put('/');  // `/a/.` is `/a/`
    return true;
  });
  if (!good) return Refusal::path_escape;
  out.forward = normal.path();
  normal.put(rest);
  out.target = normal.from(0);
  bool hollow = false;
  out.path = fold(out.forward, rules, Hollow::vanishes, scratch.subspan(room, room), hollow);
  if (rules.fold_case) {
    out.cased_path =
        fold_names(out.forward, Hollow::vanishes, Builder(scratch.subspan(5 * room)), hollow);
  }
  const bool slashes = odd_slash && !rules.keep_encoded_slash;
  const bool escapes = odd_escape && !rules.keep_other_escapes;
  const std::span<char> third = scratch.subspan(2 * room, room);
  std::string_view lax = out.forward;
  if (slashes || escapes)
    lax = LaxReader(slashes, escapes, false, Builder(third)).read(out.forward);
  const std::string_view named =
      fold(lax, rules, Hollow::is_name, scratch.subspan(3 * room, room), hollow);
  if (hollow) out.named = named;
  if (slashes || escapes) {  // in place: folding makes no path longer
    out.lax = fold(lax, rules, Hollow::vanishes, third, hollow);
    const std::span<char> fifth = scratch.subspan(4 * room, room);
    const std::string_view merged =
        LaxReader(slashes, escapes, true, Builder(fifth)).read(out.forward);
    const std::string_view folded = fold(merged, rules, Hollow::vanishes, fifth, hollow);
    if (folded != out.lax) out.merged = folded;
  }
  out.has_script = has_script(out.path) || has_script(out.lax);
  return Refusal::none;
}

}  // namespace weir::net
