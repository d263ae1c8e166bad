#pragma once

#include <nghttp2/nghttp2.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "net/fd.h"

namespace weir::test {

/// The answer to one gRPC call.
struct GrpcReply {
  std::map<std::string, std::string> fields;  ///< head and trailers
  std::string body;                           ///< with the prefix of its message
  bool closed = false;
  std::uint32_t code = 0;  ///< HTTP/2's, of the stream's end
  bool has_status() const { return fields.contains("grpc-status"); }
  int status() const { return has_status() ? std::stoi(fields.at("grpc-status")) : -1; }
  std::string message() const { return body.size() < 5 ? std::string() : body.substr(5); }
};

/// A gRPC client on libnghttp2: one blocking connection, as many calls on it as the test likes.
class H2Client {
 public:
  using Fields = std::vector<std::pair<std::string, std::string>>;

  explicit H2Client(std::uint16_t port, Fields settings = {});
  explicit H2Client(const std::string& unix_path);
  ~H2Client();

  /// Of the next call; a name given here replaces the usual one, an empty value leaves it out.
  Fields fields;
  /// The bytes that follow the head; none: the head ends the stream.
  static std::string prefixed(std::string_view message, char flag = 0);

  /// Sends one call, of `body` as it is. `end`: the body ends the stream.
  std::int32_t begin(std::string_view path, std::string body, bool end = true);
  /// A message, and the reply to it.
  GrpcReply call(std::string_view path, std::string_view message);
  /// Reads until the call has ended, or the connection; at most 10 s.
  GrpcReply finish(std::int32_t id);
  GrpcReply& reply(std::int32_t id) { return replies_[id]; }
  /// Sends what is queued, and reads once. False: the connection has ended, or nothing came in 10
  /// s.
  bool pump();
  void send();

  nghttp2_session* session() noexcept { return session_.get(); }
  struct Goaway {
    std::int32_t last = 0;
    std::uint32_t code = 0;
  };
  std::vector<Goaway> goaways;
  int pings = 0, pongs = 0;
  bool ended = false;
  std::map<std::int32_t, std::uint32_t> settings;  ///< of the server

 private:
  struct Delete {
    void operator()(nghttp2_session* s) const noexcept { nghttp2_session_del(s); }
  };
  struct Upload {
    std::string bytes;
    std::size_t sent = 0;
    bool end = true;
  };
  friend struct H2Callbacks;
  void begin_session(const Fields& settings_wanted);

  net::Fd fd_;
  std::unique_ptr<nghttp2_session, Delete> session_;
  std::map<std::int32_t, GrpcReply> replies_;
  std::map<std::int32_t, std::unique_ptr<Upload>> uploads_;
};

/// Frames as a test likes them, good or bad, and no library between.
class RawH2 {
 public:
  explicit RawH2(std::uint16_t port);

  static constexpr std::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
  static std::string frame(std::uint8_t type, std::uint8_t flags, std::uint32_t stream,
                           std::string_view payload = {});
  /// A list of fields, without Huffman and without the dynamic table.
  static std::string literal(const H2Client::Fields& fields);
  static H2Client::Fields call_fields(std::string_view path);

  /// Preface and empty SETTINGS.
  void greet();
  /// False: the peer has closed.
  bool send(std::string_view bytes);
  struct Frame {
    std::uint8_t type = 0xFF;  ///< 0xFF: none, the connection has ended or 10 s have passed
    std::uint8_t flags = 0;
    std::uint32_t stream = 0;
    std::string payload;
  };
  Frame read();
  /// Reads on to a frame of this type.
  Frame read_to(std::uint8_t type);
  /// The error code of the GOAWAY that comes, or of its absence: -1.
  int goaway_code();
  bool at_end();  ///< reads all that comes; true: the peer has ended the connection
  net::Fd& fd() noexcept { return fd_; }

 private:
  bool fill();
  net::Fd fd_;
  std::string in_;
};

}  // namespace weir::test
