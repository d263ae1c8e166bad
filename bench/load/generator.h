#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bench/load/endpoint.h"
#include "bench/load/histogram.h"
#include "bench/load/reactor.h"
#include "bench/load/requests.h"

namespace weir::load {

/// The results of the requests. Each error is counted by its kind; a request is counted once.
struct Counts {
  std::uint64_t sent = 0, answered = 0;
  std::array<std::uint64_t, 6> by_class{};  ///< [2] = answers 200..299; [0] unused
  std::uint64_t wrong_status = 0;           ///< answered, but not as expected
  std::uint64_t wrong_length = 0;           ///< a body of another length than expected
  std::uint64_t malformed = 0;              ///< not HTTP, or bytes after the answer
  std::uint64_t closed = 0;                 ///< the connection ended before its answer did
  std::uint64_t unanswered = 0;             ///< still open when patience ended
  std::uint64_t connect_failed = 0;
  std::uint64_t reconnects = 0;  ///< no error: connections that were closed between requests
  std::uint64_t errors() const {
    return wrong_status + wrong_length + malformed + closed + unanswered + connect_failed;
  }
};

/// C connections to one target, one request at a time on each.
/// Closed loop (rate 0): each answer sends the next request. Fixed rate: requests are due at equal
/// distances whatever the answers do; one that finds no free connection waits, and its latency runs
/// from the time it was due, so that a stalled server cannot hide its stall ("coordinated
/// omission").
class Generator {
 public:
  struct Options {
    std::size_t connections = 64;
    double rate = 0;                 ///< requests per second; 0 = closed loop
    std::uint64_t requests = 0;      ///< stop sending after so many; 0 = until stop()
    int expect_class = 2;            ///< 2 = 2xx; 0 = whatever comes
    int expect_code = 0;             ///< exactly this one; 0 = by class
    std::int64_t expect_bytes = -1;  ///< body length of expected answers; -1 = unchecked
  };
  Generator(Reactor& reactor, const Endpoint& target, const Options& options, Requests& requests);
  ~Generator();
  Generator(const Generator&) = delete;
  Generator& operator=(const Generator&) = delete;

  void start();
  void stop() noexcept { stopped_ = true; }  ///< sends no more; answers are still taken
  void forget();                    ///< counts and latencies start again (after the warm-up)
  bool exhausted() const noexcept;  ///< the last of options.requests was answered or lost
  std::size_t outstanding() const noexcept { return outstanding_; }
  void give_up() noexcept { counts_.unanswered += outstanding_; }
  const Counts& counts() const noexcept { return counts_; }
  const Histogram& latency() const noexcept { return latency_; }

 private:
  enum class State : std::uint8_t { connecting, idle, waiting, closed };
  struct Connection final : Reactor::Handler {
    explicit Connection(Generator& owner) : generator(owner) {}
    void on_ready(std::uint32_t events) override { generator.ready(*this, events); }
    void on_timer(std::uint64_t) override { generator.connect(*this); }
    Generator& generator;
    int fd = -1;
    State state = State::closed;
    Nanos due = 0;        // when the request was to be sent
    std::string in, out;  // incomplete head; unsent rest of a request
    std::uint64_t body_left = 0;
    int code = 0;  // of the answer whose body is being read; 0 = in the head
    bool closes = false;
  };
  struct Schedule final : Reactor::Handler {
    explicit Schedule(Generator& owner) : generator(owner) {}
    void on_ready(std::uint32_t) override {}
    void on_timer(std::uint64_t) override { generator.send_due(); }
    Generator& generator;
  };
  void connect(Connection& c);
  void ready(Connection& c, std::uint32_t events);
  void read(Connection& c);
  bool take(Connection& c, std::string_view bytes);
  void answered(Connection& c);
  void next(Connection& c);
  void send(Connection& c, Nanos due);
  void flush(Connection& c);
  void lose(Connection& c, std::uint64_t Counts::*why);
  void shut(Connection& c, Nanos pause);
  void send_due();
  bool may_send() const noexcept;

  Reactor& reactor_;
  const Endpoint& target_;
  Options options_;
  Requests& requests_;
  std::vector<std::unique_ptr<Connection>> connections_;
  std::deque<Connection*> idle_;  // fixed rate only; the one idle for longest first
  std::deque<Nanos> late_;        // fixed rate: due, but no connection was free
  Schedule schedule_{*this};
  Nanos next_due_ = 0;
  double due_exact_ = 0;
  bool stopped_ = false;
  std::size_t outstanding_ = 0;
  std::uint64_t started_ = 0;  // requests sent since start(), warm-up included
  Counts counts_;
  Histogram latency_;
};

}  // namespace weir::load
