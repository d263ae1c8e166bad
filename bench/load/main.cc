#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <exception>
#include <optional>

#include "bench/load/backend.h"
#include "bench/load/generator.h"
#include "bench/load/options.h"
#include "bench/load/process_time.h"
#include "bench/load/report.h"

namespace weir::load {
namespace {

volatile std::sig_atomic_t interrupted = 0;

template <class Done>
void run_until(Reactor& reactor, Nanos end, Done done) {
  while (interrupted == 0 && now_nanos() < end && !done()) reactor.turn(end);
}

Nanos nanos(double seconds) { return static_cast<Nanos>(seconds * 1e9); }

Run measure(const Options& options) {
  Reactor reactor;
  std::optional<Backend> backend;
  if (options.backend) backend.emplace(reactor, *options.backend, options.app);
  Requests requests(options.request);
  std::optional<Generator> generator;
  if (options.target) {
    generator.emplace(reactor, *options.target, options.generator, requests);
    generator->start();
  }
  const auto done = [&] { return generator && generator->exhausted(); };
  if (generator && options.warmup > 0) {
    run_until(reactor, now_nanos() + nanos(options.warmup), done);
    generator->forget();
  }
  Run run;
  const Nanos begin = now_nanos();
  const std::int64_t proxy_before = options.proxy_pid != 0 ? process_nanos(options.proxy_pid) : -1;
  const std::int64_t load_before = process_nanos(::getpid());
  run_until(reactor, begin + nanos(options.seconds), done);
  run.seconds = static_cast<double>(now_nanos() - begin) / 1e9;
  const std::int64_t proxy_after = options.proxy_pid != 0 ? process_nanos(options.proxy_pid) : -1;
  if (proxy_before >= 0 && proxy_after >= 0) run.proxy_nanos = proxy_after - proxy_before;
  run.load_nanos = process_nanos(::getpid()) - load_before;
  if (generator) {
    run.span_answers = generator->counts().answered;
    generator->stop();
    interrupted =
        0;  // a first signal ends the sending; the last answers are still worth their grace
    run_until(reactor, now_nanos() + nanos(options.grace),
              [&] { return generator->outstanding() == 0; });
    generator->give_up();
    run.counts = generator->counts();
    run.latency = generator->latency();
  }
  if (backend) {
    run.backend_requests = backend->requests();
    run.backend_malformed = backend->malformed();
    run.backend_connections = backend->connections();
  }
  return run;
}

}  // namespace
}  // namespace weir::load

/// Exit codes: 0 every answer was right, 1 something was not, 2 usage.
int main(int argc, char** argv) {
  using namespace weir::load;
  try {
    const Options options = read_options(argc, argv);
    struct sigaction action {};
    action.sa_handler = [](int) { interrupted = 1; };
    ::sigaction(SIGINT, &action, nullptr);
    ::sigaction(SIGTERM, &action, nullptr);
    const Run run = measure(options);
    std::fputs((options.json ? to_json(run, options) : to_text(run, options)).c_str(), stdout);
    return run.counts.errors() == 0 && run.backend_malformed == 0 ? 0 : 1;
  } catch (const UsageError& error) {
    std::fprintf(stderr, "weir_load: %s\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "weir_load: %s\n", error.what());
    return 70;
  }
}
