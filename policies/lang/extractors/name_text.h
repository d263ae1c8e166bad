#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "core/chars/case_fold.h"
#include "core/chars/hex.h"
#include "core/utf8.h"
#include "policies/lang/extractors/blank.h"
#include "policies/lang/extractors/escapes.h"

/// Names character by character, as applications read them: the tools of names.cc and
/// name_path.cc. Nothing here allocates.
namespace weir::policies::name_text {

inline constexpr char32_t kEnd = 0xffffffff;
inline constexpr char32_t kBroken = 0xfffd;

/// A byte that is not UTF-8, as read by applications that take a head for Latin-1: a blank if it is
/// one there.
inline char32_t broken(unsigned char byte) noexcept {
  return byte == 0x85 || byte == 0xa0 ? byte : kBroken;
}

/// The characters of a text, not decoded.
class PlainText {
 public:
  explicit PlainText(std::string_view text) noexcept : rest_(text) {}
  char32_t next() noexcept {
    if (rest_.empty()) return kEnd;
    const auto first = static_cast<unsigned char>(rest_.front());
    if (first < 0x80) {
      rest_.remove_prefix(1);
      return first;
    }
    const Utf8 got = decode_utf8(rest_);
    rest_.remove_prefix(got.length == 0 ? 1 : got.length);
    return got.length == 0 ? broken(first) : got.code;
  }

 private:
  std::string_view rest_;
};

/// The characters of an encoded name. A broken escape is taken literally; `%u0075` is `u`, as
/// Microsoft's older servers read it.
class EncodedText {
 public:
  explicit EncodedText(std::string_view text) noexcept : text_(text) {}

  char32_t next() noexcept {
    if (ended_ || at_ >= text_.size()) return kEnd;
    if (text_[at_] == '%' && at_ + 1 < text_.size() && (text_[at_ + 1] | 0x20) == 'u') {
      if (const std::optional<char32_t> code = wide_escape()) return *code;
    }
    std::array<char, 4> bytes;
    std::size_t next = at_;
    bytes[0] = byte(next);
    if (bytes[0] == '\0') {
      ended_ = true;
      return kEnd;
    }
    std::size_t size = 1;
    const auto first = static_cast<unsigned char>(bytes[0]);
    const std::size_t wanted = first < 0xc0 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    std::size_t after = next;
    while (size < wanted && after < text_.size()) bytes[size++] = byte(after);
    if (wanted > 1 && decode_utf8({bytes.data(), size}).length == wanted) {
      at_ = after;
      return decode_utf8({bytes.data(), size}).code;
    }
    at_ = next;
    return first < 0x80 ? first : broken(first);
  }

 private:
  char byte(std::size_t& at) const noexcept {
    const char c = text_[at];
    if (c == '+') return ++at, ' ';
    if (c == '%') {
      const int escaped = escaped_byte(text_, at);
      if (escaped >= 0) return at += 3, static_cast<char>(escaped);
    }
    return ++at, c;
  }
  std::optional<char32_t> wide_escape() noexcept {
    if (text_.size() - at_ < 6) return std::nullopt;
    char32_t code = 0;
    for (std::size_t k = 2; k < 6; ++k) {
      const int digit = hex_value(text_[at_ + k]);
      if (digit < 0) return std::nullopt;
      code = code * 16 + static_cast<char32_t>(digit);
    }
    at_ += 6;
    if (code == 0) ended_ = true;
    return code == 0 ? kEnd : code;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  bool ended_ = false;  // by a NUL
};

/// Whether some application passes over this character in front of a form's name: Spring over `!`,
/// URLSearchParams over `?`.
constexpr bool is_passed_over(char32_t c) noexcept { return c == U'!' || c == U'?'; }

/// The meaning of `[` and `]` in a name.
enum class Brackets : std::uint8_t { letters, end_name, separate, are_underscores };

/// Blanks of a form's names: dropped, or, but at the beginning, underscores as PHP makes of them.
enum class Blanks : std::uint8_t { dropped, are_underscores };

/// Points in front of a form's name: underscores as PHP makes of them, or dropped, as qs drops one
/// where points nest.
enum class Points : std::uint8_t { are_underscores, dropped };

/// A name without ignored characters. Separators inside are left out, at both ends each is
/// an underscore; blanks at both ends are left out.
template <class Source>
class Folded {
 public:
  Folded(Source source, Brackets brackets, bool form, Blanks blanks = Blanks::dropped,
         Points in_front = Points::are_underscores) noexcept
      : source_(source), brackets_(brackets), blanks_(blanks), in_front_(in_front), form_(form) {}

  char32_t next() noexcept {
    if (queued_ > 0) return --queued_, U'_';
    if (done_) return kEnd;
    std::uint32_t run = 0;
    for (;;) {
      const char32_t c = source_.next();
      if (c == kEnd) break;
      const bool bracket = c == U'[' || c == U']';
      if (bracket && brackets_ == Brackets::end_name) {
        if (!begun_) continue;
        ended_by_bracket_ = true;
        break;
      }
      if (bracket && brackets_ == Brackets::separate) {
        opened_ += c == U'[' ? 1 : 0;
        continue;
      }
      if (form_ && !begun_ && is_passed_over(c)) continue;
      if (!begun_ && in_front_ == Points::dropped && c == U'.') continue;
      if (form_ && is_trimmed(c)) {
        if (begun_ && blanks_ == Blanks::are_underscores) ++run;
        continue;
      }
      const bool separator = c == U'_' || c == U'-' || (form_ && c == U'.') ||
                             (bracket && brackets_ == Brackets::are_underscores);
      if (!separator) {
        begun_ = true;
        return fold_case(c);
      }
      if (!begun_) return U'_';
      ++run;
    }
    done_ = true;
    queued_ = run;
    return next();
  }
  bool ended_by_bracket() const noexcept { return ended_by_bracket_; }
  std::uint32_t opened() const noexcept { return opened_; }

 private:
  Source source_;
  Brackets brackets_;
  Blanks blanks_;
  Points in_front_;
  bool form_;
  bool begun_ = false, done_ = false, ended_by_bracket_ = false;
  std::uint32_t queued_ = 0, opened_ = 0;
};

template <class A, class B>
bool same(A& a, B& b) noexcept {
  for (;;) {
    const char32_t x = a.next(), y = b.next();
    if (x != y) return false;
    if (x == kEnd) return true;
  }
}

}  // namespace weir::policies::name_text
