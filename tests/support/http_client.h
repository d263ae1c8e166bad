#pragma once

#include <string>
#include <string_view>

#include "tests/support/origin_server.h"

namespace weir::test {

/// One answer as it came over the wire.
struct HttpAnswer {
  int status = 0;  ///< 0: the connection ended without one
  std::string head;
  std::string body;
  std::string header(std::string_view name) const { return field(head, name).value_or(""); }
};

/// A raw HTTP/1.1 client: sends the given text, byte for byte.
class HttpClient {
 public:
  explicit HttpClient(std::uint16_t port) : stream_(Stream::connect_tcp(port)) {}
  explicit HttpClient(const std::string& unix_path) : stream_(Stream::connect_unix(unix_path)) {}

  Stream& stream() noexcept { return stream_; }
  bool send(std::string_view bytes) { return stream_.write(bytes); }
  HttpAnswer read(bool head_request = false);
  /// Sends and reads one answer.
  HttpAnswer ask(std::string_view request, bool head_request = false);
  /// A plain request with Host; `rest`: more lines, each with CRLF.
  HttpAnswer get(std::string_view target, std::string_view rest = {});
  HttpAnswer post(std::string_view target, std::string_view body, std::string_view rest = {});
  /// Whether the server has ended the connection and nothing is left to read.
  bool at_end();

 private:
  Stream stream_;
};

std::string request_text(std::string_view method, std::string_view target,
                         std::string_view rest = {}, std::string_view body = {});
/// `HTTP/1.1 200 OK` with Content-Length.
std::string ok(std::string_view body, std::string_view lines = {});

}  // namespace weir::test
