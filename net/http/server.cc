#include "net/http/server.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <cerrno>
#include <list>
#include <optional>

#include "core/chars/ascii.h"
#include "net/deadline.h"
#include "net/fd.h"
#include "net/http/date.h"
#include "net/http/fields.h"
#include "net/task_group.h"

namespace weir::net {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using boost::system::error_code;
// One stream type for TCP and Unix sockets: Beast's templates are compiled once.
using Stream = asio::generic::stream_protocol::socket;
using Parser = http::request_parser<http::string_body>;

constexpr milliseconds kAcceptPause{100};
constexpr milliseconds kLinger{1'000};
constexpr int kRequestsPerConnection = 1'000;
constexpr std::size_t kSmallBody = 4 << 10;

struct Connection {
  Connection(Stream s, std::string said) : stream(std::move(s)), sent(std::move(said)) {}
  /// The party that the connection waits for: the peer to send, this process to answer, the peer to
  /// read.
  enum class State : std::uint8_t { request, answer, reader };

  Stream stream;
  std::string sent;  // before it was given to this server
  HttpPeer peer;
  State state = State::request;
  bool bulk = false;        // its answer counts towards HttpServerLimits::bulk
  std::uint64_t since = 0;  // a running number: when the peer was last of use

  bool waits_for_peer() const noexcept { return state != State::answer; }
};

HttpPeer peer_of(int fd) noexcept {
  HttpPeer out;
  SocketAddress address;
  if (::getpeername(fd, address.raw(), address.size_for_output()) == 0 &&
      address.raw()->sa_family != AF_UNIX) {
    out.address = address.address();
    return out;
  }
  ucred who{};
  socklen_t length = sizeof who;
  if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &length) == 0) {
    out.uid = who.uid;
    out.pid = who.pid;
  }
  return out;
}

// The status that answers a failed read, or 0: the peer is gone.
int refusal_status(const error_code& error) {
  if (error == http::error::header_limit || error == http::error::buffer_overflow) return 431;
  if (error == http::error::body_limit) return 413;
  if (error == http::error::end_of_stream || error == http::error::partial_message) return 0;
  if (error.category() == http::make_error_code(http::error::bad_method).category()) return 400;
  return 0;
}

std::string_view refusal_text(int status) {
  switch (status) {
    case 408:
      return "the request did not arrive in time";
    case 413:
      return "the body is larger than this door accepts";
    case 431:
      return "the head of the request is larger than this door accepts";
    default:
      return "the request breaks the grammar of HTTP/1.1";
  }
}

// Fills `out` from the head of a message; false: nothing that this server answers.
bool convert(const http::request<http::string_body>& message, HttpRequest& out) {
  std::string_view target(message.target().data(), message.target().size());
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!target.starts_with(scheme)) continue;  // absolute-form
    const std::size_t slash = target.find('/', scheme.size());
    target = slash == std::string_view::npos ? std::string_view("/") : target.substr(slash);
  }
  if (!target.starts_with('/')) return false;
  const std::size_t question = target.find('?');
  out.path = target.substr(0, question);
  if (question != std::string_view::npos) out.query = target.substr(question + 1);
  out.method.assign(message.method_string().data(), message.method_string().size());
  for (const auto& field : message) {
    const std::string_view name(field.name_string().data(), field.name_string().size());
    out.fields.emplace_back(ascii::lowered(name),
                            std::string(field.value().data(), field.value().size()));
  }
  // Two ways to frame a body: some intermediary may have read the other one.
  if (out.count("content-length") > 0 && out.count("transfer-encoding") > 0) return false;
  if (out.count("content-length") > 1 || out.count("host") > 1) return false;
  return out.count("host") != 0 || message.version() < 11;
}

/// The part of HttpServerLimits::bodies_bytes that the body of one request holds.
class Holding {
 public:
  explicit Holding(std::size_t& total) noexcept : total_(total) {}
  ~Holding() { total_ -= bytes_; }
  Holding(const Holding&) = delete;
  Holding& operator=(const Holding&) = delete;
  void set(std::size_t bytes) noexcept {
    total_ += bytes - bytes_;
    bytes_ = bytes;
  }

 private:
  std::size_t& total_;
  std::size_t bytes_ = 0;
};

