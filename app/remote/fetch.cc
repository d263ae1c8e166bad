#include "app/remote/fetch.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <chrono>
#include <exception>
#include <memory>
#include <system_error>
#include <utility>

#include "app/remote/left_alone.h"
#include "app/support/wire.h"
#include "core/clock.h"
#include "core/text.h"
#include "net/deadline.h"

namespace weir::app {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using boost::system::error_code;

constexpr std::size_t kReadPiece = std::size_t{256} << 10;
constexpr milliseconds kLookUp{100};  // how often `stop` is looked at

std::string get_of(const FetchAsk& ask) {
  std::string out = "GET " + ask.url.target + " HTTP/1.1\r\nHost: " + ask.url.authority() +
                    "\r\nUser-Agent: weir\r\nAccept: */*\r\nConnection: close\r\n";
  if (!ask.etag.empty()) out += "If-None-Match: " + ask.etag + "\r\n";
  if (!ask.last_modified.empty()) out += "If-Modified-Since: " + ask.last_modified + "\r\n";
  if (!ask.token.empty()) out += "Authorization: Bearer " + ask.token + "\r\n";
  return out + "\r\n";
}

Fetched unanswered(std::string why) {
  Fetched out;
  out.error = std::move(why);
  return out;
}

asio::awaitable<Fetched> get(FetchAsk ask) {
  auto opened = co_await open_wire(ask.url, ask.tls);
  if (opened.wire == nullptr) co_return unanswered(std::move(opened.error));
  const std::string request = get_of(ask);
  if (const error_code error = co_await opened.wire->write_all(request))
    co_return unanswered("write: " + error.message());
  http::response_parser<http::string_body> parser;
  parser.eager(true);
  parser.body_limit(ask.bytes_max);
  std::string room(kReadPiece, '\0');
  std::size_t held = 0;
  while (!parser.is_done()) {
    const auto [error, n] =
        co_await opened.wire->read(asio::buffer(room.data() + held, room.size() - held));
    error_code wrong;
    if (n == 0 && error) {
      // A body without a length ends with the connection.
      if (parser.need_eof()) parser.put_eof(wrong);
      if (!parser.is_done() || wrong) co_return unanswered("read: the answer ends early");
      break;
    }
    held += n;
    std::size_t used = 0;
    while (used < held && !parser.is_done()) {
      const std::size_t taken = parser.put(asio::buffer(room.data() + used, held - used), wrong);
      used += taken;
      if (wrong == http::error::need_more) {
        wrong = {};
        break;
      }
      if (wrong == http::error::body_limit)
        co_return unanswered("the answer is larger than " + human_size(ask.bytes_max));
      if (wrong) co_return unanswered("read: " + wrong.message());
      if (taken == 0) break;
    }
    room.erase(0, used);
    held -= used;
    room.resize(kReadPiece);
    if (held == room.size()) co_return unanswered("read: the answer's head is too long");
  }
  Fetched out;
  out.status = static_cast<int>(parser.get().result_int());
  out.etag = std::string(parser.get()[http::field::etag]);
  out.last_modified = std::string(parser.get()[http::field::last_modified]);
  out.location = std::string(parser.get()[http::field::location]);
  out.encoding = std::string(parser.get()[http::field::content_encoding]);
  if (out.encoding == "identity") out.encoding.clear();
  out.body = std::move(parser.get().body());
  co_return out;
}

asio::awaitable<Fetched> get_within(FetchAsk ask, milliseconds deadline) {
  auto outcome = co_await net::within(deadline, get(std::move(ask)));
  co_return outcome ? std::move(*outcome)
                    : unanswered("no whole answer within " + human_duration(deadline));
}

/// A fetch and its loop.
struct Fetch {
  asio::io_context io{1};
  Fetched out = unanswered("out of resources");
  bool ended = false;
};

}  // namespace

Fetched fetch_now(FetchAsk ask, milliseconds deadline, const std::atomic<bool>* stop) {
  if (too_many_are_left()) return unanswered("the name server is silent");
  if (ask.url.tls && ask.tls == nullptr) ask.tls = webhook_tls();
  auto fetch = std::make_unique<Fetch>();
  asio::co_spawn(fetch->io, get_within(std::move(ask), deadline),
                 [&to = *fetch](const std::exception_ptr& thrown, Fetched fetched) {
                   if (!thrown) to.out = std::move(fetched);
                   to.ended = true;
                 });
  // A look-up cannot be cancelled: the deadline of get_within() does not cut it.
  const Clock clock;
  const TimePoint until = clock.now() + deadline + kLookUp;
  while (!fetch->ended && !fetch->io.stopped()) {
    fetch->io.run_for(std::chrono::milliseconds{kLookUp.count()});
    if (fetch->ended || fetch->io.stopped()) break;
    const bool stops = stop != nullptr && stop->load(std::memory_order_relaxed);
    if (!stops && clock.now() < until) continue;
    leave_alone(std::move(fetch));
    return unanswered(stops ? std::string("weir stops")
                            : "no whole answer within " + human_duration(deadline));
  }
  return std::move(fetch->out);
}

std::shared_ptr<asio::ssl::context> tls_with(const std::string& ca_file, std::string& why) {
  auto context = std::make_shared<asio::ssl::context>(asio::ssl::context::tls_client);
  error_code error;
  context->load_verify_file(ca_file, error);
  context->set_verify_mode(asio::ssl::verify_peer);
  if (!error) return context;
  why = "ca_file " + ca_file + ": " + error.message();
  return nullptr;
}

}  // namespace weir::app
