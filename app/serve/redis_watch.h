#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "admin/operations.h"
#include "app/serve/redis_outage.h"
#include "app/support/log.h"
#include "app/support/shared_store.h"
#include "core/clock.h"
#include "limiter/exchange/sync_table.h"
#include "telemetry/metrics.h"

namespace weir::app {

class OperatorStoreCalls;
class WorkerTeam;

/// The workers' connections to Redis, seen from the control thread: whether Redis is there, their
/// figures, and the questions of operators that one of them passes on. Everything given must
/// outlive the threads of the workers.
class RedisWatch {
 public:
  RedisWatch(boost::asio::io_context& control, WorkerTeam& workers, limiter::SyncTable& synced,
             Log& log, telemetry::MetricCells& metrics);

  /// Connects the workers, and gives them some time for it: a request's budget is too short for a
  /// connection to be made, so that the first ones would be judged as if there were no Redis.
  /// Blocks for 300 ms at most; where there is no Redis, weir starts without it.
  void meet();
  /// Once a second: figures into the metrics, an outage into the log, places of requests that are
  /// open kept.
  void tick();
  void use_credentials(const store::Settings& with);

  admin::RedisFacts facts() const;

  boost::asio::awaitable<admin::StoreAnswer> ask(admin::StoreQuestion question);
  /// Empty, or why not.
  boost::asio::awaitable<std::string> run(std::shared_ptr<admin::StoreRequest> request);

 private:
  struct Call;
  using StoreCall =
      std::function<void(OperatorStoreCalls&, TimePoint, std::function<void(admin::StoreAnswer)>)>;

  std::shared_ptr<Call> call(StoreCall ask);
  /// None: the worker whose calls it is has not answered.
  boost::asio::awaitable<std::optional<admin::StoreAnswer>> call_store(StoreCall ask);
  void hear(std::size_t worker, std::string why);

  boost::asio::io_context& control_;
  WorkerTeam& workers_;
  limiter::SyncTable& synced_;
  Log& log_;
  telemetry::MetricCells& metrics_;  // of the control thread
  Clock clock_;
  RedisOutage outage_;
  TimePoint places_renewed_{};
};

}  // namespace weir::app
