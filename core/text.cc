#include "core/text.h"

#include <array>
#include <cstdio>
#include <ctime>

#include "core/chars/ascii.h"
#include "core/utf8.h"
#include "core/visible.h"

namespace weir {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";

void append_safe(std::string& out, std::string_view text, bool json) {
  for (std::size_t i = 0; i < text.size();) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (ascii::is_control(text[i])) {
      append_escape(out, c);
      ++i;
      continue;
    }
    if (c < 0x80) {
      if (json && (c == '"' || c == '\\')) out += '\\';
      out += static_cast<char>(c);
      ++i;
      continue;
    }
    const auto [code, length] = decode_utf8(text.substr(i));
    if (length == 0) {
      out += kReplacement;
      ++i;
      continue;
    }
    if (is_hidden(code)) {
      append_escape(out, code);
    } else {
      out.append(text.substr(i, length));
    }
    i += length;
  }
}

struct Moment {
  std::tm parts{};
  int ms = 0;
};

Moment split(TimePoint time) {
  Moment out;
  const std::int64_t ms = to_ms(time);
  const auto seconds = static_cast<std::time_t>(ms / 1000);
  out.ms = static_cast<int>(ms % 1000);
  ::gmtime_r(&seconds, &out.parts);
  return out;
}

}  // namespace

void append_json(std::string& out, std::string_view text) {
  out += '"';
  append_safe(out, text, true);
  out += '"';
}

void append_plain(std::string& out, std::string_view text) { append_safe(out, text, false); }

std::string_view iso_time(TimePoint time, IsoRoom& room) noexcept {
  const Moment m = split(time);
  std::size_t length = std::strftime(room.data(), room.size(), "%Y-%m-%dT%H:%M:%S", &m.parts);
  length += static_cast<std::size_t>(
      std::snprintf(room.data() + length, room.size() - length, ".%03dZ", m.ms));
  return {room.data(), length};
}

std::string iso_time(TimePoint time) {
  IsoRoom room;
  return std::string(iso_time(time, room));
}

std::string clock_time(TimePoint time) { return iso_time(time).substr(11, 12); }

std::string human_size(std::uint64_t bytes) {
  static constexpr std::array<const char*, 4> kUnits{"B", "KiB", "MiB", "GiB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 1024 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  std::array<char, 32> text{};
  const bool whole =
      unit == 0 || value >= 100 || value == static_cast<double>(static_cast<int>(value));
  std::snprintf(text.data(), text.size(), whole ? "%.0f %s" : "%.1f %s", value, kUnits[unit]);
  return text.data();
}

std::string human_count(std::uint64_t n) {
  std::string digits = std::to_string(n);
  for (std::size_t i = digits.size(); i > 3;) {
    i -= 3;
    digits.insert(i, 1, ',');
  }
  return digits;
}

std::string counted(std::uint64_t n, std::string_view one, std::string_view many) {
  return human_count(n).append(" ").append(n == 1 ? one : many);
}

std::string human_duration(milliseconds duration) {
  std::int64_t left = duration.count();
  if (left <= 0) return "0s";
  struct Unit {
    std::int64_t ms;
    const char* name;
  };
  static constexpr std::array<Unit, 5> kUnits{
      {{86'400'000, "d"}, {3'600'000, "h"}, {60'000, "m"}, {1'000, "s"}, {1, "ms"}}};
  std::string out;
  for (const Unit& unit : kUnits) {
    const bool is_day = unit.ms == kUnits[0].ms;  // `24h` and `36h` are what people write
    if (left < unit.ms || (is_day && (left < 2 * unit.ms || left % unit.ms != 0))) continue;
    out += std::to_string(left / unit.ms) + unit.name;
    left %= unit.ms;
  }
  return out;
}

}  // namespace weir
