#pragma once

#include <chrono>
#include <future>
#include <memory>
#include <thread>

#include "core/ticks.h"
#include "net/worker_pool.h"

namespace weir::app {

/// How long the end of a process waits for Redis to take what is pending.
constexpr milliseconds kFlushTime{500};

/// Ends the thread of a sharer after its pending changes are sent, or after kFlushTime. `Sharer`:
/// has flush() and stop(), and lives on `worker`, which `thread` runs.
template <typename Sharer>
void flush_and_stop(Sharer& sharer, net::Worker& worker, std::thread& thread) {
  // Shared: the sharer may call after the wait has ended.
  const auto done = std::make_shared<std::promise<void>>();
  std::future<void> flushed = done->get_future();
  worker.post([&sharer, done] { sharer.flush([done] { done->set_value(); }); });
  flushed.wait_for(std::chrono::milliseconds{kFlushTime.count()});
  worker.post([&sharer] { sharer.stop(); });
  worker.stop();
  thread.join();
}

}  // namespace weir::app
