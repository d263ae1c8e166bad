#pragma once

#include <array>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include "core/no_memory.h"
#include "net/bytes.h"
#include "net/reactor.h"

namespace weir::net {

/// The state of one thread: its io_context, reactor, time, memory. All parts of a connection live
/// and die on their worker; only post() may be called from other threads.
class Worker {
 public:
  static constexpr std::size_t kScratchBytes = 64 << 10;

  explicit Worker(unsigned index);

  unsigned index() const noexcept { return index_; }
  boost::asio::io_context& io() noexcept { return io_; }
  Reactor& reactor() noexcept { return reactor_; }
  Wheel& wheel() noexcept { return reactor_.wheel(); }
  BlockPool& blocks() noexcept { return blocks_; }
  TimePoint now() const noexcept { return reactor_.now(); }
  FineTime fine_now() const noexcept { return reactor_.fine_now(); }

  /// Scratch for reading: valid until the same event handler reads again. No other handler may read
  /// meanwhile.
  std::span<char> scratch_in() noexcept { return *scratch_in_; }
  /// The same, for a handler that may have been read ahead for.
  std::span<char> scratch_in(const EventHandler& reader) noexcept {
    return reactor_.room_for(reader, *scratch_in_);
  }
  /// For composing what is sent in the same step.
  std::span<char> scratch_out() noexcept { return *scratch_out_; }

  /// Runs `function` on the worker's thread, as a turn of its own. Without memory, `function` ends
  /// early: a caller that must know records the progress in `function`. Thread-safe. Throws
  /// std::bad_alloc.
  template <class F>
  void post(F function) {
    boost::asio::post(io_, [this, function = std::move(function)]() mutable {
      reactor_.begin_turn();
      survives_no_memory(function);
      reactor_.end_turn();
    });
  }

  /// Until stop(), and half a second longer at most; on the worker's thread.
  void run();
  void stop();  ///< thread-safe; posted work before it still runs

 private:
  using Scratch = std::array<char, kScratchBytes>;

  unsigned index_;
  boost::asio::io_context io_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  Reactor reactor_;
  BlockPool blocks_;
  std::unique_ptr<Scratch> scratch_in_;
  std::unique_ptr<Scratch> scratch_out_;
};

/// The workers and their threads.
class WorkerPool {
 public:
  explicit WorkerPool(unsigned count);
  ~WorkerPool();  ///< stops and joins

  std::size_t size() const noexcept { return workers_.size(); }
  Worker& operator[](std::size_t i) noexcept { return *workers_[i]; }

  void start();  ///< one thread each, named weir/0, weir/1 ...
  void stop();   ///< stops every worker and joins its thread; harmless twice

 private:
  std::vector<std::unique_ptr<Worker>> workers_;
  std::vector<std::thread> threads_;
};

}  // namespace weir::net
