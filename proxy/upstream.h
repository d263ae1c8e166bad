#pragma once

#include <cstdint>
#include <vector>

#include "net/bytes.h"
#include "net/fd.h"
#include "net/http/parts.h"
#include "net/outbox.h"
#include "net/reactor.h"
#include "net/read_events.h"
#include "net/socket.h"
#include "net/worker_pool.h"
#include "proxy/settings.h"
#include "telemetry/metrics.h"

namespace weir::proxy {

using net::kReadEvents;
using net::Parts;

class UpstreamPool;

/// The user of a connection to the app.
class UpstreamUser {
 public:
  virtual void on_upstream(std::uint32_t events) = 0;
  /// Whether the next event will make it read, as EventHandler::reads_ahead() demands.
  virtual bool will_read_upstream() const noexcept = 0;

 protected:
  ~UpstreamUser() = default;
};

/// One connection to the app: in use by one session, or idle in the pool. Registered with the
/// reactor during its whole life, so that a close by the app is seen at once, also while the
/// connection is idle.
class UpstreamConnection final : net::EventHandler, net::Timer, net::Sender {
 public:
  bool connecting() const noexcept { return connecting_; }
  bool reused() const noexcept { return reused_; }
  bool sent() const noexcept { return sent_; }  ///< a byte of the current request has left
  bool broken() const noexcept {
    return broken_;
  }  ///< a write failed; received bytes are still there
  bool ended() const noexcept { return ended_; }  ///< the app will send nothing more
  bool readable() const noexcept { return readable_; }
  bool writable() const noexcept { return !connecting_ && !broken_ && out_.empty(); }

  /// After EPOLLOUT or an error while connecting: 0, or the errno of the failure.
  int finish_connect() noexcept;
  void note(std::uint32_t events) noexcept;  ///< notes the events of epoll
  /// Sends at the end of the batch of events, or keeps the unsent rest (or everything, while
  /// connecting).
  void send(const Parts& parts);
  void flush();
  std::span<char> scratch_in() noexcept;  ///< buffer for the next receive, if no bytes are kept
  net::IoResult receive(std::span<char> into) noexcept;
  /// Ends our side once all that was sent has left; nothing may be sent after it.
  void shutdown_write() noexcept;
  /// The app's socket has taken everything, except data held until the end of the batch.
  bool all_sent() const noexcept { return broken_ || out_.empty(); }
  std::size_t held() const noexcept { return in.held() + out_.held(); }  ///< bytes of the pool
  void look_again() noexcept;  ///< an event in the next round, in which there may still be
                               ///< something to read

  net::Bytes in;  ///< an incomplete head of an answer

 private:
  friend class UpstreamPool;
  explicit UpstreamConnection(UpstreamPool& pool) noexcept : pool_(pool) {}
  void on_events(std::uint32_t events) override;
  int reads_ahead() const noexcept override;
  void on_timer(TimePoint now) override;
  void send_now(std::string_view bytes) override;
  void send_put_off();
  void write(const Parts& parts);
  void give_up_writing() noexcept;  ///< a write failed: the user learns it by an event
  void watch_writable(bool yes) noexcept;
  bool is_quiet() const noexcept;  ///< asks the socket: no bytes, no end, no error

  UpstreamPool& pool_;
  net::Fd fd_;
  UpstreamUser* user_ = nullptr;  // null: idle, or retired
  net::Bytes out_;
  UpstreamConnection* previous_ = nullptr;  // in the idle list
  UpstreamConnection* next_ = nullptr;      // in the idle, free or retired list
  std::uint64_t idle_turn_ = 0;             // the turn in which it became idle, or was taken again
  std::uint32_t generation_ = 0;            // of the addresses of which it has one
  std::uint32_t address_ = 0;               // its index among them
  std::uint32_t tried_ = 0;                 // addresses that did not connect
  std::uint8_t put_off_ = 0;                // writes in the outbox
  int refused_ = 0;                         // errno of a connect that failed at once
  bool connecting_ = false;
  bool waiting_for_backlog_ = false;
  bool reused_ = false;
  bool sent_ = false;
  bool broken_ = false;
  bool stale_ = false;
  bool ending_ = false;  // our side ends when out_ is empty
  bool readable_ = false;
  bool ended_ = false;
  bool watching_writable_ = false;
};

/// One worker's connections to the app; the most recently used idle connection is used first. Not
/// thread-safe.
class UpstreamPool {
 public:
  UpstreamPool(net::Worker& worker, const Settings& settings, telemetry::MetricCells& metrics)
      : worker_(worker), settings_(settings), metrics_(metrics) {
    if (settings.upstream.is_known()) addresses_.push_back(settings.upstream);
  }
  ~UpstreamPool();
  UpstreamPool(const UpstreamPool&) = delete;
  UpstreamPool& operator=(const UpstreamPool&) = delete;

  enum class Want : std::uint8_t {
    any,    ///< may be sent again on another connection
    alive,  ///< must not be sent twice: look whether an idle connection still lives
    fresh,  ///< never an idle one
  };
  /// Null: no connection can be opened now (refused at once, no descriptors).
  UpstreamConnection* take(UpstreamUser& user, Want want);
  /// It could not be connected: begins again with the app's next address, and keeps the unsent
  /// bytes. False: all addresses have been tried.
  bool try_next(UpstreamConnection& connection) noexcept;
  /// Sets the addresses of the app; none: unknown. Closes idle connections to other addresses.
  void use(std::vector<net::SocketAddress> addresses);
  /// The answer is complete and the app keeps the connection.
  void give_back(UpstreamConnection& connection) noexcept;
  void discard(UpstreamConnection& connection) noexcept;
  void reclaim() noexcept;  ///< at the end of a turn: retired objects may be used again
  void close_idle() noexcept;

 private:
  friend class UpstreamConnection;
  UpstreamConnection* open(UpstreamUser& user);
  bool start(UpstreamConnection& connection) noexcept;
  bool reach(UpstreamConnection& connection) noexcept;
  bool still_alive(const UpstreamConnection& connection) const noexcept;
  void unlink_idle(UpstreamConnection& connection) noexcept;

  net::Worker& worker_;
  const Settings& settings_;
  telemetry::MetricCells& metrics_;
  std::vector<net::SocketAddress> addresses_;
  std::uint32_t generation_ = 0;  // of addresses_
  std::uint32_t first_ = 0;       // of addresses_: which connected last
  UpstreamConnection* idle_ = nullptr;
  UpstreamConnection* free_ = nullptr;
  UpstreamConnection* retired_ = nullptr;
  std::size_t idle_count_ = 0;
};

}  // namespace weir::proxy
