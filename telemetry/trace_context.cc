#include "telemetry/trace_context.h"

#include <algorithm>

#include "core/chars/hex.h"

namespace weir::telemetry {
namespace {

// Upper case is not valid.
int lower_hex_digit(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

bool read_hex(std::string_view text, std::uint8_t* out) noexcept {
  for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
    const int high = lower_hex_digit(text[i]), low = lower_hex_digit(text[i + 1]);
    if (high < 0 || low < 0) return false;
    out[i / 2] = static_cast<std::uint8_t>(high * 16 + low);
  }
  return true;
}

template <std::size_t N>
bool is_zero(const std::array<std::uint8_t, N>& bytes) noexcept {
  return std::all_of(bytes.begin(), bytes.end(), [](std::uint8_t b) { return b == 0; });
}

}  // namespace

std::optional<TraceContext> parse_traceparent(std::string_view text) noexcept {
  if (text.size() < kTraceparentSize) return std::nullopt;
  std::uint8_t version = 0, flags = 0;
  TraceContext out;
  const bool form = text[2] == '-' && text[35] == '-' && text[52] == '-' &&
                    read_hex(text.substr(0, 2), &version) && version != 0xff &&
                    read_hex(text.substr(3, 32), out.trace_id.data()) &&
                    read_hex(text.substr(36, 16), out.span_id.data()) &&
                    read_hex(text.substr(53, 2), &flags);
  if (!form || is_zero(out.trace_id) || is_zero(out.span_id)) return std::nullopt;
  // A later version may add to the end, after another `-`.
  if (text.size() > kTraceparentSize && (version == 0 || text[kTraceparentSize] != '-')) {
    return std::nullopt;
  }
  out.sampled = (flags & 1) != 0;
  return out;
}

char* put_hex(char* out, const std::uint8_t* bytes, std::size_t count) noexcept {
  for (std::size_t i = 0; i < count; ++i) {
    *out++ = hex_digit(bytes[i] >> 4);
    *out++ = hex_digit(bytes[i]);
  }
  return out;
}

std::string_view format_traceparent(const TraceContext& context,
                                    std::array<char, kTraceparentSize>& room) noexcept {
  char* p = room.data();
  *p++ = '0';
  *p++ = '0';
  *p++ = '-';
  p = put_hex(p, context.trace_id.data(), context.trace_id.size());
  *p++ = '-';
  p = put_hex(p, context.span_id.data(), context.span_id.size());
  *p++ = '-';
  *p++ = '0';
  *p++ = context.sampled ? '1' : '0';
  return {room.data(), room.size()};
}

}  // namespace weir::telemetry
