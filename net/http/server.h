#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/address.h"
#include "core/clock.h"
#include "core/result.h"
#include "net/fd.h"
#include "net/socket.h"

namespace boost::asio {
class io_context;
}

/// A small HTTP/1.1 server for the doors that are not hot: health, the admin API, and the event API
/// with the rate limit paths. On Boost.Beast, one coroutine a connection. Not for the proxy.
namespace weir::net {

/// The peer of a connection, as the kernel identifies it.
struct HttpPeer {
  Address address;                   ///< of TCP
  std::optional<std::uint32_t> uid;  ///< of a process on this machine, by a Unix socket
  std::optional<std::int32_t> pid;   ///< the same
};

/// One whole request. Owned: handlers may wait.
struct HttpRequest {
  std::string method;  ///< as received, case-sensitive
  std::string path;    ///< as received, still percent-encoded; begins with '/'
  std::string query;   ///< after the first '?', still percent-encoded
  std::vector<std::pair<std::string, std::string>> fields;  ///< names in lower case
  std::string body;
  HttpPeer peer = {};
  std::string token = {};  ///< name of the file whose token let it in; empty: none was asked for

  std::size_t count(std::string_view name) const noexcept;
  /// The first value of a field, empty if there is none. `name` in lower case.
  std::string_view field(std::string_view name) const noexcept;
};

struct HttpReply {
  int status = 200;
  std::string content_type;
  std::string body;
  std::vector<std::pair<std::string, std::string>> fields;  ///< further ones
  /// Sent instead of `body` where it is set: one text that many replies share without a copy.
  std::shared_ptr<const std::string> page = nullptr;
  /// An answer without an end that is known: `next` is asked for one further piece after the other,
  /// and may wait as long as it likes. Null, or a reader that takes nothing for
  /// HttpServerLimits::write, ends the answer and the connection.
  using Piece = std::shared_ptr<const std::string>;
  std::function<boost::asio::awaitable<Piece>()> next = nullptr;

  const std::string& text() const noexcept { return page != nullptr ? *page : body; }
};

/// Answers requests, on the server's thread.
class HttpHandler {
 public:
  virtual ~HttpHandler() = default;
  /// Looks at the head of a request before its body is read. An answer refuses the request; the
  /// connection then ends, unless there is no body or a small one.
  virtual std::optional<HttpReply> screen(const HttpRequest&) { return std::nullopt; }
  virtual boost::asio::awaitable<HttpReply> handle(HttpRequest request) = 0;
  /// The answer to bytes that became no request, or found no room: 400, 408, 413, 431, 500, 503.
  virtual HttpReply refuse(int status, std::string_view detail) = 0;
  /// Whether the answer may be larger than the kernel's buffers for a peer that does not read.
  /// Connections with such an answer draw on HttpServerLimits::bulk.
  virtual bool is_bulk(const HttpRequest&) const noexcept { return false; }
};

struct HttpServerLimits {
  std::size_t connections = 64;
  std::size_t bulk = 64;  ///< of them with a bulk answer at a time, at most
  std::size_t head_bytes = 16 << 10;
  std::size_t body_bytes = 64 << 10;
  /// Bytes of all request bodies that are held. Above it, a request with a body gets 503 before its
  /// body is read.
  std::size_t bodies_bytes = 8 << 20;
  milliseconds idle{60'000};  ///< until the first byte of the next request
  milliseconds head{10'000};  ///< from there to the end of its head
  milliseconds body{10'000};
  milliseconds write{10'000};  ///< for a whole answer
};

/// Listens, reads requests with limits and deadlines, keeps connections alive, drains.
///
/// When all connections are taken, one of those whose peer is to act makes room: the one whose
/// peer has sent no complete request, or has taken no byte of its answer, for the longest. When all
/// of `bulk` are taken, the bulk answer whose peer has taken nothing for the longest makes room. So
/// idle peers, slow senders and slow readers cannot shut a probe out.
///
/// On one thread, that of the io_context; the handler must outlive stop().
class HttpServer {
 public:
  HttpServer(boost::asio::io_context& io, HttpHandler& handler, const HttpServerLimits& limits);
  ~HttpServer();  ///< without stop(): connections are closed at once
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  /// Binds and begins to accept once the io_context runs. A Unix socket gets `unix_mode`, and its
  /// file is removed by stop_accepting(). The error is the system's.
  Result<void> listen(const SocketAddress& address, unsigned unix_mode = 0600);
  /// Instead: connections come by adopt(), from other servers that accepted them at this address.
  void serve_adopted(const SocketAddress& bound);
  /// Takes over a connection with the bytes that it has sent so far. Call it on the server's
  /// thread.
  void adopt(Fd fd, std::string sent);
  const SocketAddress& address() const noexcept;  ///< as bound: port 0 has become a number

  /// No new connections or requests; idle connections are closed, others after their answer.
  void stop_accepting();
  /// Like stop_accepting(), and waits at most `grace` for requests in flight; then cancels the
  /// rest.
  boost::asio::awaitable<void> stop(milliseconds grace);

  std::size_t open_connections() const noexcept;
  std::uint64_t displaced() const noexcept;  ///< connections closed to make room
  std::uint64_t failures() const noexcept;   ///< handlers that ended by an exception

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace weir::net
