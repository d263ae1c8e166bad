#include "replay/formats/log_splitter.h"

#include <cstring>

namespace weir::replay {
namespace {

using Kind = config::LogFormat::Item::Kind;

constexpr std::string_view kLiteral = "the line is not of this format";
constexpr std::string_view kShort = "the line ends too early";
constexpr std::string_view kTime = "this is no such time";
constexpr std::string_view kTail = "text behind the last value";

/// The end of a value that stands in quotes: a quote without a backslash before it.
std::size_t closing_quote(std::string_view line, std::size_t at) noexcept {
  for (;;) {
    const void* found =
        at < line.size() ? std::memchr(line.data() + at, '"', line.size() - at) : nullptr;
    if (found == nullptr) return std::string_view::npos;
    const auto quote = static_cast<std::size_t>(static_cast<const char*>(found) - line.data());
    std::size_t slashes = 0;
    while (slashes < quote - at && line[quote - 1 - slashes] == '\\') ++slashes;
    if (slashes % 2 == 0) return quote;
    at = quote + 1;
  }
}

}  // namespace

LogSplitter::LogSplitter(config::LogFormat format, RecordTime time)
    : format_(std::move(format)), time_(std::move(time)), values_(format_.columns.size()) {}

void LogSplitter::put_url(std::string_view* values, std::string_view url) noexcept {
  values[0] = url;
  values[1] = url.substr(0, url.find('?'));
}

void LogSplitter::put(const config::LogFormat::Item& item, std::string_view value) noexcept {
  std::string_view* const values = values_.data() + item.column;
  switch (item.kind) {
    case Kind::url:
    case Kind::url_query: {
      put_url(values, value);
      if (item.kind == Kind::url) return;
      const std::size_t question = value.find('?');
      values[2] =
          question == std::string_view::npos ? std::string_view{} : value.substr(question + 1);
      return;
    }
    case Kind::request: {
      for (std::size_t i = 0; i < 4; ++i) values[i] = {};
      const std::size_t first = value.find(' ');
      if (first == 0 || first == std::string_view::npos) return;  // `-`, or bytes that are no HTTP
      std::size_t last = value.rfind(' ');
      if (last == first) last = value.size();  // HTTP/0.9
      values[0] = value.substr(0, first);
      put_url(values + 1, value.substr(first + 1, last - first - 1));
      if (last < value.size()) values[3] = value.substr(last + 1);
      return;
    }
    default:
      const bool dash = item.dash_is_null && value.size() == 1 && value.front() == '-';
      values[0] = value.empty() || dash ? std::string_view{} : value;
  }
}

bool LogSplitter::split(std::string_view line, bool tail) noexcept {
  std::size_t at = 0;
  const config::LogFormat::Item* const first = format_.items.data();
  const config::LogFormat::Item* const last = first + format_.items.size() - 1;
  for (const config::LogFormat::Item* here = first; here <= last; ++here) {
    const config::LogFormat::Item& item = *here;
    if (item.kind == Kind::literal) {
      const std::string_view text = item.text;
      if (line.size() - at < text.size()) return fail(line.size(), kShort);
      // Of one to three bytes: a call of memcmp costs more.
      for (std::size_t k = 0; k < text.size(); ++k) {
        if (line[at + k] != text[k]) return fail(at, kLiteral);
      }
      at += text.size();
      continue;
    }
    if (item.kind == Kind::time) {
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
      continue;
    }
    std::size_t end = line.size();
    if (here != last) {
      const char next = here[1].text.front();
      const bool quoted = next == '"' && here != first && here[-1].text.ends_with('"');
      if (quoted) {
        end = closing_quote(line, at);
      } else {
        const void* found = at < line.size()
                                ? std::memchr(line.data() + at, next, line.size() - at)
                                : nullptr;
        end = found == nullptr
                  ? std::string_view::npos
                  : static_cast<std::size_t>(static_cast<const char*>(found) - line.data());
      }
      if (end == std::string_view::npos) return fail(line.size(), kShort);
    } else if (tail || item.kind != Kind::request) {
      end = std::min(line.find(' ', at), line.size());
    }
    put(item, {line.data() + at, end - at});
    at = end;
  }
  return tail || at == line.size() ? true : fail(at, kTail);
}

}  // namespace weir::replay
