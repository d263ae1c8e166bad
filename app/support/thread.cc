#include "app/support/thread.h"

#include <pthread.h>
#include <signal.h>

#include <utility>

namespace weir::app {

std::thread start_thread(const char* name, std::function<void()> run) {
  sigset_t all;
  sigset_t former;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_BLOCK, &all, &former);
  std::thread thread(std::move(run));
  ::pthread_sigmask(SIG_SETMASK, &former, nullptr);
  ::pthread_setname_np(thread.native_handle(), name);
  return thread;
}

}  // namespace weir::app
