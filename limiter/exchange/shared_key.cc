#include "limiter/exchange/shared_key.h"

#include "core/chars/ascii.h"
#include "core/chars/percent.h"

namespace weir::limiter {

void append_hashed_key(std::string& out, const Hash128& hash) {
  constexpr char kLetters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  __extension__ using Bits = unsigned __int128;
  Bits bits = Bits{hash.hi} << 64 | hash.lo;
  for (int i = 0; i < 22; ++i) {
    out += kLetters[static_cast<unsigned>(bits & 63U)];
    bits >>= 6;
  }
}

void ReadableKey::separate() {
  if (out_.size() != begin_) out_ += ',';
}

void ReadableKey::add_text(std::string_view part) {
  separate();
  if (part.empty()) out_ += '%';
  for (const char c : part) {
    const bool plain = ascii::is_letter_or_digit(c) || c == '-' || c == '.' || c == '_' ||
                       c == ':' || c == '@' || c == '/';
    if (plain) {
      out_ += c;
    } else {
      append_percent(out_, c);
    }
  }
}

void ReadableKey::add_missing() {
  separate();
  out_ += '!';
}

void ReadableKey::end() {
  if (out_.size() == begin_) out_ += '~';
}

}  // namespace weir::limiter
