#include "app/support/wire.h"

#include <openssl/ssl.h>

#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/asio/ssl/stream.hpp>

#include "core/address.h"
#include "net/deadline.h"

namespace weir::app {
namespace {

namespace asio = boost::asio;
namespace ssl = boost::asio::ssl;
using asio::ip::tcp;
using boost::system::error_code;
using net::kToken;

class PlainWire final : public Wire {
 public:
  explicit PlainWire(const asio::any_io_executor& executor) : socket_(executor) {}
  tcp::socket& socket() noexcept override { return socket_; }
  asio::awaitable<error_code> greet(const Url&) override { co_return error_code{}; }
  asio::awaitable<std::tuple<error_code, std::size_t>> write(asio::const_buffer bytes) override {
    return socket_.async_write_some(bytes, kToken);
  }
  asio::awaitable<std::tuple<error_code, std::size_t>> read(asio::mutable_buffer room) override {
    return socket_.async_read_some(room, kToken);
  }

 private:
  tcp::socket socket_;
};

class TlsWire final : public Wire {
 public:
  TlsWire(const asio::any_io_executor& executor, ssl::context& context)
      : stream_(executor, context) {}
  tcp::socket& socket() noexcept override { return stream_.next_layer(); }
  asio::awaitable<error_code> greet(const Url& url) override {
    stream_.set_verify_callback(ssl::host_name_verification(url.host));
    // Names alone are indicated, no addresses (RFC 6066, 3).
    if (!Address::parse(url.host) &&
        SSL_set_tlsext_host_name(stream_.native_handle(), url.host.c_str()) != 1)
      co_return make_error_code(boost::system::errc::invalid_argument);
    const auto [error] = co_await stream_.async_handshake(ssl::stream_base::client, kToken);
    co_return error;
  }
  asio::awaitable<std::tuple<error_code, std::size_t>> write(asio::const_buffer bytes) override {
    return stream_.async_write_some(bytes, kToken);
  }
  asio::awaitable<std::tuple<error_code, std::size_t>> read(asio::mutable_buffer room) override {
    return stream_.async_read_some(room, kToken);
  }

 private:
  ssl::stream<tcp::socket> stream_;
};

asio::awaitable<error_code> connect_any(tcp::socket& socket,
                                        const tcp::resolver::results_type& addresses) {
  error_code last = make_error_code(boost::system::errc::host_unreachable);
  for (const auto& address : addresses) {
    error_code ignored;
    socket.close(ignored);
    const auto [error] = co_await socket.async_connect(address.endpoint(), kToken);
    if (!error || error == asio::error::operation_aborted) co_return error;
    last = error;
  }
  co_return last;
}

}  // namespace

asio::awaitable<error_code> Wire::write_all(std::string_view bytes) {
  for (std::size_t sent = 0; sent < bytes.size();) {
    const auto [error, n] = co_await write(asio::buffer(bytes) + sent);
    if (error) co_return error;
    sent += n;
  }
  co_return error_code{};
}

asio::awaitable<OpenedWire> open_wire(Url url, std::shared_ptr<ssl::context> tls) {
  const auto executor = co_await asio::this_coro::executor;
  tcp::resolver resolver(executor);
  const auto [unknown, addresses] = co_await resolver.async_resolve(url.host, url.port, kToken);
  if (unknown) co_return OpenedWire{nullptr, "resolve: " + unknown.message()};
  std::unique_ptr<Wire> wire;
  if (url.tls) {
    wire = std::make_unique<TlsWire>(executor, *tls);
  } else {
    wire = std::make_unique<PlainWire>(executor);
  }
  if (const error_code error = co_await connect_any(wire->socket(), addresses))
    co_return OpenedWire{nullptr, "connect: " + error.message()};
  if (const error_code error = co_await wire->greet(url))
    co_return OpenedWire{nullptr, "tls: " + error.message()};
  co_return OpenedWire{std::move(wire), {}};
}

}  // namespace weir::app
