#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>

#include "app/support/webhook.h"

namespace weir::app {

/// A connection to a foreign HTTP server. Virtual, not a template: Asio's code for each kind of
/// stream takes g++ a minute, and the callers have milliseconds.
class Wire {
 public:
  using ErrorCode = boost::system::error_code;
  virtual ~Wire() = default;
  virtual boost::asio::ip::tcp::socket& socket() noexcept = 0;
  /// Once the socket is connected.
  virtual boost::asio::awaitable<ErrorCode> greet(const Url& url) = 0;
  virtual boost::asio::awaitable<std::tuple<ErrorCode, std::size_t>> write(
      boost::asio::const_buffer bytes) = 0;
  virtual boost::asio::awaitable<std::tuple<ErrorCode, std::size_t>> read(
      boost::asio::mutable_buffer room) = 0;
  /// `bytes` stay until it is done.
  boost::asio::awaitable<ErrorCode> write_all(std::string_view bytes);
};

struct OpenedWire {
  std::unique_ptr<Wire> wire;  ///< null: there is none
  std::string error;           ///< why, for people: `connect: Connection refused`
};

/// Resolves and connects, with TLS if the URL requires it. No deadline of its own.
boost::asio::awaitable<OpenedWire> open_wire(Url url,
                                             std::shared_ptr<boost::asio::ssl::context> tls);

}  // namespace weir::app
