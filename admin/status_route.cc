#include <algorithm>
#include <boost/json/array.hpp>

#include "admin/operator/override_view.h"
#include "admin/process_facts.h"
#include "admin/routes.h"
#include "admin/views.h"
#include "limiter/patterns/pattern_bank.h"
#include "policies/set/describe.h"

namespace weir::admin {

namespace json = boost::json;

namespace {

json::object shared_lists_view(const SharedListFacts& facts) {
  json::object out;
  out["up"] = facts.up;
  out["why"] = facts.why;
  out["lists"] = facts.lists;
  out["entries"] = facts.entries;
  out["pending"] = facts.pending;
  out["lag_seconds"] = static_cast<double>(facts.lag.count()) / 1000;
  return out;
}

json::object fleet_view(const FleetFacts& facts) {
  const auto count = [&](auto is) {
    return std::count_if(facts.replicas.begin(), facts.replicas.end(), is);
  };
  json::object out;
  out["up"] = facts.up;
  out["why"] = utf8_text(facts.why);
  out["age_seconds"] =
      facts.age ? json::value(static_cast<double>(facts.age->count()) / 1000) : json::value();
  out["replicas"] = count([](const ReplicaFacts& each) { return each.up; });
  out["behind"] = count([](const ReplicaFacts& each) { return each.up && each.behind; });
  out["untold"] = facts.unsent;
  return out;
}

json::array sources_view(const StatusFacts& status) {
  json::array out;
  for (const SourceFacts& source : status.sources) {
    json::object row;
    row["kind"] = source.kind;
    row["name"] = source.name;
    row["from"] = source.from;
    row["entries"] = source.entries;
    row["memory_bytes"] = source.bytes;
    if (source.loaded == TimePoint{}) {
      row["loaded"] = nullptr;
    } else {
      put_time(row, "loaded", source.loaded);
    }
    row["problem"] =
        source.problem.empty() ? json::value() : json::value(utf8_text(source.problem));
    row["loads"] = source.loads;
    row["failures"] = source.failures;
    out.push_back(std::move(row));
  }
  return out;
}

}  // namespace

net::HttpReply get_status(Call& call) {
  if (auto refused = call.refuse_unknown({})) return std::move(*refused);
  const StatusFacts status = call.operations.status();
  json::object config;
  config["hash"] = status.config_hash;
  put_time(config, "loaded", status.config_loaded);
  config["last_load"] = load_view(status.last_load);

  const limiter::BankStats bank = call.stores.counters.stats();
  json::object counters;
  counters["keys"] = bank.keys;
  counters["capacity"] = bank.capacity;
  counters["memory_used_bytes"] = bank.memory_used;
  counters["memory_limit_bytes"] = bank.memory_limit;
  counters["evicted"] = bank.evicted;
  counters["refused_for_want_of_room"] = bank.full;

  json::object patterns;
  const limiter::PatternStats begun =
      call.stores.patterns != nullptr ? call.stores.patterns->stats() : limiter::PatternStats{};
  patterns["open"] = begun.open;
  patterns["memory_used_bytes"] = begun.memory_used;
  patterns["memory_limit_bytes"] = begun.memory_limit;
  patterns["untold"] = call.stores.metrics.sum(telemetry::Metric::patterns_untold);

  json::object body;
  body["version"] = status.version;
  body["replica"] = nullptr;
  body["fleet"] = nullptr;
  if (const auto fleet = call.operations.fleet()) {
    body["replica"] = utf8_text(fleet->name);
    body["fleet"] = fleet_view(*fleet);
  }
  put_time(body, "started", status.started);
  body["uptime_seconds"] = static_cast<double>((call.at.now - status.started).count()) / 1000;
  body["draining"] = status.draining;
  body["workers"] = status.workers;
  body["resident_bytes"] = process_facts().resident_bytes;
  body["config"] = std::move(config);
  body["counters"] = std::move(counters);
  body["patterns"] = std::move(patterns);
  body["redis"] = nullptr;
  if (status.redis) {
    json::object redis;
    redis["up"] = status.redis->workers_up == status.workers;
    redis["workers_up"] = status.redis->workers_up;
    if (!status.redis->away.empty()) redis["away"] = status.redis->away;
    body["redis"] = std::move(redis);
  }
  body["policies"] = call.set->policy_count();
  body["lists"] = call.set->lists.size();
  body["overrides"] = overrides_view(call);
  body["shared_lists"] =
      status.shared_lists ? json::value(shared_lists_view(*status.shared_lists)) : json::value();
  body["sources"] = sources_view(status);
  return json_reply(body);
}

}  // namespace weir::admin