std::string render_head(const HttpReply& reply, std::string_view date, bool keep_alive) {
  std::string head = "HTTP/1.1 " + std::to_string(reply.status) + " ";
  const auto reason =
      http::obsolete_reason(http::int_to_status(static_cast<unsigned>(reply.status)));
  head.append(reason.data(), reason.size()).append("\r\nDate: ").append(date).append("\r\n");
  if (!reply.content_type.empty()) head += "Content-Type: " + reply.content_type + "\r\n";
  if (reply.status != 204 && !reply.next) {
    head += "Content-Length: " + std::to_string(reply.text().size()) + "\r\n";
  }
  for (const auto& [name, value] : reply.fields) {
    head.append(name).append(": ").append(value).append("\r\n");
  }
  if (!keep_alive) head += "Connection: close\r\n";
  return head += "\r\n";
}

}  // namespace

std::size_t HttpRequest::count(std::string_view name) const noexcept {
  return static_cast<std::size_t>(std::count_if(
      fields.begin(), fields.end(), [name](const auto& field) { return field.first == name; }));
}

std::string_view HttpRequest::field(std::string_view name) const noexcept {
  for (const auto& [key, value] : fields) {
    if (key == name) return value;
  }
  return {};
}

// Kept alive by its coroutines, so that it may be left behind in an io_context that is dropped.
struct HttpServer::Impl : std::enable_shared_from_this<HttpServer::Impl> {
  Impl(asio::io_context& context, HttpHandler& h, const HttpServerLimits& l)
      : io(context),
        handler(h),
        limits(l),
        listener(context),
        tasks(context.get_executor(), [this](const std::exception_ptr&) { ++failures; }) {}

  asio::io_context& io;
  HttpHandler& handler;
  HttpServerLimits limits;
  SocketAddress address;
  asio::posix::stream_descriptor listener;
  TaskGroup tasks;
  std::vector<Connection*> connections;
  std::uint64_t sequence = 0, displaced = 0, failures = 0;
  std::size_t held = 0;  // of limits.bodies_bytes
  HttpDate date;
  bool stopping = false;

  void admit(Fd fd, std::string sent = {});
  /// The connection whose peer has done nothing for the longest, among those that wait for their
  /// peer (`bulk`: those with a bulk answer alone); null: there is none.
  Connection* slowest_peer(bool bulk);
  void displace(Connection& connection);
  bool admit_bulk(Connection& connection);
  void enter(Connection& connection, Connection::State state);
  void forget(const Connection* connection) { std::erase(connections, connection); }
  void stop_accepting();
  asio::awaitable<void> accept_all(std::shared_ptr<Impl> self);
  asio::awaitable<void> serve(std::shared_ptr<Impl> self, std::shared_ptr<Connection> connection);
  asio::awaitable<void> converse(Connection& connection);
  asio::awaitable<std::optional<int>> read_head(Connection& connection,
                                                boost::beast::flat_buffer& buffer, Parser& parser);
  asio::awaitable<std::optional<int>> read_body(Connection& connection,
                                                boost::beast::flat_buffer& buffer, Parser& parser);
  std::optional<HttpReply> screen(const HttpRequest& request);
  /// Bytes of the body that a head announces.
  std::size_t announced_bytes(const Parser& parser) const;
  asio::awaitable<HttpReply> answer(HttpRequest request);
  asio::awaitable<bool> write(Connection& connection, HttpReply reply, bool head_only,
                              bool keep_alive);
  asio::awaitable<error_code> send(Connection& connection, std::string_view head,
                                   std::string_view body);
  asio::awaitable<bool> stream(Connection& connection, decltype(HttpReply::next) next);
  asio::awaitable<void> linger(Connection& connection);
};

asio::awaitable<void> HttpServer::Impl::accept_all(std::shared_ptr<Impl> self) {
  for (;;) {
    // A listening socket waits as long as it takes; stop_accepting() ends the wait.
    auto [error] =
        co_await self->listener.async_wait(asio::posix::stream_descriptor::wait_read, kToken);
    if (error || self->stopping) co_return;
    for (int i = 0; i < 16; ++i) {
      Fd fd(::accept4(self->listener.native_handle(), nullptr, nullptr,
                      SOCK_NONBLOCK | SOCK_CLOEXEC));
      if (fd) {
        try {
          self->admit(std::move(fd));
        } catch (const std::bad_alloc&) {  // ends this connection, not the door
          ++self->failures;
        }
        continue;
      }
      if (errno == ECONNABORTED || errno == EINTR) continue;
      // Out of descriptors or memory: pause, or the ready backlog would make this loop spin.
      if (errno != EAGAIN && errno != EWOULDBLOCK) co_await pause(kAcceptPause);
      break;
    }
  }
}

