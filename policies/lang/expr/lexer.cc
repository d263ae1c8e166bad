#include "policies/lang/expr/lexer.h"

#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include "config/text/look_alikes.h"
#include "core/chars/ascii.h"
#include "core/utf8.h"

namespace weir::policies::expr {
namespace {

bool is_letter(char c) noexcept { return ascii::is_letter(c) || c == '_'; }

class Lexer {
 public:
  Lexer(std::string_view text, Diagnostics& diagnostics) noexcept
      : text_(text), diagnostics_(diagnostics) {}

  std::optional<std::vector<Token>> run() {
    for (skip_blanks(); at_ < text_.size(); skip_blanks()) {
      Token token;
      token.begin = position();
      if (!next(token)) return std::nullopt;
      token.end = position();
      tokens_.push_back(std::move(token));
    }
    Token end;
    end.begin = end.end = position();
    tokens_.push_back(end);
    return std::move(tokens_);
  }

 private:
  std::uint32_t position() const noexcept { return static_cast<std::uint32_t>(at_); }
  char peek(std::size_t ahead = 0) const noexcept {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }

  bool fail(std::size_t begin, std::string message, std::string hint = {}) {
    diagnostics_.error(begin, std::max(at_, begin + 1), std::move(message), std::move(hint));
    return false;
  }

  void skip_blanks() noexcept {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '/' && peek(1) == '/') {
        while (at_ < text_.size() && text_[at_] != '\n') ++at_;
      } else if (c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f') {
        ++at_;
      } else {
        return;
      }
    }
  }

  bool next(Token& token) {
    const char c = peek();
    if (c == '"' || c == '\'') return string(token, false);
    if ((c == 'r' || c == 'R') && (peek(1) == '"' || peek(1) == '\'')) {
      ++at_;
      return string(token, true);
    }
    if ((c == 'b' || c == 'B') && (peek(1) == '"' || peek(1) == '\'')) {
      return fail(at_, "byte strings are not part of the language", "leave out the b");
    }
    if (ascii::is_digit(c) || (c == '.' && ascii::is_digit(peek(1)))) return number(token);
    if (is_letter(c)) {
      token.kind = Token::Kind::name;
      while (is_letter(peek()) || ascii::is_digit(peek())) token.text.push_back(text_[at_++]);
      return true;
    }
    return mark(token);
  }

  bool mark(Token& token) {
    static constexpr std::array<std::string_view, 22> kMarks = {
        "==", "!=", "<=", ">=", "&&", "||", "<", ">", "!", "+", "-",
        "*",  "/",  "%",  "(",  ")",  "[",  "]", ".", ",", "?", ":"};
    token.kind = Token::Kind::mark;
    const std::string_view rest = text_.substr(at_);
    if (rest.starts_with("<>")) return fail(at_, "\"<>\" is not an operator", "write !=");
    for (const char* const matching : {"=~", "!~", "~"}) {
      if (rest.starts_with(matching))
        return fail(at_, "\"" + std::string(matching) + "\" is not an operator",
                    "write path.matches(\"^/api/\"), with ! before it for the contrary");
    }
    for (const std::string_view mark : kMarks) {
      if (!rest.starts_with(mark)) continue;
      token.text = mark;
      at_ += mark.size();
      return true;
    }
    switch (peek()) {
      case '=':
        return fail(at_, "\"=\" is not an operator", "write == to compare");
      case '&':
        return fail(at_, "\"&\" is not an operator", "write && or and");
      case '|':
        return fail(at_, "\"|\" is not an operator", "write || or or");
      case '{':
      case '}':
        return fail(at_, "maps are not part of the language");
      default:
        break;
    }
    const auto byte = static_cast<unsigned char>(peek());
    if (byte >= 0x80) {
      const Utf8 character = decode_utf8(text_.substr(at_));
      if (!config::look_alike(character.code).name.empty()) {
        const std::size_t begin = at_;
        at_ += character.length;
        return fail(begin, "this is " + config::look_alike_text(character.code),
                    config::look_alike_hint(character.code));
      }
    }
    if (byte >= 0x80 || byte < 0x20) return fail(at_, "unexpected character outside a string");
    return fail(at_, "unexpected \"" + std::string(1, peek()) + "\"");
  }

