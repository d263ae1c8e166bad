#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "net/http/fields.h"
#include "net/http/refusal.h"

namespace weir::net {

/// Bytes of a host in a Host field or authority, without its port.
inline constexpr std::size_t kHostMax = 255;

enum class Method : std::uint8_t { get, head, post, put, delete_, options, patch, other };

/// One request head, parsed and decided: its content, the end of its body, the future of its
/// connection. The views point into the parsed bytes (host may point into the head itself, so the
/// head cannot be copied). About 3.7 KiB: keep one per worker, not one per connection; parse again
/// from kept bytes.
struct RequestHead {
  RequestHead() noexcept {}  // NOLINT(modernize-use-equals-default): the arrays stay unwritten
  RequestHead(const RequestHead&) = delete;
  RequestHead& operator=(const RequestHead&) = delete;

  HttpRefusal refusal = HttpRefusal::none;
  std::uint32_t size = 0;   ///< bytes of the head, its empty line included
  std::string_view method;  ///< as received: upper-case letters, digits, `-`, `_`
  Method method_id = Method::other;
  bool asterisk = false;    ///< `OPTIONS *`: answer it locally
  std::string_view target;  ///< origin-form (`/p?q`), also when absolute-form came; or `*`
  bool http_1_0 = false;
  Framing framing = Framing::none;   ///< never until_close
  std::uint64_t content_length = 0;  ///< if framing is length; at most 2^63-1
  bool keep_alive = false;           ///< the client is willing to send another request
  bool expect_continue =
      false;               ///< waits for 100 before it sends its body (HTTP/1.1 with a body only)
  bool websocket = false;  ///< a complete websocket handshake: GET, HTTP/1.1, no body
  /// Max-Forwards of TRACE and OPTIONS: how many hops may still follow (RFC 9110, 7.6.2), at most
  /// 2^31-1; larger numbers become that. Nothing if the field is absent, is repeated, or is
  /// not a number. 0: the request must not be forwarded.
  std::optional<std::uint32_t> max_forwards;
  std::string_view websocket_key;  ///< if websocket
  std::string_view authority;      ///< Host as received, port included; empty only in HTTP/1.0
  std::string_view host;  ///< lower case, without port and trailing dot; IPv6 in its brackets
  FieldList fields;       ///< with Connection's names already applied to `kinds`

  bool has_body() const noexcept {
    return framing == Framing::chunked || (framing == Framing::length && content_length > 0);
  }

  std::array<char, kHostMax> host_text;  ///< where `host` lives when it had to be lowered
};

/// Parses one request head at the start of `bytes`, strictly: whatever two parsers could read in
/// two ways is refused (RFC 9112, and the list in SECURITY.md). The outcome depends on the bytes
/// alone, not on how they were split over calls; but a head that must be refused may count as
/// incomplete until the offending line, or the whole head, is there.
///
/// Accepted beyond the bare grammar: one empty line before the request line (RFC 9112, 2.2);
/// HTTP/1.0 without a Host; absolute-form `http://` or `https://` whose authority equals Host (its
/// path must not be empty before a `?`). An Upgrade other than a complete websocket handshake is
/// ignored, as RFC 9110 7.8 permits. Refused though the grammar has it: methods with lower-case
/// letters, HTTP/1.x with x > 1, a Host with percent-encoding or sub-delims.
///
/// No allocation, no I/O, no state but `progress`; thread-safe for distinct arguments.
HeadStatus parse_request_head(std::string_view bytes, const HeadLimits& limits,
                              HeadProgress& progress, RequestHead& head) noexcept;

/// The host of a Host field or authority, as RequestHead::host has it: in `authority` itself, or in
/// `room`, of kHostMax bytes. Empty: one that parse_request_head refuses. Thread-safe.
std::string_view host_of(std::string_view authority, std::span<char, kHostMax> room) noexcept;
/// The same as a text of its own; nullopt: none.
std::optional<std::string> host_word_of(std::string_view authority);

}  // namespace weir::net
