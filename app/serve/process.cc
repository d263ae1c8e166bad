#include "app/serve/process.h"

#include <unistd.h>

#include <cstdlib>

#include "app/serve/serving_worker.h"
#include "config/default_ports.h"

namespace weir::app {
namespace {

const config::Endpoint kApiDefault{"127.0.0.1", config::kApiPort, ""};

}  // namespace

Process::Process(Options wanted)
    : log(Level::info, true),
      options(std::move(wanted)),
      manager(service_settings([](const char* name) -> const char* { return std::getenv(name); },
                               ::getpid())),
      started(Clock::wall()),
      secret(HashSecret::random()),
      signals(control),
      tick_timer(control),
      tasks(control.get_executor(),
            [this](const std::exception_ptr&) {
              log.write(Level::error, LogLine("a task ended by an exception: a bug in weir"));
            }),
      workers(control) {}

// Before anything that the threads may use.
Process::~Process() { workers.stop(); }

config::Endpoint Process::api_address() const {
  return settings.api.listen ? settings.api.listen->value : kApiDefault;
}

void Process::use_access_log(const config::Server& server) {
  audit->use(server.log.readable_keys);
  if (!settings.access_log.is_on || !server.access_log.is_on) return;
  const auto wants = std::make_shared<const telemetry::AccessSettings>(server.access_log.wants);
  const auto use = [wants](ServingWorker& worker) { worker.sink->log(wants); };
  if (reload != nullptr) return workers.post_to_all(use);
  for (std::size_t i = 0; i < workers.size(); ++i) use(workers[i]);
}

}  // namespace weir::app
