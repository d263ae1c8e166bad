#include "net/grpc/wire.h"

#include <algorithm>

#include "core/chars/ascii.h"
#include "core/chars/parse.h"
#include "core/chars/percent.h"

namespace weir::net::grpc {

Prefix read_prefix(std::string_view bytes) noexcept {
  Prefix out;
  out.flag = static_cast<std::uint8_t>(bytes[0]);
  for (std::size_t i = 1; i < kPrefixBytes; ++i) {
    out.bytes = out.bytes << 8 | static_cast<std::uint8_t>(bytes[i]);
  }
  return out;
}

void write_prefix(char* to, const Prefix& prefix) noexcept {
  to[0] = static_cast<char>(prefix.flag);
  for (std::size_t i = 1; i < kPrefixBytes; ++i) {
    to[i] = static_cast<char>(prefix.bytes >> (8 * (kPrefixBytes - 1 - i)));
  }
}

std::optional<milliseconds> parse_timeout(std::string_view text) noexcept {
  constexpr std::size_t kDigitsMax = 8;
  if (text.size() < 2 || text.size() > kDigitsMax + 1) return std::nullopt;
  const auto number = parse_whole<std::uint64_t>(text.substr(0, text.size() - 1));
  if (!number) return std::nullopt;
  const std::uint64_t n = *number;
  const auto up = [n](std::uint64_t of_a_millisecond) {
    return milliseconds(static_cast<std::int64_t>((n + of_a_millisecond - 1) / of_a_millisecond));
  };
  const auto count = static_cast<std::int64_t>(n);
  switch (text.back()) {
    case 'H':
      return milliseconds(count * 3'600'000);
    case 'M':
      return milliseconds(count * 60'000);
    case 'S':
      return milliseconds(count * 1'000);
    case 'm':
      return milliseconds(count);
    case 'u':
      return up(1'000);
    case 'n':
      return up(1'000'000);
    default:
      return std::nullopt;
  }
}

void append_escaped(std::string& out, std::string_view text, std::size_t most) {
  for (const char c : text.substr(0, most)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte <= 0x7E && c != '%') {
      out += c;
    } else {
      append_percent(out, c);
    }
  }
}

bool is_grpc(std::string_view content_type) noexcept {
  constexpr std::string_view kType = "application/grpc";
  const std::string_view type = content_type.substr(0, kType.size());
  if (!std::equal(type.begin(), type.end(), kType.begin(), kType.end(),
                  [](char c, char lower) { return ascii::lower(c) == lower; })) {
    return false;
  }
  content_type.remove_prefix(kType.size());
  return content_type.empty() || content_type.front() == '+' || content_type.front() == ';' ||
         content_type.front() == ' ';
}

bool names_coding(std::string_view list, std::string_view coding) noexcept {
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    if (ascii::trimmed(list.substr(0, comma)) == coding) return true;
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return false;
}

}  // namespace weir::net::grpc
