#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bench/load/endpoint.h"
#include "bench/load/reactor.h"

namespace weir::load {

/// The app behind the measured proxy: answers every request with the same bytes, at once or after a
/// delay, and keeps connections alive. Lives on the generator's loop.
class Backend {
 public:
  struct Options {
    int status = 200;
    std::size_t body_bytes = 100;
    Nanos delay = 0;
  };
  Backend(Reactor& reactor, const Endpoint& endpoint, const Options& options);
  ~Backend();
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;

  std::uint64_t requests() const noexcept { return requests_; }  ///< since start
  std::uint64_t malformed() const noexcept { return malformed_; }
  std::uint64_t connections() const noexcept { return accepted_; }

 private:
  struct Connection final : Reactor::Handler {
    explicit Connection(Backend& owner) : backend(owner) {}
    void on_ready(std::uint32_t events) override;
    void on_timer(std::uint64_t token) override;
    void read();
    /// Takes whole requests off the front of `bytes`; gives how many bytes were used, or npos for
    /// rubbish.
    std::size_t consume(std::string_view bytes);
    void answer(std::size_t times);
    void flush();
    void close();

    Backend& backend;
    int fd = -1;
    std::uint64_t generation = 0;  // timers of a former life carry an older one
    std::uint64_t body_left = 0;
    std::string in, out;  // incomplete data; empty in the common case
    std::size_t out_sent = 0;
  };
  struct Acceptor final : Reactor::Handler {
    explicit Acceptor(Backend& owner) : backend(owner) {}
    void on_ready(std::uint32_t) override { backend.accept_all(); }
    Backend& backend;
  };
  void accept_all();

  Reactor& reactor_;
  Options options_;
  std::string answer_;
  int listener_;
  Acceptor acceptor_{*this};
  std::vector<std::unique_ptr<Connection>> connections_;
  std::vector<Connection*> free_;
  std::uint64_t requests_ = 0, malformed_ = 0, accepted_ = 0;
};

}  // namespace weir::load
