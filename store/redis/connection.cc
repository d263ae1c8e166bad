#include "store/redis/connection.h"

#include <algorithm>
#include <cstring>

#include "core/no_memory.h"
#include "store/redis/codec.h"
#include "store/resp/resp_writer.h"

namespace weir::store {

using limiter::SharedError;

constexpr std::size_t kWhyMax = 160;

/// A look-up by name, which outlives the connection that asked if need be. Asio keeps a thread of
/// its own for these; they happen when a connection is made, never in a request's way.
struct Connection::Resolution {
  explicit Resolution(boost::asio::io_context& io) : resolver(io) {}
  boost::asio::ip::tcp::resolver resolver;
  Connection* asker = nullptr;
};

Connection::Connection(net::Worker& worker, const Settings& settings,
                       const Credentials& credentials, Greeting greeting, Owner& owner,
                       std::uint64_t seed)
    : worker_(worker),
      settings_(settings),
      credentials_(credentials),
      greeting_(greeting),
      owner_(owner),
      backoff_(milliseconds(20), milliseconds(500), seed) {}

Connection::~Connection() { stop(); }

void Connection::set_endpoint(const Endpoint& endpoint) {
  if (endpoint == endpoint_) return;
  endpoint_ = endpoint;
  if (state_ == State::off) return;
  const bool was_ready = ready();
  close();
  backoff_.reset();
  if (was_ready) owner_.on_down(SharedError::lost);
  connect();
}

void Connection::start() {
  if (state_ == State::off) connect();
}

void Connection::stop() {
  close();
  state_ = State::off;
  net::Wheel::disarm(*this);
}

void Connection::drop(SharedError why) { fail(why, "given up"); }

void Connection::close() noexcept {
  if (resolution_ != nullptr) {
    resolution_->asker = nullptr;
    resolution_->resolver.cancel();
    resolution_.reset();
  }
  tls_.reset();
  fd_.close();
  ++epoch_;
  out_.clear();
  out_begin_ = 0;
  pending_ = 0;
  state_ = State::waiting;
}

void Connection::fail(SharedError why, std::string text) {
  // Redis in protected mode explains itself in a thousand letters.
  if (text.size() > kWhyMax) text.replace(kWhyMax, std::string::npos, "...");
  why_ = std::move(text);
  if (state_ != State::ready) ++attempts_;
  close();
  worker_.wheel().arm(*this, worker_.now() + backoff_.next());
  owner_.on_down(why);
}

void Connection::connect() {
  // Generous compared to a command: a handshake costs more, and no request waits for it.
  worker_.wheel().arm(*this, worker_.now() + std::max(settings_.timeout * 4, milliseconds(500)));
  if (endpoint_.is_unix()) {
    const auto address = net::SocketAddress::unix_path(endpoint_.path);
    if (!address) return fail(SharedError::unavailable, "the socket's path is too long");
    return open_socket(*address);
  }
  if (endpoint_.host.empty()) {  // not known yet: a Sentinel will report it
    state_ = State::waiting;
    net::Wheel::disarm(*this);
    return;
  }
  if (const auto address = Address::parse(endpoint_.host))
    return open_socket(net::SocketAddress::tcp(*address, endpoint_.port));
  resolve();
}

void Connection::resolve() {
  state_ = State::resolving;
  resolution_ = std::make_shared<Resolution>(worker_.io());
  resolution_->asker = this;
  resolution_->resolver.async_resolve(
      endpoint_.host, std::to_string(endpoint_.port),
      [resolution = resolution_](const boost::system::error_code& error, const auto& found) {
        Connection* const self = resolution->asker;
        if (self == nullptr) return;
        net::Reactor& reactor = self->worker_.reactor();
        reactor.begin_turn();
        self->resolution_.reset();
        self->guarded([&] { self->resolved(error, found); });
        reactor.end_turn();
      });
}

void Connection::resolved(const boost::system::error_code& error,
                          const boost::asio::ip::tcp::resolver::results_type& found) {
  if (error || found.empty()) return fail(SharedError::unavailable, "its name is not known");
  // A name with several addresses: an address that does not answer is not tried forever.
  const auto endpoint =
      std::next(found.begin(), static_cast<std::ptrdiff_t>(attempts_ % found.size()))->endpoint();
  const auto address = Address::parse(endpoint.address().to_string());
  if (!address) return fail(SharedError::unavailable, "its address makes no sense");
  open_socket(net::SocketAddress::tcp(*address, endpoint.port()));
}

void Connection::open_socket(const net::SocketAddress& address) {
  auto fd = net::start_connect(address);
  if (!fd) return fail(SharedError::unavailable, fd.error().message());
  fd_ = std::move(*fd);
  state_ = State::connecting;
  reader_.reset();
  const auto added =
      worker_.reactor().add(fd_.get(), EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, *this);
  if (!added) fail(SharedError::unavailable, "no room for another descriptor");
}

// Runs a step. Without memory the connection ends, as if the server had closed it.
template <class Step>
void Connection::guarded(Step step) {
  if (survives_no_memory(step)) return;
  fail(SharedError::unavailable, "no memory");  // short enough to need none
}

void Connection::on_events(std::uint32_t events) {
  guarded([&] { take_events(events); });
}

void Connection::take_events(std::uint32_t events) {
  if (!fd_) return;  // closed in this turn
  if (state_ == State::connecting) {
    if ((events & (EPOLLOUT | EPOLLERR | EPOLLHUP)) == 0) return;
    if (const int error = net::socket_error(fd_.get()); error != 0)
      return fail(SharedError::unavailable, std::strerror(error));
    connected();
  }
  if (state_ == State::handshaking) shake_hands();
  // A failure leaves State::waiting.
  if ((events & EPOLLOUT) != 0 && state_ >= State::greeting) flush();
  if (state_ >= State::greeting) read();
}

void Connection::connected() {
  ++connects_;
  if (settings_.tls == nullptr) return greet();
  const std::string& name = settings_.server_name.empty() ? endpoint_.host : settings_.server_name;
  tls_ = std::make_unique<net::TlsSession>(*settings_.tls, fd_.get(), name);
  state_ = State::handshaking;
}

void Connection::shake_hands() {
  switch (tls_->handshake()) {
    case net::TlsSession::Step::wait:
      return;
    case net::TlsSession::Step::failed:
      return fail(SharedError::denied, "TLS: " + tls_->why());
    case net::TlsSession::Step::done:
      greet();
  }
}

void Connection::greet() {
  state_ = State::greeting;
  greeted_ = 0;
  greeting_size_ = 1;
  has_auth_ = !credentials_.password.empty();
  has_select_ = settings_.database != 0;
  if (has_auth_) {
    ++greeting_size_;
    if (credentials_.user.empty()) {
      append_command(out_, {"AUTH", credentials_.password});
    } else {
      append_command(out_, {"AUTH", credentials_.user, credentials_.password});
    }
  }
  if (has_select_) {
    ++greeting_size_;
    append_command(out_, {"SELECT", std::to_string(settings_.database)});
  }
  append_command(out_, {greeting_ == Greeting::master ? "ROLE" : "PING"});
  pending_ = greeting_size_;
  flush();
}

net::IoResult Connection::receive(std::span<char> into) noexcept {
  return tls_ != nullptr ? tls_->receive(into) : net::receive(fd_.get(), into);
}

void Connection::read() {
  const std::span<char> into = worker_.scratch_in();
  const std::uint64_t epoch = epoch_;  // the receiver of a reply may close, and even reconnect
  for (;;) {
    const net::IoResult got = receive(into);
    if (got.would_block) return;
    if (got.bytes == 0) {
      return fail(SharedError::lost, got.ended ? "closed by the server" : std::strerror(got.error));
    }
    bool answered = false;
    if (!reader_.feed({into.data(), got.bytes}))
      return fail(SharedError::malformed, "its answer is not RESP, or over a limit");
    for (;;) {
      const RespReader::Step step = reader_.next();
      if (step == RespReader::Step::broken)
        return fail(SharedError::malformed, "its answer is not RESP");
      if (step == RespReader::Step::more) break;
      if (pending_ == 0)
        return fail(SharedError::malformed, "it sends an answer without a request");
      --pending_;
      answered = true;
      replied();
      if (epoch != epoch_) return;
    }
    if (pending_ == 0) {
      net::Wheel::disarm(*this);
    } else if (answered) {  // bytes alone are not an answer, however long they trickle
      worker_.wheel().arm(*this, worker_.now() + settings_.timeout);
    }
  }
}

SharedError Connection::judge_greeting(const Reply& reply) const {
  const bool last = greeted_ + 1 == greeting_size_;
  if (reply.is_error()) {
    const SharedError error = error_of(reply.text());
    // A PING or ROLE that is forbidden or renamed was answered all the same.
    const bool forbidden = reply.text().starts_with("NOPERM") || reply.text().starts_with("ERR");
    if (last && forbidden) return SharedError::none;
    return error;
  }
  if (last && greeting_ == Greeting::master && reply.size() > 1 && reply.text(reply[1]) != "master")
    return SharedError::read_only;
  return SharedError::none;
}

void Connection::replied() {
  const Reply& reply = reader_.reply();
  if (state_ == State::ready) {
    owner_.on_reply(reply);
    return;
  }
  const SharedError error = judge_greeting(reply);
  if (error != SharedError::none) {
    const bool replica = error == SharedError::read_only && !reply.is_error();
    return fail(error, replica ? "it is not a master" : std::string(reply.text()));
  }
  if (++greeted_ < greeting_size_) return;
  state_ = State::ready;
  net::Wheel::disarm(*this);
  owner_.on_ready();
}

void Connection::worked() noexcept {
  backoff_.reset();
  why_.clear();
}

void Connection::sent(unsigned commands) noexcept {
  if (pending_ == 0) worker_.wheel().arm(*this, worker_.now() + settings_.timeout);
  pending_ += commands;
}

void Connection::flush() {
  while (fd_ && out_begin_ < out_.size() && state_ >= State::greeting) {
    const std::string_view rest = std::string_view(out_).substr(out_begin_);
    const net::IoResult sent =
        tls_ != nullptr ? tls_->transmit(rest) : net::transmit(fd_.get(), rest);
    if (sent.would_block) break;
    if (sent.bytes == 0) return fail(SharedError::lost, std::strerror(sent.error));
    out_begin_ += sent.bytes;
  }
  if (out_begin_ == out_.size()) {
    out_.clear();
    out_begin_ = 0;
  } else if (out_.size() - out_begin_ > kOutMax) {
    fail(SharedError::full, "it takes no more");
  } else if (out_begin_ > kOutMax / 8) {
    out_.erase(0, out_begin_);
    out_begin_ = 0;
  }
}

void Connection::on_timer(TimePoint) {
  guarded([&] { take_timer(); });
}

void Connection::take_timer() {
  switch (state_) {
    case State::waiting:
      return connect();
    case State::off:
      return;
    case State::ready:
      if (pending_ == 0) return;
      return fail(SharedError::timed_out, "no answer in time");
    case State::resolving:
      return fail(SharedError::timed_out, "its name was not resolved in time");
    case State::connecting:
      return fail(SharedError::timed_out, "no connection in time");
    case State::handshaking:
      return fail(SharedError::timed_out, "no TLS handshake in time: perhaps it speaks no TLS");
    case State::greeting:
      return fail(SharedError::timed_out, "connected, but no answer in time");
  }
}

}  // namespace weir::store
