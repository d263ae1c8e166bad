#pragma once

#include <cstdint>
#include <string_view>

/// Why a strict HTTP/1.1 parser refuses: X(id, status, word). `status` is what a client gets;
/// whatever the row says, a refusal of something that came from upstream is a 502. `word` is for
/// metrics and logs. After a refusal nothing more of the connection may be parsed: answer, then
/// close it.
#define WEIR_HTTP_REFUSALS(X)                                    \
  X(none, 0, "")                                                 \
  X(request_line, 400, "request-line")                           \
  X(method, 400, "method")                                       \
  X(method_too_long, 501, "method-too-long")                     \
  X(connect, 405, "connect")                                     \
  X(version, 505, "version")                                     \
  X(target, 400, "target")                                       \
  X(fragment, 400, "fragment")                                   \
  X(target_too_long, 414, "target-too-long")                     \
  X(target_authority, 400, "target-authority")                   \
  X(path_escape, 400, "path-escape")                             \
  X(line_end, 400, "line-end")                                   \
  X(control_byte, 400, "control-byte")                           \
  X(obs_fold, 400, "obs-fold")                                   \
  X(blank_before_colon, 400, "blank-before-colon")               \
  X(field_name, 400, "field-name")                               \
  X(too_many_fields, 431, "too-many-fields")                     \
  X(head_too_large, 431, "head-too-large")                       \
  X(connection_options, 400, "connection-options")               \
  X(host_missing, 400, "host-missing")                           \
  X(host_repeated, 400, "host-repeated")                         \
  X(host_invalid, 400, "host-invalid")                           \
  X(length_repeated, 400, "content-length-repeated")             \
  X(length_invalid, 400, "content-length-invalid")               \
  X(length_with_coding, 400, "content-length-with-coding")       \
  X(coding_unknown, 400, "transfer-coding")                      \
  X(coding_in_http_1_0, 400, "transfer-coding-in-http-1.0")      \
  X(expectation, 417, "expectation")                             \
  X(chunk_size, 400, "chunk-size")                               \
  X(chunk_extension, 400, "chunk-extension")                     \
  X(chunk_end, 400, "chunk-end")                                 \
  X(chunk_line_too_long, 400, "chunk-line-too-long")             \
  X(chunk_extensions_too_long, 400, "chunk-extensions-too-long") \
  X(trailer, 400, "trailer")                                     \
  X(trailers_too_large, 400, "trailers-too-large")               \
  X(status_line, 502, "status-line")                             \
  X(unasked_upgrade, 502, "unasked-upgrade")

namespace weir::net {

enum class HttpRefusal : std::uint8_t {
#define WEIR_ROW(id, status, word) id,
  WEIR_HTTP_REFUSALS(WEIR_ROW)
#undef WEIR_ROW
};

struct HttpRefusalRow {
  int status;
  std::string_view word;
};
/// The row of a refusal; a table look-up.
const HttpRefusalRow& http_refusal_row(HttpRefusal refusal) noexcept;

}  // namespace weir::net