void HttpServer::Impl::admit(Fd fd, std::string sent) {
  if (connections.size() >= limits.connections) {
    Connection* const victim = slowest_peer(false);
    if (victim == nullptr) return;  // all are being answered: closes the new one
    displace(*victim);
  }
  const int family = address.raw()->sa_family;
  set_no_delay(fd.get());
  Stream stream(io);
  error_code error;
  const int number = fd.get();
  stream.assign(asio::generic::stream_protocol(family, 0), number, error);
  if (error) return;
  fd.release();  // the stream closes it
  auto connection = std::make_shared<Connection>(std::move(stream), std::move(sent));
  connection->peer = peer_of(number);
  enter(*connection, Connection::State::request);
  const Connection* const admitted = connection.get();
  connections.push_back(connection.get());
  try {
    tasks.spawn(serve(shared_from_this(), std::move(connection)));
  } catch (const std::bad_alloc&) {  // a coroutine that has not begun forgets nothing
    forget(admitted);
    throw;
  }
}

Connection* HttpServer::Impl::slowest_peer(bool bulk) {
  Connection* slowest = nullptr;
  for (Connection* connection : connections) {
    if (!connection->waits_for_peer() || (bulk && !connection->bulk)) continue;
    if (slowest == nullptr || connection->since < slowest->since) slowest = connection;
  }
  return slowest;
}

// Closing fails the operation that the coroutine waits for, which ends the coroutine.
void HttpServer::Impl::displace(Connection& connection) {
  forget(&connection);
  ++displaced;
  error_code ignored;
  connection.stream.close(ignored);
}

// False: as many bulk answers as may be are being made, and none waits for its reader.
bool HttpServer::Impl::admit_bulk(Connection& connection) {
  const auto taken = std::count_if(connections.begin(), connections.end(),
                                   [](const Connection* other) { return other->bulk; });
  if (static_cast<std::size_t>(taken) >= limits.bulk) {
    Connection* const victim = slowest_peer(true);
    if (victim == nullptr) return false;
    displace(*victim);
  }
  connection.bulk = true;
  return true;
}

void HttpServer::Impl::enter(Connection& connection, Connection::State state) {
  connection.state = state;
  connection.since = ++sequence;
}

asio::awaitable<void> HttpServer::Impl::serve(std::shared_ptr<Impl> self,
                                              std::shared_ptr<Connection> connection) {
  struct Entry {
    Impl& server;
    const Connection* connection;
    ~Entry() { server.forget(connection); }
  };
  const Entry entry{*self, connection.get()};
  co_await self->converse(*connection);
}

asio::awaitable<void> HttpServer::Impl::converse(Connection& connection) {
  boost::beast::flat_buffer buffer(limits.head_bytes + limits.body_bytes);
  if (!connection.sent.empty()) {
    const std::size_t size = std::min(connection.sent.size(), buffer.max_size());
    buffer.commit(asio::buffer_copy(buffer.prepare(size), asio::buffer(connection.sent)));
    connection.sent = {};
  }
  for (int served = 1; !stopping; ++served) {
    Parser parser;
    enter(connection, Connection::State::request);
    Holding holding(held);
    HttpRequest request;
    std::optional<HttpReply> screened;
    std::optional<int> refused = co_await read_head(connection, buffer, parser);
    if (!refused && !convert(parser.get(), request)) refused = 400;
    if (!refused) {
      request.peer = connection.peer;
      screened = screen(request);
    }
    if (!refused && !parser.is_done()) {
      const std::size_t bytes = announced_bytes(parser);
      if (!screened && held + bytes > limits.bodies_bytes) {
        screened = handler.refuse(503, "too many bodies are being read");
        screened->fields.emplace_back("Retry-After", "1");
      }
      // A small body is read all the same: then the connection stays usable after the refusal.
      if (!screened || (bytes <= kSmallBody && request.count("expect") == 0)) {
        holding.set(bytes);
        refused = co_await read_body(connection, buffer, parser);
        request.body = std::move(parser.get().body());
        holding.set(request.body.size());
      }
    }
    connection.state = Connection::State::answer;
    if (refused == 0 || !connection.stream.is_open()) co_return;
    if (refused) {
      HttpReply reply = handler.refuse(*refused, refusal_text(*refused));
      if (co_await write(connection, std::move(reply), false, false)) co_await linger(connection);
      co_return;
    }
    const bool head_only = request.method == "HEAD";
    const bool wants_more =
        parser.get().keep_alive() && parser.is_done() && served < kRequestsPerConnection;
    const bool bulk = !screened && handler.is_bulk(request);
    HttpReply reply;
    if (screened) {
      reply = std::move(*screened);
    } else if (bulk && !admit_bulk(connection)) {
      reply = handler.refuse(503, "too many such answers are being made");
    } else {
      reply = co_await answer(std::move(request));
    }
    holding.set(0);
    const auto next = reply.next;
    const bool keep_alive = wants_more && !stopping && !next;
    bool written = co_await write(connection, std::move(reply), head_only, keep_alive);
    if (next && written && !head_only) written = co_await stream(connection, next);
    connection.bulk = false;
    if (!written) co_return;
    if (!keep_alive) {
      co_await linger(connection);
      co_return;
    }
  }
}

