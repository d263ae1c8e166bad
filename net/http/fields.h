#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "core/chars/ascii.h"
#include "core/event.h"

namespace weir::net {

/// The meaning of a field to a proxy. Fields up to `sec_websocket_accept` are copied to the next
/// hop. Fields from `host` on never are: weir drops them, or writes them from its decision.
enum class FieldKind : std::uint8_t {
  plain,              ///< end to end
  sec_websocket_key,  ///< end to end, and part of a handshake's check, as the next two
  sec_websocket_version,
  sec_websocket_accept,
  odd_name,  ///< with other characters than letters, digits and `-`: dropped if it aliases a field
             ///< that weir uses
  /// Forwarded, X-Real-IP, X-Forwarded-Port, CF-Connecting-IP, X-Original-URL, Remote-User...: set
  /// by a hop about a client. Copied from trusted peers only, or where a policy reads it.
  x_forwarded_other,
  max_forwards,  ///< of TRACE and OPTIONS: written again, reduced by one
  host,
  content_length,
  transfer_encoding,
  connection,
  upgrade,
  expect,
  hop,                  ///< Keep-Alive, Proxy-*, TE, Trailer, HTTP2-Settings, Proxy: dropped
  named_in_connection,  ///< made hop-by-hop by a Connection field: dropped
  x_forwarded_for,
  x_forwarded_proto,
  x_forwarded_host,
  x_request_id,
  x_weir,  ///< X-Weir-*: ours alone; dropped
};

/// The kind of a name (any letter case; a valid token). O(1).
FieldKind field_kind(std::string_view name) noexcept;

/// Whether two ASCII texts are equal, ignoring letter case.
bool same_ignoring_case(std::string_view a, std::string_view b) noexcept;
/// The media type of a Content-Type, without parameters and blanks: `application/json`.
std::string_view media_type(std::string_view content_type) noexcept;
/// Whether some app takes both names for one (folded_in_header_name).
bool aliases(std::string_view a, std::string_view b) noexcept;

/// The fields of one head, in order of arrival: views into the caller's bytes. Lines lie end to
/// end: line i begins at fields[i].name and ends where line i+1 begins (the last one at
/// `lines_end`).
struct FieldList {
  static constexpr std::size_t kMax = 100;

  std::array<HeaderField, kMax> fields;
  std::array<FieldKind, kMax> kinds;
  /// Bit i: field i is not plain. Most fields are, and searches for others skip them.
  std::array<std::uint64_t, (kMax + 63) / 64> special;
  std::uint32_t count = 0;
  const char* lines_end = nullptr;  ///< after the CRLF of the last line

  FieldList() noexcept {
  }  // NOLINT(modernize-use-equals-default): leaves 3 KiB unwritten on purpose
  std::span<const HeaderField> span() const noexcept { return {fields.data(), count}; }
  const char* line_begin(std::size_t i) const noexcept { return fields[i].name.data(); }
  const char* line_end(std::size_t i) const noexcept {
    return i + 1 < count ? fields[i + 1].name.data() : lines_end;
  }
  /// Finds the kinds of all fields but those that are `odd_name` already, and which are special.
  void find_kinds() noexcept;
  void set_kind(std::size_t i, FieldKind kind) noexcept {
    kinds[i] = kind;
    special[i / 64] |= std::uint64_t{1} << i % 64;
  }
  /// Calls f(i) for each special field, in their order. f may make others special: they are not
  /// visited.
  template <class F>
  void each_special(F f) const noexcept {
    for (std::size_t word = 0; word * 64 < count; ++word) {
      for (std::uint64_t bits = special[word]; bits != 0; bits &= bits - 1) {
        f(word * 64 + static_cast<std::size_t>(std::countr_zero(bits)));
      }
    }
  }
  /// The value of the first field so named (letter case ignored), or nullptr.
  const HeaderField* find(std::string_view name) const noexcept;
  const HeaderField* find(FieldKind kind) const noexcept;
  /// The value of the only field of that kind; empty if there is none or more than one.
  std::string_view only_value(FieldKind kind) const noexcept;
};

/// Where the body of a message ends.
enum class Framing : std::uint8_t {
  none,         ///< there is no body
  length,       ///< after content_length bytes (0 included)
  chunked,      ///< where the last chunk ends: ChunkedDecoder
  until_close,  ///< responses only: where the connection ends
};

enum class HeadStatus : std::uint8_t {
  complete,    ///< all fields of the head are set; its body starts at `size`
  incomplete,  ///< call again with the same bytes and more
  refused,     ///< `refusal` says why; nothing else of the head may be used
};

/// How far an incomplete head was looked at: 4 bytes to keep per connection, so that each byte is
/// scanned twice at most however it is split. Reset it (`= {}`) before each new head.
struct HeadProgress {
  std::uint32_t scanned = 0;
};

/// The most that HeadLimits::start_line may be: doors have room for the path of such a line.
inline constexpr std::uint32_t kStartLineMax = 8 << 10;

/// Ceilings of a head, in bytes and fields.
struct HeadLimits {
  std::uint32_t start_line = kStartLineMax;  ///< request line without CRLF: more is 414
  std::uint32_t fields = FieldList::kMax;    ///< 1..kMax; more is 431
  std::uint32_t head = 32 << 10;             ///< from the first byte to the empty line: more is 431
};

}  // namespace weir::net