  bool number(Token& token) {
    const std::size_t begin = at_;
    if (peek() == '0' && (peek(1) == 'x' || peek(1) == 'X')) {
      at_ += 2;
      return integer(token, begin, 16);
    }
    bool real = false;
    while (ascii::is_digit(peek())) ++at_;
    if (peek() == '.' && ascii::is_digit(peek(1))) {
      real = true;
      ++at_;
      while (ascii::is_digit(peek())) ++at_;
    }
    if (peek() == 'e' || peek() == 'E') {
      const std::size_t sign = peek(1) == '+' || peek(1) == '-' ? 1 : 0;
      if (ascii::is_digit(peek(1 + sign))) {
        real = true;
        at_ += 1 + sign;
        while (ascii::is_digit(peek())) ++at_;
      }
    }
    if (!real) {
      at_ = begin;
      return integer(token, begin, 10);
    }
    if (!number_ends(begin)) return false;
    token.kind = Token::Kind::real;
    const auto [end, error] = std::from_chars(text_.data() + begin, text_.data() + at_, token.real);
    if (error != std::errc{} && std::abs(token.real) != 0)
      return fail(begin, "number out of range");
    if (error != std::errc{}) return fail(begin, "number out of range of a double");
    return true;
  }

  bool integer(Token& token, std::size_t begin, int base) {
    token.kind = Token::Kind::integer;
    const auto [end, error] =
        std::from_chars(text_.data() + at_, text_.data() + text_.size(), token.magnitude, base);
    at_ = static_cast<std::size_t>(end - text_.data());
    if (error == std::errc::invalid_argument) return fail(begin, "a number has no digits");
    if (error != std::errc{} || token.magnitude > std::uint64_t{1} << 63) {
      return fail(begin, "number out of range of a 64-bit integer");
    }
    return number_ends(begin);
  }

  bool number_ends(std::size_t begin) {
    if (!is_letter(peek()) && !ascii::is_digit(peek())) return true;
    const bool is_unsigned = (peek() == 'u' || peek() == 'U') && !is_letter(peek(1));
    while (is_letter(peek()) || ascii::is_digit(peek())) ++at_;
    if (is_unsigned)
      return fail(begin, "unsigned numbers are not part of the language", "leave out the u");
    return fail(begin, "malformed number \"" + std::string(text_.substr(begin, at_ - begin)) + "\"",
                "numbers here have no unit; strings are written in quotes");
  }

  bool string(Token& token, bool raw) {
    const std::size_t begin = token.begin;
    token.kind = Token::Kind::text;
    const char quote = peek();
    const bool triple = peek(1) == quote && peek(2) == quote;
    const std::string closing(triple ? 3 : 1, quote);
    at_ += closing.size();
    for (;;) {
      if (at_ >= text_.size()) return fail(begin, "a string is not closed");
      if (text_.substr(at_).starts_with(closing)) {
        at_ += closing.size();
        return true;
      }
      const char c = text_[at_];
      if (!triple && (c == '\n' || c == '\r'))
        return fail(begin, "a string is not closed on its line");
      if (c == '\\' && !raw) {
        if (!escape(token.text)) return false;
      } else if (c == '\\') {  // CEL: a raw string keeps the backslash, and the next character does
                               // not end it
        token.text.push_back(c);
        if (++at_ < text_.size()) token.text.push_back(text_[at_++]);
      } else {
        token.text.push_back(c);
        ++at_;
      }
    }
  }

  bool escape(std::string& out) {
    static constexpr std::string_view kFrom = "abfnrtv\\?\"'`";
    static constexpr std::string_view kTo = "\a\b\f\n\r\t\v\\?\"'`";
    const std::size_t begin = at_++;
    const char c = peek();
    if (const std::size_t k = kFrom.find(c); c != '\0' && k != std::string_view::npos) {
      ++at_;
      out.push_back(kTo[k]);
      return true;
    }
    switch (c) {
      case 'x':
      case 'X':
        ++at_;
        return code_point(out, begin, 2, 16);
      case 'u':
        ++at_;
        return code_point(out, begin, 4, 16);
      case 'U':
        ++at_;
        return code_point(out, begin, 8, 16);
      case '0':
      case '1':
      case '2':
      case '3':
        return code_point(out, begin, 3, 8);
      default:
        break;
    }
    if (at_ < text_.size()) ++at_;
    return fail(begin, "unknown escape in a string",
                "a backslash is written \\\\; r\"...\" takes all as it is");
  }

  bool code_point(std::string& out, std::size_t begin, std::size_t digits, int base) {
    std::uint32_t point = 0;
    const std::string_view text = text_.substr(at_, digits);
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), point, base);
    if (error != std::errc{} || end != text.data() + digits) {
      at_ = std::min(text_.size(), at_ + 1);
      return fail(begin, "an escape needs " + std::to_string(digits) +
                             (base == 8 ? " octal digits" : " hexadecimal digits"));
    }
    at_ += digits;
    if (point > 0x10ffff || (point >= 0xd800 && point < 0xe000))
      return fail(begin, "no such Unicode character");
    append_utf8(out, point);
    return true;
  }

  std::string_view text_;
  Diagnostics& diagnostics_;
  std::size_t at_ = 0;
  std::vector<Token> tokens_;
};

}  // namespace

std::optional<std::vector<Token>> lex(std::string_view text, Diagnostics& diagnostics) {
  return Lexer(text, diagnostics).run();
}

}  // namespace weir::policies::expr
