#include "policies/lang/extractors/json_mending.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <utility>

#include "core/chars/ascii.h"

namespace weir::policies {
namespace {

constexpr std::string_view kUnreadable = "9223372036854775808";
constexpr std::string_view kReplacement = "\\ufffd";

std::size_t digits_from(std::string_view text, std::size_t at) noexcept {
  while (at < text.size() && ascii::is_digit(text[at])) ++at;
  return at;
}

/// Whether this is a number of JSON's grammar that neither a double nor 64 bits hold.
bool is_beyond(std::string_view number) noexcept {
  const std::size_t first = number.starts_with('-') ? 1 : 0;
  std::size_t at = digits_from(number, first);
  if (at == first || (number[first] == '0' && at - first > 1)) return false;
  const bool whole = at == number.size();
  if (!whole && number[at] == '.') {
    const std::size_t fraction = at + 1;
    at = digits_from(number, fraction);
    if (at == fraction) return false;
  }
  if (at < number.size() && (number[at] == 'e' || number[at] == 'E')) {
    ++at;
    if (at < number.size() && (number[at] == '+' || number[at] == '-')) ++at;
    const std::size_t exponent = at;
    at = digits_from(number, exponent);
    if (at == exponent) return false;
  }
  if (at != number.size()) return false;
  const char* const from = number.data();
  const char* const to = from + number.size();
  double real = 0;
  std::int64_t integer = 0;
  const std::from_chars_result got =
      whole ? std::from_chars(from, to, integer) : std::from_chars(from, to, real);
  return got.ec == std::errc::result_out_of_range;
}

/// The code unit of a `\uXXXX` at `at`, or -1.
int unit_at(std::string_view text, std::size_t at) noexcept {
  if (text.size() < at + 6 || text.substr(at, 2) != "\\u") return -1;
  int unit = 0;
  const char* const from = text.data() + at + 2;
  const auto got = std::from_chars(from, from + 4, unit, 16);
  return got.ec == std::errc{} && got.ptr == from + 4 && unit >= 0 ? unit : -1;
}

class Mending {
 public:
  explicit Mending(std::string_view text) : text_(text) {}

  std::string run() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '"') {
        string();
      } else if (c == '-' || ascii::is_digit(c)) {
        number();
      } else {
        ++at_;
      }
    }
    if (copied_ == 0) return {};
    copy_to(text_.size());
    return std::move(out_);
  }

 private:
  void copy_to(std::size_t end) {
    out_.append(text_, copied_, end - copied_);
    copied_ = end;
  }
  void replace(std::size_t begin, std::size_t end, std::string_view by) {
    copy_to(begin);
    out_.append(by);
    copied_ = end;
  }

  void number() {
    const std::size_t begin = at_;
    at_ = std::min(text_.find_first_not_of("+-.0123456789Ee", at_), text_.size());
    if (is_beyond(text_.substr(begin, at_ - begin))) replace(begin, at_, kUnreadable);
  }

  bool is_name() const noexcept {
    const std::size_t next = text_.find_first_not_of(" \t\r\n", at_);
    return next != std::string_view::npos && text_[next] == ':';
  }

  /// Passes a string. One with half a surrogate pair is mended if it is a name, else replaced.
  void string() {
    const std::size_t begin = at_;
    if (!pass_string(false)) return;
    if (!is_name()) return replace(begin, at_, kUnreadable);
    at_ = begin;
    pass_string(true);
  }
  /// Whether there is half a pair; mends: each becomes U+FFFD.
  bool pass_string(bool mends) {
    bool half = false;
    for (++at_; at_ < text_.size() && text_[at_] != '"';) {
      if (text_[at_] != '\\') {
        ++at_;
        continue;
      }
      const int unit = unit_at(text_, at_);
      const int next = unit >= 0xd800 && unit < 0xdc00 ? unit_at(text_, at_ + 6) : -1;
      if (next >= 0xdc00 && next < 0xe000) {
        at_ += 12;
      } else if (unit >= 0xd800 && unit < 0xe000) {
        half = true;
        if (mends) replace(at_, at_ + 6, kReplacement);
        at_ += 6;
      } else {
        at_ += 2;
      }
    }
    at_ = std::min(at_ + 1, text_.size());
    return half;
  }

  std::string_view text_;
  std::size_t at_ = 0, copied_ = 0;
  std::string out_;
};

}  // namespace

std::string mended_json(std::string_view text) { return Mending(text).run(); }

}  // namespace weir::policies
