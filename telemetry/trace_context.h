#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace weir::telemetry {

/// The contents of the field `traceparent` (W3C Trace Context, level 1).
struct TraceContext {
  std::array<std::uint8_t, 16> trace_id{};  ///< all zero: there is none
  std::array<std::uint8_t, 8> span_id{};    ///< whose child the reader is
  bool sampled = false;

  bool operator==(const TraceContext&) const = default;
};

/// Reads `00-TRACE_ID-SPAN_ID-FLAGS`; a later version's too, as far as it is known. None: it is not
/// valid, and a new trace starts.
std::optional<TraceContext> parse_traceparent(std::string_view text) noexcept;

inline constexpr std::size_t kTraceparentSize = 55;
/// Writes the field's value of version 00.
std::string_view format_traceparent(const TraceContext& context,
                                    std::array<char, kTraceparentSize>& room) noexcept;

/// Writes two digits for each byte; `out` has room for them. Gives the end.
char* put_hex(char* out, const std::uint8_t* bytes, std::size_t count) noexcept;

}  // namespace weir::telemetry
