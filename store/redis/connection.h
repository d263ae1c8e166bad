#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "limiter/exchange/shared_op.h"
#include "net/tls.h"
#include "net/worker_pool.h"
#include "store/redis/breaker.h"
#include "store/redis/settings.h"
#include "store/resp/resp_reader.h"

namespace weir::store {

/// One pipelined connection to one Redis server, which maintains itself: it connects, authenticates
/// (AUTH, SELECT, then PING or ROLE), and after any failure tries again with back-off and jitter.
///
/// Commands are appended to out() and go to the socket with flush(), once a turn. Answers come in
/// the order of the commands. A server that sends no whole answer within `timeout` is given up.
/// Lives on its worker's thread; the owner must outlive it, and it must outlive the worker's turn.
class Connection final : net::EventHandler, net::Timer {
 public:
  class Owner {
   public:
    virtual void on_ready() = 0;
    virtual void on_reply(const Reply& reply) = 0;
    /// All commands without an answer are lost: they may have been executed.
    virtual void on_down(limiter::SharedError why) = 0;

   protected:
    ~Owner() = default;
  };
  enum class Greeting : std::uint8_t {
    ping,
    master
  };  ///< master: refuses to be ready on a replica

  Connection(net::Worker& worker, const Settings& settings, const Credentials& credentials,
             Greeting greeting, Owner& owner, std::uint64_t seed);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// Sets the address to connect to. A connection to another address is closed (on_down) and made
  /// again.
  void set_endpoint(const Endpoint& endpoint);
  /// Where the next attempt goes, when the back-off is over. Only from on_down().
  void try_next(const Endpoint& endpoint) { endpoint_ = endpoint; }
  const Endpoint& endpoint() const noexcept { return endpoint_; }
  void start();
  void stop();                          ///< closes; no on_down()
  void drop(limiter::SharedError why);  ///< closes (on_down), and connects again after the back-off

  bool ready() const noexcept { return state_ == State::ready; }
  bool is_off() const noexcept { return state_ == State::off; }
  std::string& out() noexcept { return out_; }  ///< only while ready
  void sent(unsigned commands) noexcept;        ///< this many were appended
  unsigned pending() const noexcept { return pending_; }
  void flush();
  std::uint64_t connects() const noexcept { return connects_; }
  /// The connection has been useful, so its next failure counts as a new one. (A server may greet
  /// well and then answer nothing.)
  void worked() noexcept;
  /// The reason of the last failure, for people; empty after a success.
  const std::string& why() const noexcept { return why_; }

  static constexpr std::size_t kOutMax = std::size_t{8}
                                         << 20;  ///< bytes not yet taken by the socket

 private:
  enum class State : std::uint8_t {
    off,
    waiting,
    resolving,
    connecting,
    handshaking,
    greeting,
    ready
  };
  struct Resolution;

  void on_events(std::uint32_t events) override;
  void on_timer(TimePoint now) override;
  template <class Step>
  void guarded(Step step);
  void take_events(std::uint32_t events);
  void take_timer();
  void connect();
  void resolve();
  void resolved(const boost::system::error_code& error,
                const boost::asio::ip::tcp::resolver::results_type& found);
  void open_socket(const net::SocketAddress& address);
  void connected();
  void shake_hands();
  void greet();
  void read();
  void replied();
  limiter::SharedError judge_greeting(const Reply& reply) const;
  void fail(limiter::SharedError why, std::string text);
  void close() noexcept;
  net::IoResult receive(std::span<char> into) noexcept;

  net::Worker& worker_;
  const Settings& settings_;
  const Credentials& credentials_;
  Greeting greeting_;
  Owner& owner_;
  Backoff backoff_;
  Endpoint endpoint_;
  State state_ = State::off;
  net::Fd fd_;
  std::unique_ptr<net::TlsSession> tls_;
  RespReader reader_;
  std::string out_;
  std::size_t out_begin_ = 0;
  unsigned pending_ = 0;
  unsigned greeted_ = 0, greeting_size_ = 0;
  bool has_select_ = false, has_auth_ = false;
  std::shared_ptr<Resolution> resolution_;
  std::uint64_t connects_ = 0;
  std::size_t attempts_ = 0;  // that failed
  std::uint64_t epoch_ = 0;   // of the descriptor
  std::string why_;
};

}  // namespace weir::store
