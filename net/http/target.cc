#include "net/http/target.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <optional>

#include "core/assert.h"

namespace weir::net {
namespace {

using Refusal = HttpRefusal;

/// What a byte is in a path.
enum class Part : std::uint8_t {
  odd,         ///< may not stand bare: escaped
  unreserved,  ///< its escape is decoded always
  dot,         ///< unreserved, but may be a dot segment
  upper,       ///< unreserved
  reserved,    ///< sub-delims, ':' and '@': its escape is decoded when strict
  semicolon,
  slash,
  percent,
};

constexpr auto kParts = [] {
  std::array<Part, 256> table{};
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

/// Whether the path is its own normal form. May say no where it is (the slow way then copies it).
bool is_normal(std::string_view path, const PathRules& rules) noexcept {
  for (std::size_t i = 0; i < path.size(); ++i) {
    const Part part = part_of(path[i]);
    if (part == Part::unreserved || part == Part::reserved) continue;
    const bool last = i + 1 == path.size();
    switch (part) {
      case Part::slash:
        if (last ? i != 0 : path[i + 1] == '/') return false;
        break;
      case Part::dot:
        if (last || path[i + 1] == '/') return false;
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

/// The byte that the escape at text[i] stands for; nullopt if it is none.
std::optional<unsigned char> escaped(std::string_view text, std::size_t i) noexcept {
  const auto hex = [](char c) -> int {
    if (c >= '0' && c <= '9') return c - '0';
    const char lower = static_cast<char>(c | 0x20);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
  };
  if (i + 2 >= text.size() || text[i] != '%') return std::nullopt;
  const int high = hex(text[i + 1]);
  const int low = hex(text[i + 2]);
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

/// Builds the normal form, segment by segment: `/a/b` is what it holds after two segments.
class Builder {
 public:
  Builder(std::span<char> out, const PathRules& rules) noexcept : out_(out), rules_(rules) {}

  Refusal add(std::string_view segment, bool last) noexcept {
    const std::size_t start = size_;
    put('/');
    if (rules_.strict) segment = segment.substr(0, segment.find(';'));
    if (const Refusal refusal = decode(segment); refusal != Refusal::none) return refusal;
    const std::string_view text{out_.data() + start + 1, size_ - start - 1};
    if (text == "." || text == "..") {
      size_ = start;
      if (text.size() == 2) pop();
      if (last && !rules_.strict) put('/');  // `/a/.` is `/a/`
    } else if (rules_.strict) {
      while (size_ > start && (out_[size_ - 1] == '.')) --size_;
      if (size_ == start + 1) size_ = start;
    }
    return Refusal::none;
  }

  std::string_view finish() noexcept {
    if (size_ == 0) put('/');
    return {out_.data(), size_};
  }

 private:
  void put(char c) noexcept { out_[size_++] = c; }

  void put_escape(unsigned char c) noexcept {
    constexpr char kHex[] = "0123456789ABCDEF";
    put('%');
    put(kHex[c >> 4]);
    put(kHex[c & 15]);
  }

  void put_letter(char c) noexcept {
    put(rules_.fold_case && c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c);
  }

  void pop() noexcept {
    while (size_ > 0 && out_[--size_] != '/') {
    }
  }

  Refusal decode(std::string_view text) noexcept {
    for (std::size_t i = 0; i < text.size(); ++i) {
      const char c = text[i];
      if (c == '%') {
        const std::optional<unsigned char> byte = escaped(text, i);
        if (!byte) return Refusal::path_escape;
        if (const Refusal refusal = decode_escape(text, i, *byte); refusal != Refusal::none) {
          return refusal;
        }
      } else if (part_of(c) == Part::odd) {
        if (rules_.strict && c == '\\') return Refusal::path_escape;
        put_escape(static_cast<unsigned char>(c));
      } else {
        put_letter(c);
      }
    }
    return Refusal::none;
  }

  /// The escape at text[i], which stands for `byte`; leaves `i` at the last byte that is dealt
  /// with.
  Refusal decode_escape(std::string_view text, std::size_t& i, unsigned char byte) noexcept {
    const auto c = static_cast<char>(byte);
    const Part part = part_of(c);
    std::size_t bytes = 1;
    if (rules_.strict) {
      if (c == '/' || c == '\\' || c == '\0') return Refusal::path_escape;
      if (byte >= 0x80 && (bytes = utf8_size(text, i, byte)) == 0) return Refusal::path_escape;
    }
    if (part == Part::unreserved || part == Part::upper || part == Part::dot ||
        (part == Part::reserved && rules_.strict)) {
      put_letter(c);
    } else {
      for (std::size_t k = 0; k < bytes; ++k) put_escape(*escaped(text, i + 3 * k));
    }
    i += 3 * bytes - 1;
    return Refusal::none;
  }

  std::span<char> out_;
  const PathRules& rules_;
  std::size_t size_ = 0;
};

}  // namespace

HttpRefusal normalise_target(std::string_view target, const PathRules& rules,
                             std::span<char> scratch, NormalTarget& out) noexcept {
  WEIR_ASSERT(!target.empty() && target.front() == '/');
  std::string_view path = target;
  out.query = {};
  if (const void* mark = std::memchr(target.data(), '?', target.size())) {
    const auto at = static_cast<std::size_t>(static_cast<const char*>(mark) - target.data());
    path = target.substr(0, at);
    out.query = target.substr(at + 1);
  }
  if (is_normal(path, rules)) [[likely]] {
    out.path = path;
    return Refusal::none;
  }
  WEIR_ASSERT(scratch.size() >= normal_path_room(path.size()));
  Builder builder(scratch, rules);
  path.remove_prefix(1);
  for (;;) {
    const std::size_t end = std::min(path.find('/'), path.size());
    const bool last = end == path.size();
    const Refusal refusal = builder.add(path.substr(0, end), last);
    if (refusal != Refusal::none) return refusal;
    if (last) break;
    path.remove_prefix(end + 1);
  }
  out.path = builder.finish();
  return Refusal::none;
}

}  // namespace weir::net
