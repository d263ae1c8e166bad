#pragma once

#include <cstdint>
#include <string_view>

/// Reasons of a strict HTTP/1.1 parser to refuse: X(id, status, word, detail). `status` is the
/// answer to a client; a refusal of bytes from upstream is a 502, whatever the row says. `word` is
/// the name in tests; `detail` is the text for a client, without quotes or backslashes. After a
/// refusal, parse nothing more of the connection: answer, then close it.
#define WEIR_HTTP_REFUSALS(X)                                                                   \
  X(none, 0, "", "")                                                                            \
  X(request_line, 400, "request-line", "the request line is not METHOD TARGET HTTP/1.1")        \
  X(method, 400, "method", "the method has a byte that no method has")                          \
  X(method_too_long, 501, "method-too-long", "the method is too long")                          \
  X(connect, 405, "connect", "CONNECT is not for this server")                                  \
  X(version, 505, "version", "HTTP/1.1 and HTTP/1.0 are spoken here")                           \
  X(target, 400, "target",                                                                      \
    "the target is neither a path nor an http:// URL, or has a byte that must be escaped")      \
  X(fragment, 400, "fragment", "a target has no fragment")                                      \
  X(target_too_long, 414, "target-too-long", "the target is too long")                          \
  X(target_authority, 400, "target-authority", "the host in the target is not valid")           \
  X(path_escape, 400, "path-escape", "the path has a broken escape")                            \
  X(line_end, 400, "line-end", "a line ends with something else than CR LF")                    \
  X(control_byte, 400, "control-byte", "there is a control byte in the head")                   \
  X(obs_fold, 400, "obs-fold", "a header field goes on in a second line")                       \
  X(blank_before_colon, 400, "blank-before-colon", "there is a blank before a colon")           \
  X(field_name, 400, "field-name", "a header field has no valid name")                          \
  X(too_many_fields, 431, "too-many-fields", "there are too many header fields")                \
  X(head_too_large, 431, "head-too-large", "the head is too large")                             \
  X(connection_options, 400, "connection-options", "the Connection field is not valid")         \
  X(host_missing, 400, "host-missing", "there is no Host field")                                \
  X(host_repeated, 400, "host-repeated", "there are several Host fields")                       \
  X(host_invalid, 400, "host-invalid", "the Host field is not valid")                           \
  X(length_repeated, 400, "content-length-repeated", "there are several Content-Length values") \
  X(length_invalid, 400, "content-length-invalid", "the Content-Length is not a number")        \
  X(length_with_coding, 400, "content-length-with-coding",                                      \
    "there are both Content-Length and Transfer-Encoding")                                      \
  X(coding_unknown, 400, "transfer-coding", "the only transfer coding here is chunked")         \
  X(coding_in_http_1_0, 400, "transfer-coding-in-http-1.0", "HTTP/1.0 has no transfer codings") \
  X(expectation, 417, "expectation", "the only expectation met here is 100-continue")           \
  X(chunk_size, 400, "chunk-size", "the size of a chunk is not valid")                          \
  X(chunk_extension, 400, "chunk-extension", "a chunk extension is not valid")                  \
  X(chunk_end, 400, "chunk-end", "a chunk does not end where its size says")                    \
  X(chunk_line_too_long, 400, "chunk-line-too-long", "a chunk's line is too long")              \
  X(chunk_extensions_too_long, 400, "chunk-extensions-too-long",                                \
    "the chunk extensions are too long")                                                        \
  X(trailer, 400, "trailer", "a trailer field is not valid")                                    \
  X(trailers_too_large, 400, "trailers-too-large", "the trailers are too large")                \
  X(status_line, 502, "status-line", "")                                                        \
  X(unasked_upgrade, 502, "unasked-upgrade", "")

namespace weir::telemetry {
class MetricCells;
}

namespace weir::net {

enum class HttpRefusal : std::uint8_t {
#define WEIR_ROW(id, status, word, detail) id,
  WEIR_HTTP_REFUSALS(WEIR_ROW)
#undef WEIR_ROW
};

struct HttpRefusalRow {
  int status;
  std::string_view word;
  std::string_view detail;
};
/// The row of a refusal; a table look-up.
const HttpRefusalRow& http_refusal_row(HttpRefusal refusal) noexcept;

/// Counts a request that is refused for its form, and the limit that it exceeds, if it does.
void count_malformed_request(telemetry::MetricCells& metrics, HttpRefusal refusal) noexcept;

}  // namespace weir::net
