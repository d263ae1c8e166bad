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

void LogSplitter::put_url(std::size_t column, std::string_view url) noexcept {
  const std::size_t question = url.find('?');
  values_[column] = url;
  values_[column + 1] = url.substr(0, question);
}

void LogSplitter::put(const config::LogFormat::Item& item, std::string_view value) noexcept {
  const std::size_t column = item.column;
  switch (item.kind) {
    case Kind::url:
    case Kind::url_query: {
      put_url(column, value);
      if (item.kind == Kind::url) return;
      const std::size_t question = value.find('?');
      values_[column + 2] =
          question == std::string_view::npos ? std::string_view{} : value.substr(question + 1);
      return;
    }
    case Kind::request: {
      for (std::size_t i = 0; i < 4; ++i) values_[column + i] = {};
      const std::size_t first = value.find(' ');
      if (first == 0 || first == std::string_view::npos) return;  // `-`, or bytes that are no HTTP
      std::size_t last = value.rfind(' ');
      if (last == first) last = value.size();  // HTTP/0.9
      values_[column] = value.substr(0, first);
      put_url(column + 1, value.substr(first + 1, last - first - 1));
      if (last < value.size()) values_[column + 3] = value.substr(last + 1);
      return;
    }
    default:
      values_[column] =
          value.empty() || (item.dash_is_null && value == "-") ? std::string_view{} : value;
      if (values_[column].empty()) values_[column] = {};
  }
}

bool LogSplitter::split(std::string_view line, bool tail) noexcept {
  std::size_t at = 0;
  for (std::size_t i = 0; i < format_.items.size(); ++i) {
    const config::LogFormat::Item& item = format_.items[i];
    if (item.kind == Kind::literal) {
      if (line.size() - at < item.text.size()) return fail(line.size(), kShort);
      if (std::memcmp(line.data() + at, item.text.data(), item.text.size()) != 0)
        return fail(at, kLiteral);
      at += item.text.size();
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
    if (i + 1 < format_.items.size()) {
      const std::string& next = format_.items[i + 1].text;
      const bool quoted = next.front() == '"' && i > 0 && format_.items[i - 1].text.ends_with('"');
      if (quoted) {
        end = closing_quote(line, at);
      } else {
        const void* found = at < line.size()
                                ? std::memchr(line.data() + at, next.front(), line.size() - at)
                                : nullptr;
        end = found == nullptr
                  ? std::string_view::npos
                  : static_cast<std::size_t>(static_cast<const char*>(found) - line.data());
      }
      if (end == std::string_view::npos) return fail(line.size(), kShort);
    } else if (tail || item.kind != Kind::request) {
      end = std::min(line.find(' ', at), line.size());
    }
    put(item, line.substr(at, end - at));
    at = end;
  }
  return tail || at == line.size() ? true : fail(at, kTail);
}

}  // namespace weir::replay
