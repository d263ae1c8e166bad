#include "api/json_members.h"

#include <charconv>
#include <cmath>

#include "core/utf8.h"

namespace weir::api {
namespace {

using Kind = JsonMember::Kind;

}  // namespace

/// A position in the text. Every step returns false once something is wrong, and puts the error
/// into `wrong`.
class JsonMembers::Scan {
 public:
  Scan(std::string_view text, std::string& unescaped) : text_(text), unescaped_(unescaped) {}

  bool object(std::vector<JsonMember>& out) {
    blanks();
    if (!next('{', "an event is a JSON object, `{...}`")) return false;
    blanks();
    if (peek() == '}') {
      ++at_;
    } else if (!members(out)) {
      return false;
    }
    blanks();
    return at_ == text_.size() || fail(at_, "nothing may follow the object");
  }
  JsonWrong wrong;

 private:
  static constexpr int kEnd = -1;
  int peek() const noexcept {
    return at_ < text_.size() ? static_cast<unsigned char>(text_[at_]) : kEnd;
  }
  bool fail(std::size_t at, std::string what) {
    wrong = {at, std::move(what)};
    return false;
  }
  bool next(char c, const char* what) {
    if (peek() != static_cast<unsigned char>(c)) return fail(at_, what);
    ++at_;
    return true;
  }
  void blanks() noexcept {
    while (at_ < text_.size() &&
           (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n' || text_[at_] == '\r')) {
      ++at_;
    }
  }

  bool members(std::vector<JsonMember>& out) {
    for (;;) {
      JsonMember member;
      member.name_at = at_;
      if (peek() != '"') return fail(at_, "a member's name in double quotes is missing");
      if (!string(member.name)) return false;
      for (const JsonMember& other : out) {
        if (other.name == member.name) {
          return fail(member.name_at,
                      "\"" + std::string(member.name.substr(0, 64)) + "\" is given twice");
        }
      }
      blanks();
      if (!next(':', "a `:` is missing after the name")) return false;
      blanks();
      member.at = at_;
      if (!value(member, 1)) return false;
      if (out.size() == kMembersMax) {
        return fail(member.name_at, "more than " + std::to_string(kMembersMax) + " members");
      }
      out.push_back(member);
      blanks();
      if (peek() == '}') {
        ++at_;
        return true;
      }
      if (!next(',', "a `,` or `}` is missing")) return false;
      blanks();
    }
  }

  bool word(std::string_view all) {
    if (text_.substr(at_, all.size()) != all) return fail(at_, "a JSON value is expected here");
    at_ += all.size();
    return true;
  }

  bool value(JsonMember& out, std::size_t depth) {
    const std::size_t begin = at_;
    switch (peek()) {
      case '"':
        out.kind = Kind::text;
        return string(out.text);
      case 't':
        out.kind = Kind::boolean;
        out.boolean = true;
        return word("true");
      case 'f':
        out.kind = Kind::boolean;
        return word("false");
      case 'n':
        return word("null");
      case '{':
      case '[':
        out.kind = peek() == '{' ? Kind::object : Kind::array;
        if (depth == kDepthMax) {
          return fail(at_, "nested deeper than " + std::to_string(kDepthMax) + " levels");
        }
        if (!nested(out.kind == Kind::object, depth + 1)) return false;
        out.text = text_.substr(begin, at_ - begin);
        return true;
      default:
        return number(out);
    }
  }

  bool nested(bool object, std::size_t depth) {
    ++at_;
    const char close = object ? '}' : ']';
    blanks();
    if (peek() == close) {
      ++at_;
      return true;
    }
    for (;;) {
      JsonMember ignored;
      if (object) {
        if (peek() != '"') return fail(at_, "a member's name in double quotes is missing");
        if (!string(ignored.name)) return false;
        blanks();
        if (!next(':', "a `:` is missing after the name")) return false;
        blanks();
      }
      if (!value(ignored, depth)) return false;
      blanks();
      if (peek() == close) {
        ++at_;
        return true;
      }
      if (!next(',', object ? "a `,` or `}` is missing" : "a `,` or `]` is missing")) return false;
      blanks();
    }
  }

  bool digits() noexcept {
    const std::size_t begin = at_;
    while (peek() >= '0' && peek() <= '9') ++at_;
    return at_ != begin;
  }

  bool number(JsonMember& out) {
    const std::size_t begin = at_;
    if (peek() == '-') ++at_;
    const std::size_t first = at_;
    if (!digits()) return fail(begin, "a JSON value is expected here");
    if (text_[first] == '0' && at_ - first > 1) return fail(begin, "a number has no leading zero");
    bool real = false;
    if (peek() == '.') {
      real = true;
      ++at_;
      if (!digits()) return fail(at_, "a digit is missing after the point");
    }
    if (peek() == 'e' || peek() == 'E') {
      real = true;
      ++at_;
      if (peek() == '+' || peek() == '-') ++at_;
      if (!digits()) return fail(at_, "a digit is missing in the exponent");
    }
    const char* const from = text_.data() + begin;
    const char* const to = text_.data() + at_;
    out.kind = JsonMember::Kind::integer;
    if (!real) {
      // Beyond 64 bits: a double would make neighbours equal, so one account could pass for
      // another.
      if (std::from_chars(from, to, out.integer).ec != std::errc{})
        out.kind = JsonMember::Kind::null;
      return true;
    }
    out.kind = JsonMember::Kind::real;
    // Beyond every double, as for every other reader of records and bodies.
    if (std::from_chars(from, to, out.real).ec != std::errc{}) out.kind = JsonMember::Kind::null;
    return true;
  }

  /// At a quote. A view of the text itself unless something is escaped.
  bool string(std::string_view& out) {
    const std::size_t open = at_++;
    const std::size_t begin = at_;
    const std::size_t unescaped_begin = unescaped_.size();
    bool escaped = false;
    for (;;) {
      const int c = peek();
      if (c == kEnd) return fail(open, "this text has no end");
      if (c == '"') break;
      if (c < 0x20) return fail(at_, "a control character in a text must be escaped");
      if (c == '\\') {
        if (!escaped) unescaped_.append(text_.substr(begin, at_ - begin));
        escaped = true;
        if (!escape()) return false;
        continue;
      }
      const std::size_t length = c < 0x80 ? 1 : decode_utf8(text_.substr(at_)).length;
      if (length == 0) return fail(at_, "this is not UTF-8");
      if (escaped) unescaped_.append(text_.substr(at_, length));
      at_ += length;
    }
    out = escaped ? std::string_view(unescaped_).substr(unescaped_begin)
                  : text_.substr(begin, at_ - begin);
    ++at_;
    return true;
  }

  bool hex4(unsigned& out) {
    if (text_.size() - at_ < 4) return false;
    const char* const from = text_.data() + at_;
    const auto read = std::from_chars(from, from + 4, out, 16);
    if (read.ec != std::errc{} || read.ptr != from + 4) return false;
    at_ += 4;
    return true;
  }

  bool escape() {
    const std::size_t begin = at_++;
    const int c = peek();
    ++at_;
    switch (c) {
      case '"':
      case '\\':
      case '/':
        unescaped_.push_back(static_cast<char>(c));
        return true;
      case 'b':
        unescaped_.push_back('\b');
        return true;
      case 'f':
        unescaped_.push_back('\f');
        return true;
      case 'n':
        unescaped_.push_back('\n');
        return true;
      case 'r':
        unescaped_.push_back('\r');
        return true;
      case 't':
        unescaped_.push_back('\t');
        return true;
      case 'u':
        break;
      default:
        return fail(begin, "no such escape");
    }
    unsigned unit = 0;
    if (!hex4(unit)) return fail(begin, "`\\u` takes four hex digits");
    if (unit >= 0xd800 && unit < 0xe000) {
      unsigned low = 0;
      const bool pair = unit < 0xdc00 && text_.substr(at_, 2) == "\\u" && (at_ += 2, hex4(low)) &&
                        low >= 0xdc00 && low < 0xe000;
      if (!pair) return fail(begin, "half a surrogate pair is not a character");
      unit = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
    }
    append_utf8(unescaped_, unit);
    return true;
  }

  std::string_view text_;
  std::string& unescaped_;
  std::size_t at_ = 0;
};

std::optional<JsonWrong> JsonMembers::read(std::string_view object, std::size_t base) {
  members_.clear();
  unescaped_.clear();
  unescaped_.reserve(object.size());  // an escape is never shorter than its character
  Scan scan(object, unescaped_);
  if (!scan.object(members_)) {
    members_.clear();
    scan.wrong.at += base;
    return std::move(scan.wrong);
  }
  for (JsonMember& member : members_) {
    member.name_at += base;
    member.at += base;
  }
  return std::nullopt;
}

const JsonMember* JsonMembers::find(std::string_view name) const noexcept {
  for (const JsonMember& member : members_) {
    if (member.name == name) return &member;
  }
  return nullptr;
}

}  // namespace weir::api
