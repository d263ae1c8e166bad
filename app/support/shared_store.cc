#include "app/support/shared_store.h"

#include <algorithm>

#include "app/support/files.h"
#include "core/address.h"
#include "net/tls.h"

namespace weir::app {
namespace {

constexpr std::size_t kSecretBytesMax = 4096;
// The part of limits.keys for exchanged keys: each is stored twice, and costs Redis something.
constexpr std::uint64_t kSyncedPart = 8;
constexpr std::size_t kSyncedMin = 4096;
// Longer than any request that has not lost its settlement: then the places of a dead replica are
// free again.
constexpr milliseconds kBesideAnswer{60'000};

/// A secret of a file, without the line's end that editors leave.
bool read_secret(const config::Text& file, const char* what, std::string& out,
                 std::string& message) {
  auto text = read_file(file.value, kSecretBytesMax);
  if (!text) {
    message = std::string(what) + ": can't read " + file.value + ": " + text.error().message();
    return false;
  }
  while (text->ends_with('\n') || text->ends_with('\r')) text->pop_back();
  if (text->empty()) {
    message = std::string(what) + ": " + file.value + " is empty";
    return false;
  }
  out = std::move(*text);
  return true;
}

}  // namespace

bool read_shared_store(const config::Server& server, SharedStoreSettings& out,
                       std::string& message) {
  const config::Server::Redis& from = *server.redis;
  store::Settings& to = out.store;
  using Mode = store::Settings::Mode;
  bool tls = from.tls.has_value();
  if (from.url) {
    to.mode = Mode::single;
    to.endpoints = {from.parsed_url.endpoint};
    to.credentials = {from.parsed_url.user, from.parsed_url.password};
    to.database = from.parsed_url.database;
    tls = tls || from.parsed_url.tls;
  } else if (from.sentinel) {
    to.mode = Mode::sentinel;
    if (from.master) to.master = from.master->value;
    for (const auto& node : from.sentinels) to.endpoints.push_back(node.value);
  } else {
    to.mode = Mode::cluster;
    for (const auto& node : from.cluster) to.endpoints.push_back(node.value);
  }
  if (from.user) to.credentials.user = from.user->value;
  if (from.password) to.credentials.password = from.password->value;
  if (from.password_file &&
      !read_secret(*from.password_file, "redis.password_file", to.credentials.password, message)) {
    return false;
  }
  if (from.sentinel_user) to.sentinel_credentials.user = from.sentinel_user->value;
  if (from.sentinel_password_file &&
      !read_secret(*from.sentinel_password_file, "redis.sentinel.password_file",
                   to.sentinel_credentials.password, message)) {
    return false;
  }
  if (tls) {
    net::TlsFiles files;
    if (from.ca) files.ca = from.ca->value;
    if (from.cert) files.cert = from.cert->value;
    if (from.key) files.key = from.key->value;
    auto context = net::TlsContext::open(files, message);
    if (!context) {
      message = "redis.tls: " + message;
      return false;
    }
    to.tls = *context;
    if (from.server_name) to.server_name = from.server_name->value;
  }
  to.timeout = from.timeout;
  to.budget = from.budget;
  to.functions = from.functions;

  std::string secret;
  if (from.secret) secret = from.secret->value;
  if (from.secret_file && !read_secret(*from.secret_file, "redis.secret_file", secret, message)) {
    return false;
  }
  if (!secret.empty()) out.secret = HashSecret::from_text(secret);
  out.sharing.readable = from.readable_keys;
  out.sharing.reservation = server.proxy.answer + server.reserve_wait + kBesideAnswer;
  out.sharing.flight = 4 * kRenewPlaces;
  return true;
}

bool may_ask_names(const store::Settings& settings) {
  const auto is_name = [](const store::Endpoint& each) {
    return !each.is_unix() && !Address::parse(each.host);
  };
  return settings.mode != store::Settings::Mode::single ||
         std::any_of(settings.endpoints.begin(), settings.endpoints.end(), is_name);
}

void publish(const store::RedisStats& stats, telemetry::MetricCells& metrics) {
  using telemetry::Metric;
  const auto set = [&](Metric metric, std::uint64_t n) {
    metrics.set(metric, static_cast<std::int64_t>(n));
  };
  set(Metric::redis_up, stats.up && !stats.refuses ? 1 : 0);
  set(Metric::redis_nodes, stats.nodes);
  set(Metric::redis_nodes_open, stats.nodes_open);
  set(Metric::redis_in_flight, stats.in_flight);
  set(Metric::redis_operations, stats.operations);
  set(Metric::redis_calls, stats.calls);
  set(Metric::redis_bytes, stats.bytes_out);
  set(Metric::redis_resent, stats.resent);
  set(Metric::redis_connects, stats.connects);
  constexpr auto kBucket = static_cast<std::size_t>(Metric::redis_round_trip_first);
  static_assert(static_cast<std::size_t>(Metric::redis_round_trip_sum) - kBucket ==
                std::tuple_size_v<decltype(store::RoundTrips::calls)>);
  for (std::size_t i = 0; i < stats.round_trips.calls.size(); ++i) {
    set(static_cast<Metric>(kBucket + i), stats.round_trips.calls[i]);
  }
  set(Metric::redis_round_trip_sum, stats.round_trips.total_us);
  // The rows are in the order of SharedError, after `none`.
  constexpr auto kFirst = static_cast<std::size_t>(Metric::redis_error_unavailable);
  static_assert(static_cast<std::size_t>(Metric::redis_error_refused) - kFirst + 2 ==
                limiter::kSharedErrors);
  for (std::size_t i = 1; i < limiter::kSharedErrors; ++i) {
    set(static_cast<Metric>(kFirst + i - 1), stats.errors[i]);
  }
}

void publish(const limiter::SyncedBank::Stats& stats, telemetry::MetricCells& metrics) {
  using telemetry::Metric;
  metrics.set(Metric::sync_pending, static_cast<std::int64_t>(stats.queued));
  metrics.set(Metric::sync_exchanged, static_cast<std::int64_t>(stats.exchanged));
  metrics.set(Metric::sync_overshoot, static_cast<std::int64_t>(stats.overshoot));
}

void publish(const limiter::SyncTable::Stats& stats, telemetry::MetricCells& metrics) {
  using telemetry::Metric;
  metrics.set(Metric::sync_keys, static_cast<std::int64_t>(stats.keys));
  metrics.set(Metric::sync_forgotten, static_cast<std::int64_t>(stats.forgotten));
  metrics.set(Metric::sync_full, static_cast<std::int64_t>(stats.full));
}

std::size_t synced_keys(const config::Server::Limits& limits) {
  return std::max<std::size_t>(limits.keys / kSyncedPart, kSyncedMin);
}

std::uint64_t random_origin() {
  std::uint64_t out = 0;
  const HashSecret random = HashSecret::random();
  for (const std::uint8_t byte : random.bytes()) out = out << 8U | byte;
  return out;
}

}  // namespace weir::app
