#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <string>
#include <string_view>

#include "net/socket.h"

namespace weir::test {

struct Reply {
  int status = 0;
  std::string head, body;
  std::string field(std::string_view name) const;  ///< empty if there is none
};

/// A client with plain blocking sockets, which the test runs against the io_context of the door.
class Client {
 public:
  Client(boost::asio::io_context& io, const net::SocketAddress& address);
  ~Client();
  Client(Client&& other) noexcept;

  void send(std::string_view bytes);
  /// Runs the door until a whole answer is here; status 0: the door closed the connection instead.
  Reply receive(bool head_only = false);
  /// One request. `fields`: whole lines. Content-Length is added to a body.
  Reply call(std::string_view method, std::string_view target, std::string_view fields = {},
             std::string_view body = {});
  bool closed_by_peer();
  /// Takes bytes from the socket, at least one and at most `most`, and drops them; how many. 0: the
  /// door has closed the connection.
  std::size_t take(std::size_t most);

 private:
  bool read_some();
  boost::asio::io_context& io_;
  int fd_ = -1;
  std::string buffer_;
};

/// Runs a coroutine of the doors to its end.
void run(boost::asio::io_context& io, boost::asio::awaitable<void> task);

}  // namespace weir::test
