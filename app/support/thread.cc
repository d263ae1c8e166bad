#include "app/support/thread.h"

#include <pthread.h>
#include <signal.h>

#include <utility>

namespace weir::app {

namespace {

/// Blocks all signals of this thread, and of threads that it starts, as long as it lives.
class BlockedSignals {
 public:
  BlockedSignals() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_BLOCK, &all, &former_);
  }
  ~BlockedSignals() { ::pthread_sigmask(SIG_SETMASK, &former_, nullptr); }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;

 private:
  sigset_t former_;
};

}  // namespace

std::thread start_thread(const char* name, std::function<void()> run) {
  const BlockedSignals blocked;  // also where there is no thread left to start
  std::thread thread(std::move(run));
  ::pthread_setname_np(thread.native_handle(), name);
  return thread;
}

}  // namespace weir::app
