#include "replay/formats/log_splitter.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <utility>

namespace weir::replay {
namespace {

using Kind = config::LogFormat::Item::Kind;

constexpr std::string_view kLiteral = "the line is not of this format";
constexpr std::string_view kShort = "the line ends too early";
constexpr std::string_view kTime = "the time does not have this format";
constexpr std::string_view kTail = "text behind the last value";

/// The position of `byte` at or after `at`; npos: none. Most values end within a few bytes, where
/// a call of memchr costs more than to look at eight bytes at once (Mycroft, 1987).
inline std::size_t find_byte(std::string_view line, std::size_t at, char byte) noexcept {
  static_assert(std::endian::native == std::endian::little);
  constexpr std::uint64_t kOnes = 0x0101'0101'0101'0101;
  for (int words = 0; words < 2 && at + 8 <= line.size(); ++words, at += 8) {
    std::uint64_t word;
    std::memcpy(&word, line.data() + at, sizeof word);
    word ^= kOnes * static_cast<unsigned char>(byte);
    const std::uint64_t zeros = (word - kOnes) & ~word & kOnes << 7;
    if (zeros != 0) return at + static_cast<unsigned>(std::countr_zero(zeros)) / 8;
  }
  const void* const found =
      at < line.size() ? std::memchr(line.data() + at, byte, line.size() - at) : nullptr;
  return found == nullptr ? std::string_view::npos
                          : static_cast<std::size_t>(static_cast<const char*>(found) - line.data());
}

/// The end of a value in quotes: a quote without a backslash before it.
std::size_t closing_quote(std::string_view line, std::size_t at) noexcept {
  for (;;) {
    const void* const found =  // of a request, a page, a browser: far away
        at < line.size() ? std::memchr(line.data() + at, '"', line.size() - at) : nullptr;
    if (found == nullptr) return std::string_view::npos;
    const auto quote = static_cast<std::size_t>(static_cast<const char*>(found) - line.data());
    std::size_t slashes = 0;
    while (slashes < quote - at && line[quote - 1 - slashes] == '\\') ++slashes;
    if (slashes % 2 == 0) return quote;
    at = quote + 1;
  }
}

/// Decodes the escapes that servers write in quotes for bytes that would break the line: `\xHH`
/// (nginx, Apache), `\"`, `\\` and C's letters (Apache). Other backslashes are literal.
void unescape(std::string_view value, std::string& out) {
  constexpr std::string_view kLetters = "\"\\nrtvb", kMeant = "\"\\\n\r\t\v\b";
  for (std::size_t at = 0; at < value.size(); ++at) {
    const std::string_view rest = value.substr(at);
    unsigned char byte = 0;
    if (rest.size() >= 4 && rest.starts_with("\\x") &&
        std::from_chars(rest.data() + 2, rest.data() + 4, byte, 16).ptr == rest.data() + 4) {
      out += static_cast<char>(byte);
      at += 3;
    } else if (const auto letter = rest.size() < 2 ? kLetters.npos : kLetters.find(rest[1]);
               rest.front() == '\\' && letter != kLetters.npos) {
      out += kMeant[letter];
      ++at;
    } else {
      out += rest.front();
    }
  }
}

}  // namespace

LogSplitter::Literal::Literal(std::string_view literal) noexcept : text(literal) {
  const std::size_t size = std::min(text.size(), sizeof word);
  if (size == 0) return;
  std::memcpy(&word, text.data(), size);
  mask = ~std::uint64_t{0} >> (8 * (sizeof word - size));
}

inline bool LogSplitter::Literal::stands_at(const char* here) const noexcept {
  std::uint64_t found;
  std::memcpy(&found, here, sizeof found);
  if ((found & mask) != word) return false;
  return text.size() <= sizeof word || std::memcmp(here, text.data(), text.size()) == 0;
}

LogSplitter::LogSplitter(config::LogFormat format, RecordTime time)
    : format_(std::move(format)), time_(std::move(time)), values_(format_.columns.size()) {
  const auto& items = format_.items;
  const auto is_text = [&](std::size_t i) {
    return i < items.size() && items[i].kind == Kind::literal;
  };
  if (is_text(0)) front_ = Literal(items[0].text);
  for (std::size_t i = is_text(0) ? 1 : 0; i < items.size(); i += is_text(i + 1) ? 2 : 1) {
    Step& step = steps_.emplace_back();
    step.kind = items[i].kind;
    step.column = items[i].column;
    step.dash_is_null = items[i].dash_is_null;
    step.last = i + 1 == items.size();
    if (is_text(i + 1)) step.behind = Literal(items[i + 1].text);
    if (step.kind == Kind::time || step.last) continue;
    step.stop = items[i + 1].text.front();
    step.quoted = step.stop == '"' && i != 0 && items[i - 1].text.ends_with('"');
  }
}

std::size_t LogSplitter::columns_of(const Step& step) noexcept {
  switch (step.kind) {
    case Kind::request:
      return 4;
    case Kind::time:
      return 0;
    case Kind::field:
      return 1;
    default:
      return step.kind == Kind::url ? 2 : 3;
  }
}

void LogSplitter::want_only(const std::vector<std::size_t>& columns) {
  for (Step& step : steps_) {
    const std::size_t path = step.column + (step.kind == Kind::request ? 2 : 1);
    step.path = std::find(columns.begin(), columns.end(), path) != columns.end();
    step.wanted = std::any_of(columns.begin(), columns.end(), [&](std::size_t column) {
      return column >= step.column && column < step.column + columns_of(step);
    });
  }
}

void LogSplitter::put_url(std::string_view* values, std::string_view url, bool path) noexcept {
  values[0] = url;
  if (path) values[1] = url.substr(0, find_byte(url, 0, '?'));
}

void LogSplitter::put_request(std::string_view* values, std::string_view value,
                              bool path) noexcept {
  for (std::size_t i = 0; i < 4; ++i) values[i] = {};
  const std::size_t first = find_byte(value, 0, ' ');
  if (first == 0 || first == std::string_view::npos) return;  // `-`, or bytes that are not HTTP
  constexpr std::string_view kProtocol = " HTTP/1.1";         // mostly; and it has no blank in it
  std::size_t last = value.size() > first + kProtocol.size() && value.ends_with(kProtocol)
                         ? value.size() - kProtocol.size()
                         : value.rfind(' ');
  if (last == first) last = value.size();  // HTTP/0.9
  values[0] = value.substr(0, first);
  put_url(values + 1, value.substr(first + 1, last - first - 1), path);
  if (last < value.size()) values[3] = value.substr(last + 1);
}

inline void LogSplitter::put(const Step& step, std::string_view value) noexcept {
  std::string_view* const values = values_.data() + step.column;
  if (step.kind == Kind::field) [[likely]] {
    const bool dash = step.dash_is_null && value.size() == 1 && value.front() == '-';
    values[0] = value.empty() || dash ? std::string_view{} : value;
  } else if (step.kind == Kind::request) {
    put_request(values, value, step.path);
  } else {
    put_url(values, value, step.path);
    if (step.kind == Kind::url) return;
    const std::size_t question = value.find('?');
    values[2] =
        question == std::string_view::npos ? std::string_view{} : value.substr(question + 1);
  }
}

bool LogSplitter::take_time(std::string_view line, std::size_t& at) noexcept {
  const bool bracket = at < line.size() && line[at] == '[';
  std::size_t used = 0;
  const auto time = time_.read_front(line.substr(at + (bracket ? 1 : 0)), used);
  if (!time) return fail(at, kTime);
  at += used + (bracket ? 1 : 0);
  if (bracket) {
    if (at >= line.size() || line[at] != ']') return fail(at, kTime);
    ++at;
  }
  at_ = *time;
  return true;
}

inline bool LogSplitter::take_literal(const Literal& literal, std::string_view line,
                                      std::size_t& at) noexcept {
  if (line.size() - at < literal.text.size()) return fail(line.size(), kShort);
  if (!literal.stands_at(line.data() + at)) return fail(at, kLiteral);
  at += literal.text.size();
  return true;
}

/// The value itself if it has no escapes.
std::string_view LogSplitter::unescaped(std::string_view value, std::size_t line_size) {
  if (value.find('\\') == std::string_view::npos) return value;
  if (!std::exchange(has_unescaped_, true)) {
    unescaped_.clear();
    unescaped_.reserve(line_size);  // decoding never grows: views into it stay valid
  }
  const std::size_t start = unescaped_.size();
  unescape(value, unescaped_);
  return std::string_view(unescaped_).substr(start);
}

bool LogSplitter::split(std::string_view line, bool tail) {
  std::size_t at = 0;
  has_unescaped_ = false;
  if (!take_literal(front_, line, at)) return false;
  for (const Step& step : steps_) {
    if (step.kind == Kind::time) {
      if (!take_time(line, at)) return false;
    } else {
      std::size_t end = line.size();
      if (!step.last) {
        // `-` is the value of most unread columns in most logs.
        const bool is_dash = step.stop != '-' && line.size() - at > 1 && line[at] == '-' &&
                             line[at + 1] == step.stop;
        end = is_dash       ? at + 1
              : step.quoted ? closing_quote(line, at)
                            : find_byte(line, at, step.stop);
        if (end == std::string_view::npos) return fail(line.size(), kShort);
      } else if (tail && !step.wanted) {
        return true;  // accepts it, and all text after it
      } else if (tail || step.kind != Kind::request) {
        end = std::min(line.find(' ', at), line.size());
      }
      if (step.wanted) {
        const std::string_view value(line.data() + at, end - at);
        put(step, step.quoted ? unescaped(value, line.size()) : value);
      }
      at = end;
    }
    if (!take_literal(step.behind, line, at)) return false;
  }
  return tail || at == line.size() ? true : fail(at, kTail);
}

}  // namespace weir::replay
