#include "app/webhook.h"

#include <openssl/ssl.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl.hpp>
#include <charconv>

namespace weir::app {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using asio::ip::tcp;

constexpr auto kToken = asio::as_tuple(asio::use_awaitable);
constexpr std::size_t kAnswerMax = 16 << 10;

Delivery failure(const char* step, const boost::system::error_code& error) {
  return {0, std::string(step) + ": " + error.message()};
}

template <class Stream>
asio::awaitable<Delivery> exchange(Stream& stream, const Url& url, const std::string& body) {
  http::request<http::string_body> request{http::verb::post, url.target, 11};
  request.set(http::field::host, url.authority());
  request.set(http::field::user_agent, "weir");
  request.set(http::field::content_type, "application/json");
  request.set(http::field::connection, "close");
  request.body() = body;
  request.prepare_payload();
  const auto [write_error, written] = co_await http::async_write(stream, request, kToken);
  if (write_error) co_return failure("write", write_error);
  beast::flat_buffer buffer(kAnswerMax);
  http::response_parser<http::string_body> parser;
  parser.header_limit(kAnswerMax);
  parser.body_limit(kAnswerMax);
  const auto [read_error, read] = co_await http::async_read_header(stream, buffer, parser, kToken);
  if (read_error) co_return failure("read", read_error);
  co_return Delivery{static_cast<int>(parser.get().result_int()), {}};
}

asio::awaitable<Delivery> deliver(Url url, std::string body,
                                  std::shared_ptr<asio::ssl::context> tls, milliseconds deadline) {
  const auto executor = co_await asio::this_coro::executor;
  tcp::resolver resolver(executor);
  const auto [resolve_error, addresses] =
      co_await resolver.async_resolve(url.host, url.port, kToken);
  if (resolve_error) co_return failure("resolve", resolve_error);
  if (!url.tls) {
    beast::tcp_stream stream(executor);
    stream.expires_after(deadline);
    const auto [error, endpoint] = co_await stream.async_connect(addresses, kToken);
    if (error) co_return failure("connect", error);
    co_return co_await exchange(stream, url, body);
  }
  beast::ssl_stream<beast::tcp_stream> stream(executor, *tls);
  stream.set_verify_callback(asio::ssl::host_name_verification(url.host));
  if (SSL_set_tlsext_host_name(stream.native_handle(), url.host.c_str()) != 1) {
    co_return Delivery{0, "tls: no server name"};
  }
  beast::get_lowest_layer(stream).expires_after(deadline);
  const auto [error, endpoint] =
      co_await beast::get_lowest_layer(stream).async_connect(addresses, kToken);
  if (error) co_return failure("connect", error);
  const auto [tls_error] = co_await stream.async_handshake(asio::ssl::stream_base::client, kToken);
  if (tls_error) co_return failure("tls", tls_error);
  co_return co_await exchange(stream, url, body);
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

std::shared_ptr<asio::ssl::context> webhook_tls() {
  auto context = std::make_shared<asio::ssl::context>(asio::ssl::context::tls_client);
  boost::system::error_code ignored;  // no certificates: every handshake fails, and says so
  context->set_default_verify_paths(ignored);
  context->set_verify_mode(asio::ssl::verify_peer);
  return context;
}

asio::awaitable<Delivery> post_json(Url url, std::string body,
                                    std::shared_ptr<asio::ssl::context> tls,
                                    milliseconds deadline) {
  using namespace asio::experimental::awaitable_operators;
  // The stream has a deadline of its own; this one is for the name's resolution.
  asio::steady_timer timer(co_await asio::this_coro::executor);
  timer.expires_after(deadline);
  auto outcome = co_await (deliver(std::move(url), std::move(body), std::move(tls), deadline) ||
                           timer.async_wait(kToken));
  if (outcome.index() == 0) co_return std::get<0>(outcome);
  co_return Delivery{0, "no answer in time"};
}

}  // namespace weir::app