// nullopt: a whole head; 0: close without a word; else the status of a refusal.
asio::awaitable<std::optional<int>> HttpServer::Impl::read_head(Connection& connection,
                                                                boost::beast::flat_buffer& buffer,
                                                                Parser& parser) {
  Stream& stream = connection.stream;
  if (buffer.size() == 0) {
    auto ready = co_await within(limits.idle, stream.async_wait(Stream::wait_read, kToken));
    if (!ready || std::get<0>(*ready)) co_return 0;
  }
  parser.header_limit(static_cast<std::uint32_t>(limits.head_bytes));
  parser.body_limit(limits.body_bytes);
  auto head = co_await within(limits.head, http::async_read_header(stream, buffer, parser, kToken));
  if (!head) co_return 408;
  if (const error_code error = std::get<0>(*head)) co_return refusal_status(error);
  co_return std::nullopt;
}

std::size_t HttpServer::Impl::announced_bytes(const Parser& parser) const {
  const auto length = parser.content_length();
  return length ? static_cast<std::size_t>(*length) : limits.body_bytes;
}

std::optional<HttpReply> HttpServer::Impl::screen(const HttpRequest& request) {
  try {
    return handler.screen(request);
  } catch (const std::exception&) {  // as in answer()
    ++failures;
    return handler.refuse(500, "the request could not be answered");
  }
}

// As read_head().
asio::awaitable<std::optional<int>> HttpServer::Impl::read_body(Connection& connection,
                                                                boost::beast::flat_buffer& buffer,
                                                                Parser& parser) {
  Stream& stream = connection.stream;
  const auto expect = parser.get()[http::field::expect];
  if (same_ignoring_case({expect.data(), expect.size()}, "100-continue")) {
    static constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
    auto sent =
        co_await within(limits.write, asio::async_write(stream, asio::buffer(kContinue), kToken));
    if (!sent || std::get<0>(*sent)) co_return 0;
  }
  auto body = co_await within(limits.body, http::async_read(stream, buffer, parser, kToken));
  if (!body) co_return 408;
  if (const error_code error = std::get<0>(*body)) co_return refusal_status(error);
  co_return std::nullopt;
}

asio::awaitable<HttpReply> HttpServer::Impl::answer(HttpRequest request) {
  std::exception_ptr failure;
  try {
    co_return co_await handler.handle(std::move(request));
  } catch (...) {
    failure = std::current_exception();
  }
  // A cancelled handler ends the connection. Anything else is a bug of weir or lack of memory, and
  // costs this one request.
  if (stopping) std::rethrow_exception(failure);
  ++failures;
  co_return handler.refuse(500, "the request could not be answered");
}

asio::awaitable<bool> HttpServer::Impl::write(Connection& connection, HttpReply reply,
                                              bool head_only, bool keep_alive) {
  const std::string head = render_head(reply, date.at(Clock::wall()), keep_alive);
  enter(connection, Connection::State::reader);
  const std::string_view body = head_only ? std::string_view() : std::string_view(reply.text());
  const auto sent = co_await within(limits.write, send(connection, head, body));
  co_return sent && !*sent;
}

