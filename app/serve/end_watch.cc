#include "app/serve/end_watch.h"

#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <mutex>

#include "app/support/thread.h"
#include "core/no_memory.h"

namespace weir::app {
namespace {

constexpr milliseconds kLastLine{500};  // where the reader of the log may have stalled

}  // namespace

struct EndWatch::Watched {
  explicit Watched(Log& to) : log(to) {}

  Log& log;  // alive while a thread holds the mutex and `ended` is false
  std::mutex mutex;
  std::condition_variable changed;
  std::uint64_t step = 0;  // the number of the one that is watched
  bool ended = false;
};

EndWatch::EndWatch(Log& log) : watched_(std::make_shared<Watched>(log)) {}

EndWatch::~EndWatch() {
  const std::lock_guard lock(watched_->mutex);
  watched_->ended = true;
  watched_->changed.notify_all();
}

void EndWatch::begin(const char* step, milliseconds limit, int code) noexcept {
  std::uint64_t mine = 0;
  {
    const std::lock_guard lock(watched_->mutex);
    mine = ++watched_->step;
    watched_->changed.notify_all();
  }
  try {
    start_thread("weir/end", [watched = watched_, step, limit, code, mine] {
      std::unique_lock lock(watched->mutex);
      if (watched->changed.wait_for(lock, limit,
                                    [&] { return watched->ended || watched->step != mine; })) {
        return;
      }
      static_cast<void>(survives_no_memory([&] {
        watched->log.write(Level::warn,
                           LogLine("a step of the shutdown takes too long; weir ends without it")
                               .add("step", step)
                               .add("waited_ms", limit.count()));
        watched->log.flush(kLastLine);
      }));
      std::_Exit(code);
    }).detach();
  } catch (const std::exception&) {  // no thread can be had now
  }
}

}  // namespace weir::app
