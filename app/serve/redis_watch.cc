#include "app/serve/redis_watch.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <future>
#include <utility>
#include <vector>

#include "app/serve/operator_store_calls.h"
#include "app/serve/serving_worker.h"
#include "app/serve/worker_team.h"
#include "net/deadline.h"

namespace weir::app {
namespace {

namespace asio = boost::asio;

// Longer than a connection takes with TLS and a login to another zone, shorter than a start may
// seem stuck.
constexpr milliseconds kMeetRedis{300};
constexpr const char* kBusyWorker = "its worker is busy";

}  // namespace

RedisWatch::RedisWatch(asio::io_context& control, WorkerTeam& workers, limiter::SyncTable& synced,
                       Log& log, telemetry::MetricCells& metrics)
    : control_(control), workers_(workers), synced_(synced), log_(log), metrics_(metrics) {}

void RedisWatch::meet() {
  std::vector<std::future<void>> met;
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    // The answer may come when the caller no longer waits.
    const auto up = std::make_shared<std::promise<void>>();
    met.push_back(up->get_future());
    workers_[i].thread.post([up, redis = &*workers_[i].redis] {
      redis->start();
      redis->when_up([up] { up->set_value(); });
    });
  }
  const TimePoint end = clock_.now() + kMeetRedis;
  for (const std::future<void>& up : met) {
    up.wait_for(std::max(milliseconds{0}, end - clock_.now()));
  }
}

void RedisWatch::tick() {
  publish(synced_.stats(), metrics_);
  const bool renew = places_renewed_ + kRenewPlaces <= clock_.now();
  if (renew) places_renewed_ = clock_.now();
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    workers_[i].thread.post([this, i, renew, &worker = workers_[i]] {
      if (renew) worker.gate.renew_places(worker.thread.now());
      publish(worker.redis->stats(), worker.metrics);
      publish(worker.gate.exchange_stats(), worker.metrics);
      asio::post(control_, [this, i, why = worker.redis->why()] { hear(i, why); });
    });
  }
}

void RedisWatch::use_credentials(const store::Settings& with) {
  workers_.post_to_all([credentials = with.credentials,
                        sentinels = with.sentinel_credentials](ServingWorker& worker) {
    worker.redis->set_credentials(credentials, sentinels);
  });
}

void RedisWatch::hear(std::size_t worker, std::string why) {
  const RedisOutage::Line line = outage_.hear(worker, why, clock_.now());
  if (line == RedisOutage::Line::back) {
    log_.write(Level::info, LogLine("Redis is available again"));
  } else if (line != RedisOutage::Line::none) {
    const char* const what = line == RedisOutage::Line::away
                                 ? "Redis is unavailable; policies follow their on_error"
                                 : "Redis is still unavailable";
    log_.write(Level::warn, LogLine(what).add("why", why));
  }
}

admin::RedisFacts RedisWatch::facts() const {
  admin::RedisFacts out;
  out.workers_up = outage_.workers_up();
  out.away = outage_.why();
  return out;
}

/// An answer still to come, from a worker.
struct RedisWatch::Call {
  Call(asio::io_context& io, milliseconds limit) : timer(io, limit) {}

  std::optional<admin::StoreAnswer> answer;
  asio::steady_timer timer;
};

// Not a coroutine: g++ 12 destroys a closure twice that is made within a co_await expression.
std::shared_ptr<RedisWatch::Call> RedisWatch::call(StoreCall ask) {
  const auto out = std::make_shared<Call>(control_, 2 * OperatorStoreCalls::kWithin);
  ServingWorker& worker = workers_[outage_.worker_up()];
  worker.thread.post([this, &worker, out, ask = std::move(ask)] {
    ask(*worker.counters, worker.thread.now(), [this, out](admin::StoreAnswer answer) {
      asio::post(control_, [out, answer = std::move(answer)]() mutable {
        out->answer = std::move(answer);
        out->timer.cancel();
      });
    });
  });
  return out;
}

asio::awaitable<std::optional<admin::StoreAnswer>> RedisWatch::call_store(StoreCall ask) {
  const auto waiting = call(std::move(ask));
  if (!waiting->answer) co_await waiting->timer.async_wait(net::kToken);
  if (!waiting->answer) co_return std::nullopt;
  const std::string away = outage_.why();
  if (!waiting->answer->why.empty() && !away.empty()) waiting->answer->why += " (" + away + ")";
  co_return std::move(*waiting->answer);
}

asio::awaitable<admin::StoreAnswer> RedisWatch::ask(admin::StoreQuestion question) {
  StoreCall ask = [question = std::move(question)](OperatorStoreCalls& calls, TimePoint now,
                                                   auto tell) {
    calls.ask(question, now, std::move(tell));
  };
  auto answer = co_await call_store(std::move(ask));
  if (!answer) co_return admin::StoreAnswer{kBusyWorker, {}};
  co_return std::move(*answer);
}

asio::awaitable<std::string> RedisWatch::run(std::shared_ptr<admin::StoreRequest> request) {
  StoreCall ask = [request](OperatorStoreCalls& calls, TimePoint now, auto tell) {
    calls.run(request, now, std::move(tell));
  };
  const auto answer = co_await call_store(std::move(ask));
  request->replied = answer.has_value();
  co_return answer ? answer->why : kBusyWorker;
}

}  // namespace weir::app
