#pragma once

#include <cstdint>
#include <string_view>

#include "net/http/fields.h"
#include "net/http/refusal.h"

namespace weir::net {

/// The facts about the request that decide what its answer means.
struct AnsweredRequest {
  bool head = false;  ///< its method is HEAD: no body, whatever the fields are
  /// Not empty: an upgrade was asked for, and a 101 must prove that it read this.
  std::string_view websocket_key = {};
};

/// One response head from upstream, parsed and decided. The views point into the parsed bytes.
/// About 3.4 KiB: keep one per worker.
struct ResponseHead {
  ResponseHead() noexcept {}  // NOLINT(modernize-use-equals-default): the arrays stay unwritten
  ResponseHead(const ResponseHead&) = delete;
  ResponseHead& operator=(const ResponseHead&) = delete;

  HttpRefusal refusal = HttpRefusal::none;
  std::uint32_t size = 0;   ///< bytes of the head, its empty line included
  int status = 0;           ///< 100..599
  std::string_view reason;  ///< may be empty
  bool http_1_0 = false;
  Framing framing = Framing::none;
  bool has_content_length =
      false;  ///< also of an answer without a body (HEAD, 304): to be passed on
  std::uint64_t content_length = 0;  ///< if has_content_length; at most 2^63-1
  bool keep_alive = false;  ///< the upstream connection may serve another request after this answer
  bool upgraded = false;    ///< a verified 101: from `size` on the bytes belong to the websocket
  FieldList fields;         ///< with Connection's names already applied to `kinds`

  bool interim() const noexcept {
    return status < 200 && !upgraded;
  }  ///< 1xx: another head follows
};

/// Parses one response head at the start of `bytes`, as strictly as requests are parsed. Every
/// refusal is a 502 and the end of the upstream connection. Refused besides what breaks the
/// grammar: any second Content-Length, one that is not plain digits, Content-Length with
/// Transfer-Encoding, a coding other than exactly one `chunked`, any coding in HTTP/1.0, a 101 that
/// was not asked for or does not carry the right Sec-WebSocket-Accept. Tolerated: a status line
/// that ends after the code (no blank). A 204 that announces a body has none; its connection is
/// then not kept.
///
/// No allocation, no I/O, no state but `progress`; thread-safe for distinct arguments.
HeadStatus parse_response_head(std::string_view bytes, const AnsweredRequest& request,
                               const HeadLimits& limits, HeadProgress& progress,
                               ResponseHead& head) noexcept;

}  // namespace weir::net
