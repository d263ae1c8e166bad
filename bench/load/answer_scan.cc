#include "bench/load/answer_scan.h"

#include <strings.h>

#include <charconv>

namespace weir::load {
namespace {

bool is(std::string_view text, std::string_view name) noexcept {
  return text.size() == name.size() && strncasecmp(text.data(), name.data(), name.size()) == 0;
}

std::string_view trimmed(std::string_view text) noexcept {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

template <class T>
bool number(std::string_view text, T& out) noexcept {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc{} && end == text.data() + text.size();
}

bool read_field(std::string_view line, HeadScan& scan) noexcept {
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return false;
  const std::string_view name = line.substr(0, colon);
  if (is(name, "content-length")) {
    if (scan.has_length) return false;
    scan.has_length = true;
    return number(trimmed(line.substr(colon + 1)), scan.body_bytes);
  }
  if (is(name, "connection")) scan.closes = is(trimmed(line.substr(colon + 1)), "close");
  return !is(name, "transfer-encoding");
}

}  // namespace

HeadScan scan_head(std::string_view bytes, bool answer) noexcept {
  HeadScan scan;
  const std::size_t end = bytes.find("\r\n\r\n");
  if (end == std::string_view::npos) return scan;
  scan.head_bytes = end + 4;
  scan.status = HeadScan::Status::malformed;
  std::string_view rest = bytes.substr(0, end + 2);
  const std::string_view first = rest.substr(0, rest.find("\r\n"));
  if (answer && (first.size() < 12 || !first.starts_with("HTTP/1.") ||
                 !number(first.substr(9, 3), scan.code))) {
    return scan;
  }
  rest.remove_prefix(first.size() + 2);
  while (!rest.empty()) {
    const std::size_t eol = rest.find("\r\n");
    if (!read_field(rest.substr(0, eol), scan)) return scan;
    rest.remove_prefix(eol + 2);
  }
  const bool bodiless = scan.code / 100 == 1 || scan.code == 204 || scan.code == 304;
  if (bodiless) scan.body_bytes = 0;
  if (answer && !bodiless && !scan.has_length) return scan;  // its end could not be checked
  scan.status = HeadScan::Status::complete;
  return scan;
}

}  // namespace weir::load
