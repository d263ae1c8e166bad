#pragma once

#include <cstdint>
#include <string_view>

#include "net/http/fields.h"
#include "net/http/refusal.h"

/// Common parts of request and response heads, for the two head parsers only.
namespace weir::net::lines {

/// How parsing a part went: refused if `refusal` says so, else incomplete if `next` is null.
struct Outcome {
  const char* next = nullptr;
  HttpRefusal refusal = HttpRefusal::none;
  static Outcome incomplete() noexcept { return {}; }
  static Outcome refused(HttpRefusal why) noexcept { return {nullptr, why}; }
};

/// Whether a head that was incomplete when its first `progress.scanned` bytes were looked at is
/// worth parsing again: its end came, or a byte that must be refused, or a limit was crossed. If
/// not, notes how far it looked. Always true the first time.
bool worth_parsing(std::string_view bytes, const HeadLimits& limits,
                   HeadProgress& progress) noexcept;

/// Applies the outcome of a head: sets its refusal and size, or notes how far `bytes` were looked
/// at.
HeadStatus conclude(const Outcome& outcome, std::string_view bytes, const HeadLimits& limits,
                    HeadProgress& progress, HttpRefusal& refusal, std::uint32_t& size) noexcept;

/// Parses field lines, from p on, and the empty line after them; the head begins at `begin`. On
/// success `next` is where the body begins.
Outcome parse_fields(const char* begin, const char* p, const char* end, std::uint32_t limit,
                     FieldList& list) noexcept;

/// Why no line ends at p, or that more bytes are needed.
Outcome no_line_end(const char* p, const char* end) noexcept;
/// Checks that a line ends at p, at CR. On success `next` is after the LF. `p` may be `end`.
inline Outcome parse_line_end(const char* p, const char* end) noexcept {
  if (end - p >= 2 && p[0] == '\r' && p[1] == '\n') [[likely]]
    return {p + 2};
  return no_line_end(p, end);
}

/// The content of the Connection fields.
struct Connection {
  bool close = false;
  bool keep_alive = false;
  bool upgrade = false;
  /// Names a field that no hop may drop, such as Host or X-Forwarded-For.
  bool names_needed = false;
};

/// The decision of all fields together about framing and the connection, checked. `http_1_0`
/// belongs to the message.
struct Decided {
  HttpRefusal refusal = HttpRefusal::none;
  bool has_length = false;
  bool chunked = false;
  std::uint64_t length = 0;
  Connection connection;
  const HeaderField* host = nullptr;
  bool host_repeated = false;
  bool has_expect = false;
  bool expect_unknown = false;           ///< an Expect other than 100-continue
  const HeaderField* upgrade = nullptr;  ///< null also if there are several
  const HeaderField* websocket_key = nullptr;
  const HeaderField* websocket_version = nullptr;
  const HeaderField* websocket_accept = nullptr;
};

/// Also marks in `list.kinds` the fields that Connection names, and removes their names: such
/// fields are for this hop alone, and nothing may read them.
void decide(FieldList& list, bool http_1_0, Decided& out) noexcept;

}  // namespace weir::net::lines
