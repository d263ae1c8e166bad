#pragma once

#include <optional>

#include "app/serve/counter_desk.h"
#include "app/serve/wiring.h"
#include "app/support/shared_store.h"
#include "policies/set/sharing.h"

namespace weir::app {

/// One worker's front door and what it asks.
struct Wiring::Worker {
  Worker(net::Worker& in, std::size_t index, gate::Shared& shared, const config::Server& settings,
         const proxy::Settings& proxy, telemetry::MetricCells& cells, policies::Observer& observer,
         const SharedStoreSettings* store)
      : thread(in),
        metrics(cells),
        gate(shared, index,
             gate::GateLimits{settings.limits.held, settings.limits.waiting, settings.reserve_wait},
             cells, &observer),
        server(in, proxy, gate, cells),
        lines(gate, cells) {
    if (store == nullptr) return;
    policies::Sharing sharing = store->sharing;
    sharing.origin = random_origin();
    redis.emplace(in, store->store, sharing.origin);
    gate.share(*redis, sharing, store->store.budget, &in.wheel());
    if (index == 0) gate.fire_patterns(in.wheel(), sharing.origin);
    gate.exchange(in.wheel(), random_origin());
    sharing.origin = random_origin();
    counters.emplace(*redis, sharing, store->secret);
  }

  net::Worker& thread;
  telemetry::MetricCells& metrics;
  gate::Gate gate;
  std::optional<CounterDesk> counters;  // of operators, if there is a Redis: which ends before it
  // Destroyed after the server, whose sessions may have something to tell it, and before the gate.
  // Started after the server's hook, whose sessions it gathers from.
  std::optional<store::RedisStore> redis;
  proxy::Server server;
  api::LineJudge lines;  // of the event API
};

/// What the configuration says, as the proxy wants it.
proxy::Settings proxy_settings(const config::Server& settings, const net::SocketAddress& upstream,
                               net::ConnectionBudget& connections);

}  // namespace weir::app
