#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/line_judge.h"
#include "app/doors/front_doors.h"
#include "app/serve/operator_store_calls.h"
#include "app/support/shared_store.h"
#include "authz/door_server.h"
#include "authz/limitador_http.h"
#include "authz/rate_limit_http.h"
#include "gate/gate.h"
#include "gate/gate_turn.h"
#include "gate/unsettled.h"
#include "net/worker_pool.h"
#include "policies/set/policy_set.h"
#include "policies/set/sharing.h"
#include "proxy/server.h"

namespace weir::app {

/// One worker's front doors and the parts that they use.
struct ServingWorker {
  ServingWorker(net::Worker& in, std::size_t index, std::size_t workers, gate::Shared& shared,
                const config::Server& settings, const proxy::Settings& proxy,
                const authz::DoorSettings& checks_wanted, std::size_t unsettled_most,
                FrontDoors& front_doors, telemetry::MetricCells& cells, telemetry::RuleStats& rules,
                authz::LimitadorCounters& limitador_counters, policies::Observer& observer,
                const SharedStoreSettings* store)
      : thread(in),
        metrics(cells),
        gate(shared, index,
             gate::GateLimits{settings.limits.held, settings.limits.waiting, settings.reserve_wait},
             cells, &observer),
        turn(in, gate),
        server(in, proxy, gate, cells),
        unsettled(gate, in.wheel(), index, settings.authz.settle, cells, unsettled_most),
        lines(gate, cells),
        rate_limit_http(gate, cells, rules),
        limitador(gate, cells, rules, limitador_counters) {
    lines.settle_by(unsettled, index, workers);
    if (!checks_wanted.doors.empty()) checks.emplace(in, checks_wanted, gate, unsettled, cells);
    doors = front_doors.on_worker({in, gate, unsettled, cells});
    if (store == nullptr) return;
    policies::Sharing sharing = store->sharing;
    sharing.origin = random_origin();
    redis.emplace(in, store->store, sharing.origin);
    gate.use_store(*redis, sharing, store->store.budget, &in.wheel());
    if (index == 0) gate.fire_patterns(in.wheel(), sharing.origin);
    gate.begin_exchange(in.wheel(), random_origin());
    sharing.origin = random_origin();
    counters.emplace(*redis, sharing, store->secret);
  }

  ~ServingWorker() {
    checks.reset();  // their events without an answer are released below
    doors.clear();
    unsettled.release_all(thread.now());
  }

  /// Puts these policies in force.
  void use(const std::shared_ptr<const policies::PolicySet>& set,
           const std::vector<std::string>& header_names) {
    gate.use(set);
    server.use(header_names, set->path_rules);
    if (checks) checks->use(set->path_rules);
    for (const auto& door : doors) door->use(*set);
  }
  void begin_drain(bool draining) {
    server.begin_drain(draining);
    if (checks) checks->begin_drain(draining);
    for (const auto& door : doors) door->begin_drain(draining);
  }
  /// Stops accepting; `stopped` is called when no door has a connection left, at the latest at
  /// `deadline`, when the rest is cut.
  void stop_by(TimePoint deadline, std::function<void()> stopped) {
    const auto left = std::make_shared<std::size_t>(1 + (checks ? 1 : 0) + doors.size());
    const auto one = [left, stopped = std::move(stopped)] {
      if (--*left == 0) stopped();
    };
    server.stop_accepting();
    server.finish_by(deadline, one);
    if (checks) {
      checks->stop_accepting();
      checks->finish_by(deadline, one);
    }
    for (const auto& door : doors) {
      door->stop_accepting();
      door->finish_by(deadline, one);
    }
  }

  net::Worker& thread;
  telemetry::MetricCells& metrics;
  gate::Gate gate;
  gate::GateTurn turn;  // first of the hooks; its header has their order
  std::optional<OperatorStoreCalls>
      counters;  // of operators, if there is a Redis: which ends before it
  // Destroyed after the server, whose sessions may have something to tell it, and before the gate.
  // Started when all doors are there.
  std::optional<store::RedisStore> redis;
  proxy::Server server;
  gate::Unsettled unsettled;
  std::optional<authz::DoorServer> checks;         // of proxies that ask over HTTP
  std::vector<std::unique_ptr<WorkerDoor>> doors;  // in the order of the FrontDoors
  api::LineJudge lines;                            // of the event API
  authz::RateLimitHttp rate_limit_http;            // of paths of other rate limit services
  authz::LimitadorHttp limitador;
  telemetry::RequestSink* sink = nullptr;  // null: neither access log nor traces
};

}  // namespace weir::app
