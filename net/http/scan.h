#pragma once

#include <array>
#include <cstdint>

#if defined(__SSE2__)
#include <emmintrin.h>

#include "core/chars/ascii.h"
#endif

/// Scans for the first byte that a part of a head may not contain: 16 bytes a step with SSE2 (every
/// x86-64 has it, and valgrind runs it; SSE4.2's pcmpestri is slower than these few instructions
/// and AVX2 does not pay: the median field is 30 bytes long), one byte a step elsewhere.
namespace weir::net::scan {

/// Control characters but tab: no part of a head may contain one.
constexpr bool is_control(char c) noexcept { return ascii::is_control_but_tab(c); }
/// Characters of a request target: 0x21..0x7e except '#'.
constexpr bool is_target(char c) noexcept { return c > 0x20 && c < 0x7f && c != '#'; }
/// Characters of nearly every field name: letters, digits, '-'.
constexpr bool is_plain_name(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
}

/// Each class defines the bytes that stop it: one by one, and 16 together, all bits set for such a
/// byte. Comparisons of bytes are signed, so a range that is moved to the upper end of the positive
/// numbers costs one addition and one comparison.
struct Control {
  static constexpr bool stops(char c) noexcept { return is_control(c); }
#if defined(__SSE2__)
  static __m128i stops(__m128i bytes) noexcept {
    const __m128i tab = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\t'));
    const __m128i low = _mm_cmpeq_epi8(_mm_min_epu8(bytes, _mm_set1_epi8(0x1f)), bytes);
    const __m128i del = _mm_cmpeq_epi8(bytes, _mm_set1_epi8(0x7f));
    return _mm_or_si128(_mm_andnot_si128(tab, low), del);
  }
#endif
};
/// The bytes that stop Control, and also the tab and bytes from 0x80 on: rare in a head, and
/// without them the test is half as long. A scan that stops at one of the latter continues with
/// Control.
struct Unusual {
  static constexpr bool stops(char c) noexcept {
    return static_cast<signed char>(c) < 0x20 || c == 0x7f;
  }
#if defined(__SSE2__)
  static __m128i stops(__m128i bytes) noexcept {
    return _mm_or_si128(_mm_cmpgt_epi8(_mm_set1_epi8(0x20), bytes),
                        _mm_cmpeq_epi8(bytes, _mm_set1_epi8(0x7f)));
  }
#endif
};
struct NotTarget {
  static constexpr bool stops(char c) noexcept { return !is_target(c); }
#if defined(__SSE2__)
  static __m128i stops(__m128i bytes) noexcept {
    const __m128i hash = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('#'));
    const __m128i low = _mm_cmpgt_epi8(_mm_set1_epi8(0x21), bytes);  // and from 0x80 on
    return _mm_or_si128(_mm_or_si128(low, hash), _mm_cmpeq_epi8(bytes, _mm_set1_epi8(0x7f)));
  }
#endif
};
struct NotPlainName {
  static constexpr bool stops(char c) noexcept { return !is_plain_name(c); }
#if defined(__SSE2__)
  static __m128i stops(__m128i bytes) noexcept {
    const auto from = [](__m128i all, char first, char last) {
      const auto shift = static_cast<char>(0x7f - last);
      return _mm_cmpgt_epi8(_mm_add_epi8(all, _mm_set1_epi8(shift)),
                            _mm_set1_epi8(static_cast<char>(first + shift - 1)));
    };
    const __m128i letter = from(_mm_or_si128(bytes, _mm_set1_epi8(0x20)), 'a', 'z');
    const __m128i digit = from(bytes, '0', '9');
    const __m128i dash = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('-'));
    const __m128i good = _mm_or_si128(letter, _mm_or_si128(digit, dash));
    return _mm_cmpeq_epi8(good, _mm_setzero_si128());
  }
#endif
};

/// The first byte of [p, end) that stops the class, or end. Reads nothing outside [begin, end),
/// where begin <= p: the last 16 bytes are looked at together, whatever of them lies before p.
template <class Class>
inline const char* find([[maybe_unused]] const char* begin, const char* p,
                        const char* end) noexcept {
#if defined(__SSE2__)
  const auto stops = [](const char* at) {
    return Class::stops(_mm_loadu_si128(reinterpret_cast<const __m128i*>(at)));
  };
  const auto bits = [](__m128i bytes) { return static_cast<unsigned>(_mm_movemask_epi8(bytes)); };
  for (; end - p >= 16; p += 16) {
    const unsigned mask = bits(stops(p));
    if (mask != 0) return p + __builtin_ctz(mask);
    for (p += 16; end - p >= 32; p += 32) {  // of long parts 32 with one test
      const __m128i front = stops(p);
      const __m128i back = stops(p + 16);
      if (bits(_mm_or_si128(front, back)) == 0) continue;
      return p + __builtin_ctz(bits(front) | bits(back) << 16);
    }
    p -= 16;
  }
  if (end - begin >= 16) {
    const unsigned mask = bits(stops(end - 16)) >> (16 - (end - p));
    return mask != 0 ? p + __builtin_ctz(mask) : end;
  }
#endif
  while (p != end && !Class::stops(*p)) ++p;
  return p;
}

}  // namespace weir::net::scan
