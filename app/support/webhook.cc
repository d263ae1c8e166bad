#include "app/support/webhook.h"

#include <boost/asio/ssl/context.hpp>
#include <memory>
#include <string>
#include <utility>

#include "app/support/wire.h"
#include "core/chars/parse.h"
#include "net/deadline.h"
#include "net/http/response_head.h"
#include "net/http/uri.h"

namespace weir::app {
namespace {

namespace asio = boost::asio;
namespace ssl = boost::asio::ssl;
using boost::system::error_code;

constexpr std::size_t kAnswerMax = 16 << 10;

Delivery failure(const char* step, const std::string& why) { return {0, step + (": " + why)}; }

std::string request_of(const Url& url, std::string_view body) {
  std::string out = "POST " + url.target + " HTTP/1.1\r\nHost: " + url.authority() +
                    "\r\nUser-Agent: weir\r\nContent-Type: application/json\r\n"
                    "Connection: close\r\nContent-Length: " +
                    std::to_string(body.size()) + "\r\n\r\n";
  return out.append(body);
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
      co_return failure("read", "the answer is not HTTP/1.1 that weir takes");
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
  auto opened = co_await open_wire(url, tls);
  if (opened.wire == nullptr) co_return Delivery{0, std::move(opened.error)};
  const std::unique_ptr<Wire> wire = std::move(opened.wire);
  const std::string request = request_of(url, body);
  if (const error_code error = co_await wire->write_all(request))
    co_return failure("write", error.message());
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
  if (net::lacks_escapes(text)) return std::nullopt;
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
  return parse_whole<std::uint16_t>(port).value_or(0);
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
