#pragma once

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "net/worker_pool.h"
#include "store/redis/redis_store.h"

namespace weir::bench {

inline constexpr const char* kPort = "17379";  // of the loopback
/// A redis-server of the program's own, which dies with it.
struct Server {
  Server() {
    char name[] = "/tmp/weir-bench-XXXXXX";
    if (::mkdtemp(name) == nullptr) std::exit(4);
    directory = name;
    child = ::fork();
    if (child == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      ::execlp("redis-server", "redis-server", "--port", kPort, "--bind", "127.0.0.1", "--save", "",
               "--appendonly", "no", "--dir", directory.c_str(), "--logfile", "/dev/null",
               static_cast<char*>(nullptr));
      ::_exit(127);
    }
  }
  ~Server() {
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    std::filesystem::remove_all(directory);
  }
  /// Seconds of CPU that it has used.
  double cpu() const {
    FILE* const file = std::fopen(("/proc/" + std::to_string(child) + "/stat").c_str(), "r");
    unsigned long user = 0, system = 0;
    if (file == nullptr) return 0;
    const int got = std::fscanf(
        file, "%*d (%*[^)]) %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &system);
    std::fclose(file);
    return got == 2
               ? static_cast<double>(user + system) / static_cast<double>(::sysconf(_SC_CLK_TCK))
               : 0;
  }
  std::string directory;
  pid_t child = -1;
};

/// One worker's store, connected to it. Ends the program if something is wrong with it.
struct Connected {
  Connected() : worker(0), store(worker, settings(), 1) {
    worker.reactor().start();
    turn([this] { store.start(); });
    until([this] { return store.stats().up; });
  }
  ~Connected() {
    store.stop();
    worker.reactor().stop();
  }
  static store::Settings settings() {
    store::Settings out;
    store::Endpoint endpoint;
    endpoint.host = "127.0.0.1";
    endpoint.port = 17'379;
    out.endpoints = {endpoint};
    out.timeout = milliseconds(5'000);
    return out;
  }
  template <class F>
  void turn(F&& f) {
    worker.reactor().begin_turn();
    f();
    worker.reactor().end_turn();
  }
  template <class Done>
  void until(Done&& done) {
    while (!done()) {
      worker.io().restart();
      worker.io().run_one();
    }
  }

  net::Worker worker;
  store::RedisStore store;
};

}  // namespace weir::bench