asio::awaitable<error_code> HttpServer::Impl::send(Connection& connection, std::string_view head,
                                                   std::string_view body) {
  while (!head.empty() || !body.empty()) {
    const std::array<asio::const_buffer, 2> parts{asio::buffer(head.data(), head.size()),
                                                  asio::buffer(body.data(), body.size())};
    const auto [error, bytes] = co_await connection.stream.async_write_some(parts, kToken);
    if (error) co_return error;
    const std::size_t of_head = std::min(bytes, head.size());
    head.remove_prefix(of_head);
    body.remove_prefix(bytes - of_head);
    if (bytes != 0) connection.since = ++sequence;  // a peer that reads is not the slowest
  }
  co_return error_code();
}

// While the connection waits for a piece, it is not closed to make room: its peer has nothing to
// do.
asio::awaitable<bool> HttpServer::Impl::stream(Connection& connection,
                                               decltype(HttpReply::next) next) {
  for (;;) {
    connection.state = Connection::State::answer;
    const HttpReply::Piece piece = co_await next();
    if (piece == nullptr) co_return true;
    if (stopping || !connection.stream.is_open()) co_return false;
    enter(connection, Connection::State::reader);
    const auto sent = co_await within(limits.write, send(connection, {}, *piece));
    if (!sent || *sent) co_return false;
  }
}

// Closing with unread bytes resets the connection, and the peer may lose the answer. So the server
// ends its side first, then reads the bytes that are still on their way.
asio::awaitable<void> HttpServer::Impl::linger(Connection& connection) {
  error_code error;
  connection.stream.shutdown(Stream::shutdown_send, error);
  enter(connection, Connection::State::request);
  std::array<char, 4096> rest;
  for (int i = 0; i < 256 && !error; ++i) {
    auto read =
        co_await within(kLinger, connection.stream.async_read_some(asio::buffer(rest), kToken));
    if (!read) co_return;
    error = std::get<0>(*read);
  }
}

void HttpServer::Impl::stop_accepting() {
  if (std::exchange(stopping, true)) return;
  error_code ignored;
  if (listener.is_open()) {
    // While the listener is open, no other process binds there: the unlinked file is the listener's
    // own.
    if (address.is_unix()) ::unlink(address.to_string().substr(5).c_str());
    listener.close(ignored);
  }
  for (Connection* connection : connections) {
    if (connection->state == Connection::State::request) connection->stream.close(ignored);
  }
}

HttpServer::HttpServer(asio::io_context& io, HttpHandler& handler, const HttpServerLimits& limits)
    : impl_(std::make_shared<Impl>(io, handler, limits)) {}

HttpServer::~HttpServer() {
  impl_->stop_accepting();
  impl_->tasks.cancel();
}

Result<void> HttpServer::listen(const SocketAddress& address, unsigned unix_mode) {
  auto fd = open_listener(address, unix_mode);
  if (!fd) return fd.error();
  auto bound = SocketAddress::of_socket(fd->get());
  if (!bound) return bound.error();
  impl_->address = *bound;
  error_code error;
  impl_->listener.assign(fd->get(), error);
  if (error) return error;
  fd->release();
  impl_->tasks.spawn(impl_->accept_all(impl_));
  return {};
}

void HttpServer::serve_adopted(const SocketAddress& bound) { impl_->address = bound; }

void HttpServer::adopt(Fd fd, std::string sent) {
  if (!impl_->stopping) impl_->admit(std::move(fd), std::move(sent));
}

const SocketAddress& HttpServer::address() const noexcept { return impl_->address; }

void HttpServer::stop_accepting() { impl_->stop_accepting(); }

asio::awaitable<void> HttpServer::stop(milliseconds grace) {
  const std::shared_ptr<Impl> self = impl_;
  self->stop_accepting();
  if (co_await self->tasks.wait(grace)) co_return;
  self->tasks.cancel();
  co_await self->tasks.wait(kLinger);
}

std::size_t HttpServer::open_connections() const noexcept { return impl_->connections.size(); }
std::uint64_t HttpServer::displaced() const noexcept { return impl_->displaced; }
std::uint64_t HttpServer::failures() const noexcept { return impl_->failures; }

}  // namespace weir::net
