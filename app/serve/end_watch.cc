#include "app/serve/end_watch.h"

#include <condition_variable>
#include <cstdlib>
#include <exception>
#include <mutex>

#include "app/support/thread.h"

namespace weir::app {

struct EndWatch::Watched {
  std::mutex mutex;
  std::condition_variable changed;
  bool ended = false;
};

EndWatch::EndWatch() : watched_(std::make_shared<Watched>()) {}

EndWatch::~EndWatch() {
  const std::lock_guard lock(watched_->mutex);
  watched_->ended = true;
  watched_->changed.notify_all();
}

void EndWatch::begin(milliseconds limit, int code) noexcept {
  try {
    start_thread("weir/end", [watched = watched_, limit, code] {
      std::unique_lock lock(watched->mutex);
      if (!watched->changed.wait_for(lock, limit, [&] { return watched->ended; })) std::_Exit(code);
    }).detach();
  } catch (const std::exception&) {  // no thread can be had now
  }
}

}  // namespace weir::app
