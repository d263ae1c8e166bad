#pragma once

#include <string>

#include "config/model.h"
#include "core/key.h"
#include "limiter/exchange/synced_bank.h"
#include "policies/set/sharing.h"
#include "store/redis/redis_store.h"
#include "telemetry/metrics.h"

namespace weir::app {

/// How often requests under way renew their places: the places in flight of a replica that died are
/// free again after four times as long.
inline constexpr milliseconds kRenewPlaces{15'000};

/// The settings under `redis:`, for their users. Files are read now.
struct SharedStoreSettings {
  store::Settings store;
  HashSecret secret = HashSecret::from_text("weir");  ///< keys every hash, the same on all replicas
  policies::Sharing sharing;  ///< without an origin: each worker has its own
};

/// False: `message` is the error, for people.
bool read_shared_store(const config::Server& server, SharedStoreSettings& out,
                       std::string& message);

/// Whether a name server may be asked: then the loop of the store may wait for it at its end
/// (app/remote/left_alone.h). Sentinels and nodes of a cluster may report names of others.
bool may_ask_names(const store::Settings& settings);

/// Into the metrics of its worker.
void publish(const store::RedisStats& stats, telemetry::MetricCells& metrics);

/// Publish the numbers of one worker; and, on the control thread, those of the table that all
/// workers share.
void publish(const limiter::SyncedBank::Stats& stats, telemetry::MetricCells& metrics);
void publish(const limiter::SyncTable::Stats& stats, telemetry::MetricCells& metrics);
/// How many keys' counts are exchanged at once.
std::size_t synced_keys(const config::Server::Limits& limits);

/// A number that no other worker of any replica has.
std::uint64_t random_origin();

}  // namespace weir::app
