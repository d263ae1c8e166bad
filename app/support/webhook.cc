#include "app/support/webhook.h"

#include <openssl/ssl.h>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <charconv>
#include <memory>
#include <string>
#include <tuple>
#include <utility>

#include "core/address.h"
#include "net/deadline.h"
#include "net/http/response_head.h"

namespace weir::app {
namespace {

namespace asio = boost::asio;
namespace ssl = boost::asio::ssl;
using asio::ip::tcp;
using boost::system::error_code;
using net::kToken;

constexpr std::size_t kAnswerMax = 16 << 10;

Delivery failure(const char* step, const std::string& why) { return {0, step + (": " + why)}; }

/// A connection to a webhook's server. Virtual, not a template: what Asio makes of each stream
/// takes g++ a minute, and a webhook has milliseconds.
class Wire {
 public:
  virtual ~Wire() = default;
  virtual tcp::socket& socket() noexcept = 0;
  virtual asio::awaitable<error_code> greet(const Url& url) = 0;  ///< once the socket is connected
  virtual asio::awaitable<std::tuple<error_code, std::size_t>> write(asio::const_buffer bytes) = 0;
  virtual asio::awaitable<std::tuple<error_code, std::size_t>> read(asio::mutable_buffer room) = 0;
};

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

std::string request_of(const Url& url, std::string_view body) {
  std::string out = "POST " + url.target + " HTTP/1.1\r\nHost: " + url.authority() +
                    "\r\nUser-Agent: weir\r\nContent-Type: application/json\r\n"
                    "Connection: close\r\nContent-Length: " +
                    std::to_string(body.size()) + "\r\n\r\n";
  return out.append(body);
}

asio::awaitable<error_code> connect(tcp::socket& socket,
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

asio::awaitable<Delivery> read_answer(Wire& wire) {
  std::string room(kAnswerMax, '\0');
  std::size_t begin = 0;
  std::size_t end = 0;
  auto head = std::make_unique<net::ResponseHead>();
  for (net::HeadProgress progress;;) {
    const std::string_view bytes(room.data() + begin, end - begin);
    const net::HeadStatus status = net::parse_response_head(bytes, {}, {}, progress, *head);
    if (status == net::HeadStatus::refused)
      co_return failure("read", "the answer is no HTTP/1.1 that weir takes");
    if (status == net::HeadStatus::complete) {
      if (!head->interim()) co_return Delivery{head->status, {}};
      begin += head->size;
      progress = {};
      continue;
    }
    if (end == room.size()) co_return failure("read", "the answer's head is too long");
    const auto [error, n] = co_await wire.read(asio::buffer(room.data() + end, room.size() - end));
    if (error) co_return failure("read", error.message());
    end += n;
  }
}

asio::awaitable<Delivery> deliver(Url url, std::string body, std::shared_ptr<ssl::context> tls) {
  const auto executor = co_await asio::this_coro::executor;
  tcp::resolver resolver(executor);
  const auto [unknown, addresses] = co_await resolver.async_resolve(url.host, url.port, kToken);
  if (unknown) co_return failure("resolve", unknown.message());
  std::unique_ptr<Wire> wire;
  if (url.tls) {
    wire = std::make_unique<TlsWire>(executor, *tls);
  } else {
    wire = std::make_unique<PlainWire>(executor);
  }
  if (const error_code error = co_await connect(wire->socket(), addresses))
    co_return failure("connect", error.message());
  if (const error_code error = co_await wire->greet(url)) co_return failure("tls", error.message());
  const std::string request = request_of(url, body);
  for (std::size_t sent = 0; sent < request.size();) {
    const auto [error, n] = co_await wire->write(asio::buffer(request) + sent);
    if (error) co_return failure("write", error.message());
    sent += n;
  }
  co_return co_await read_answer(*wire);
}

}  // namespace

std::optional<Url> Url::parse(std::string_view text) {
  Url out;
  if (text.starts_with("http://")) {
    text.remove_prefix(7);
  } else if (text.starts_with("https://")) {
    text.remove_prefix(8);
    out.tls = true;
  } else {
    return std::nullopt;
  }
  const std::size_t path = std::min(text.find_first_of("/?"), text.size());
  std::string_view authority = text.substr(0, path);
  std::string_view target = text.substr(path);
  for (const char c : text) {
    if (static_cast<unsigned char>(c) <= ' ' || c == '#' || c == 0x7f) return std::nullopt;
  }
  if (authority.find('@') != std::string_view::npos) return std::nullopt;
  out.port = out.tls ? "443" : "80";
  std::string_view port;
  if (authority.starts_with('[')) {
    const std::size_t close = authority.find(']');
    if (close == std::string_view::npos) return std::nullopt;
    out.host = authority.substr(1, close - 1);
    port = authority.substr(close + 1);
  } else {
    const std::size_t colon = std::min(authority.find(':'), authority.size());
    out.host = authority.substr(0, colon);
    port = authority.substr(colon);
  }
  if (!port.empty()) {
    port.remove_prefix(1);
    if (port.empty() || port.size() > 5 ||
        port.find_first_not_of("0123456789") != std::string_view::npos) {
      return std::nullopt;
    }
    out.port = port;
  }
  if (out.port_number() == 0 || out.host.empty()) return std::nullopt;
  out.target = target.starts_with('/') ? std::string(target) : "/" + std::string(target);
  return out;
}

std::uint16_t Url::port_number() const noexcept {
  std::uint16_t number = 0;
  const auto parsed = std::from_chars(port.data(), port.data() + port.size(), number);
  return parsed.ec == std::errc{} ? number : std::uint16_t{0};
}

std::string Url::authority() const {
  const std::string name = host.find(':') == std::string::npos ? host : "[" + host + "]";
  return port == (tls ? "443" : "80") ? name : name + ":" + port;
}

std::shared_ptr<ssl::context> webhook_tls() {
  auto context = std::make_shared<ssl::context>(ssl::context::tls_client);
  boost::system::error_code ignored;  // no certificates: every handshake fails, and says so
  context->set_default_verify_paths(ignored);
  context->set_verify_mode(ssl::verify_peer);
  return context;
}

asio::awaitable<Delivery> post_json(Url url, std::string body, std::shared_ptr<ssl::context> tls,
                                    milliseconds deadline) {
  auto outcome =
      co_await net::within(deadline, deliver(std::move(url), std::move(body), std::move(tls)));
  co_return outcome ? std::move(*outcome) : Delivery{0, "no answer in time"};
}

}  // namespace weir::app
