#include "admin/operator/peers.h"

#include <algorithm>
#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <memory>

#include "config/default_ports.h"
#include "core/chars/hex.h"
#include "core/key.h"
#include "net/deadline.h"
#include "net/http/door_guard.h"
#include "net/task_group.h"

namespace weir::admin {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::ip::tcp;
using boost::system::error_code;

const std::string kDefaultPort = std::to_string(config::kAdminPort);
constexpr std::size_t kBodyMax = std::size_t{1} << 20;

std::string new_id() {
  std::string out;
  append_hex(out, HashSecret::random().bytes());
  return out;
}

std::string endpoint_text(const tcp::endpoint& endpoint) {
  const std::string address = endpoint.address().to_string();
  const std::string port = ":" + std::to_string(endpoint.port());
  return endpoint.address().is_v6() ? "[" + address + "]" + port : address + port;
}

struct Asked {
  tcp::socket socket;
  Peers::Answer answer;
};

// The whole exchange; errors are in the answer.
asio::awaitable<void> exchange(Asked& asked, const tcp::endpoint& to, const std::string& head,
                               const std::string& body) {
  Peers::Answer& answer = asked.answer;
  if (const auto [error] = co_await asked.socket.async_connect(to, net::kToken); error) {
    answer.why = error.message();
    co_return;
  }
  const std::string bytes = head + "Host: " + answer.address + "\r\n\r\n" + body;
  if (const auto [error, n] =
          co_await asio::async_write(asked.socket, asio::buffer(bytes), net::kToken);
      error) {
    answer.why = error.message();
    co_return;
  }
  boost::beast::flat_buffer buffer(kBodyMax + (std::size_t{16} << 10));
  http::response_parser<http::string_body> parser;
  parser.body_limit(kBodyMax);
  if (const auto [error, n] = co_await http::async_read(asked.socket, buffer, parser, net::kToken);
      error) {
    answer.why = error.message();
    co_return;
  }
  answer.status = static_cast<int>(parser.get().result_int());
  answer.self = answer.status == 421;
  answer.body = std::move(parser.get().body());
}

}  // namespace

std::pair<std::string, std::string> split_replica(std::string_view text) {
  const bool bracket = text.starts_with('[');
  const std::size_t end = bracket ? text.find(']') : std::string_view::npos;
  if (end != std::string_view::npos) {
    const std::string_view rest = text.substr(end + 1);
    return {std::string(text.substr(1, end - 1)),
            rest.starts_with(':') ? std::string(rest.substr(1)) : kDefaultPort};
  }
  const std::size_t colon = text.find(':');
  const bool port = colon != std::string_view::npos && text.rfind(':') == colon;
  if (!port) return {std::string(text), kDefaultPort};
  return {std::string(text.substr(0, colon)), std::string(text.substr(colon + 1))};
}

// Its coroutines keep it alive: a late one writes into a round that is no longer read.
struct Peers::Round : std::enable_shared_from_this<Peers::Round> {
  std::string head, body;
  std::vector<tcp::endpoint> to;
  std::vector<std::unique_ptr<Asked>> asked;
  std::vector<Answer> unknown;  // names without an address

  static asio::awaitable<void> run(std::shared_ptr<Round> round, std::size_t i) {
    Asked& asked = *round->asked[i];
    const auto done = co_await net::within(kLimit, finish(asked, *round, i));
    if (!done) asked.answer.why = "no answer within two seconds";
  }
  // within() takes what has a value.
  static asio::awaitable<bool> finish(Asked& asked, const Round& round, std::size_t i) {
    co_await exchange(asked, round.to[i], round.head, round.body);
    co_return true;
  }
};

Peers::Peers(asio::io_context& io, std::vector<std::string> replicas,
             std::optional<std::string> token_file)
    : io_(io),
      replicas_(std::move(replicas)),
      token_file_(std::move(token_file)),
      id_(new_id()),
      resolver_(io) {}

asio::awaitable<void> Peers::find(Round& round) {
  for (const std::string& name : replicas_) {
    const auto [host, port] = split_replica(name);
    const auto [error, found] = co_await resolver_.async_resolve(host, port, net::kToken);
    if (error) {
      round.unknown.push_back({name, false, 0, {}, "the name has no address: " + error.message()});
      continue;
    }
    for (const auto& each : found) {
      const tcp::endpoint to = each.endpoint();
      const bool there = std::find(round.to.begin(), round.to.end(), to) != round.to.end();
      if (!there && round.to.size() < kPeersMax) round.to.push_back(to);
    }
  }
}

std::string Peers::head_of(std::string_view method, std::string_view target,
                           std::size_t size) const {
  std::string head(method);
  head.append(" ").append(target).append(" HTTP/1.1\r\nX-Weir-From: ").append(id_);
  head += "\r\nConnection: close\r\n";
  if (method != "GET") {
    head += "Content-Type: application/json\r\nContent-Length: " + std::to_string(size) + "\r\n";
  }
  // Each request reads the file, because a mounted Secret rotates.
  if (token_file_)
    head +=
        "Authorization: Bearer " + net::read_token(*token_file_).value_or(std::string()) + "\r\n";
  return head;
}

asio::awaitable<std::vector<Peers::Answer>> Peers::ask(std::string method, std::string target,
                                                       std::string body) {
  const auto round = std::make_shared<Round>();
  co_await find(*round);
  round->head = head_of(method, target, body.size());
  round->body = std::move(body);
  net::TaskGroup tasks(io_.get_executor(), [](const std::exception_ptr&) {});
  for (const tcp::endpoint& to : round->to) {
    round->asked.push_back(
        std::make_unique<Asked>(Asked{tcp::socket(io_), {endpoint_text(to), false, 0, {}, {}}}));
  }
  for (std::size_t i = 0; i < round->to.size(); ++i) tasks.spawn(Round::run(round, i));
  if (!co_await tasks.wait(2 * kLimit)) tasks.cancel();
  std::vector<Answer> out;
  for (const auto& asked : round->asked) out.push_back(asked->answer);
  for (const Answer& none : round->unknown) out.push_back(none);
  co_return out;
}

}  // namespace weir::admin
