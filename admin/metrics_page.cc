#include "admin/metrics_page.h"

#include <algorithm>

#include "admin/process_facts.h"
#include "telemetry/prometheus_text.h"

namespace weir::admin {
namespace {

using telemetry::Metric;

void set_bank_gauges(const Stores& stores) {
  const limiter::BankStats stats = stores.counters.stats();
  telemetry::MetricCells& cells = stores.metrics.control();
  const auto set = [&cells](Metric metric, std::uint64_t value) {
    cells.set(metric, static_cast<std::int64_t>(value));
  };
  set(Metric::table_keys, stats.keys);
  set(Metric::table_capacity, stats.capacity);
  set(Metric::memory_used, stats.memory_used);
  set(Metric::memory_limit, stats.memory_limit);
  set(Metric::evicted, stats.evicted);
  set(Metric::table_full, stats.full);
  if (stores.patterns == nullptr) return;
  const limiter::PatternStats patterns = stores.patterns->stats();
  set(Metric::patterns_matched, patterns.matched);
  set(Metric::patterns_timed_out, patterns.timeouts);
  set(Metric::patterns_unmatched, patterns.unmatched);
  set(Metric::patterns_dropped, patterns.dropped);
  set(Metric::patterns_open, patterns.open);
  set(Metric::patterns_memory, patterns.memory_used);
}

void set_shared_list_gauges(const SharedListFacts& facts, telemetry::MetricCells& cells) {
  const auto set = [&cells](Metric metric, std::uint64_t value) {
    cells.set(metric, static_cast<std::int64_t>(value));
  };
  set(Metric::list_share_up, facts.up ? 1 : 0);
  set(Metric::list_share_lag, static_cast<std::uint64_t>(facts.lag.count()));
  set(Metric::list_share_pending, facts.pending);
  set(Metric::list_share_entries, facts.entries);
  set(Metric::list_share_sent, facts.sent);
  set(Metric::list_share_learned, facts.learned);
  set(Metric::list_share_rounds, facts.rounds);
  set(Metric::list_share_failures, facts.failures);
  set(Metric::list_share_dropped, facts.dropped);
  set(Metric::list_share_refused, facts.refused);
}

using Label = std::pair<std::string_view, std::string_view>;
void write_info(std::string& out, std::string_view name, std::string_view help,
                std::initializer_list<Label> labels) {
  telemetry::append_family(out, name, "gauge", help);
  std::string all;
  for (const auto& [label, value] : labels)
    all += (all.empty() ? "" : ",") + telemetry::label(label, value);
  telemetry::append_sample(out, name, all, 1);
}

/// The number of samples that lists and views may still add to the page: a configuration may have
/// thousands of them. As with policies, samples of value 0 are left out first if there are many.
struct SeriesBudget {
  bool take(std::uint64_t value, std::size_t of) {
    if (value == 0 && of > kZerosUpTo) return false;
    if (left == 0) {
      ++dropped;
      return false;
    }
    --left;
    return true;
  }
  static constexpr std::size_t kZerosUpTo = 40;
  std::size_t left = 300;
  std::size_t dropped = 0;
};

struct Family {
  std::string_view name, kind, help;
};

/// A family with a series for each item, as far as the budget goes. `labels_of`: the item's labels.
template <class Items, class LabelsOf, class ValueOf>
void write_family(std::string& out, SeriesBudget& budget, const Items& items, const Family& family,
                  LabelsOf labels_of, ValueOf value_of) {
  telemetry::append_family(out, family.name, family.kind, family.help);
  for (const auto& item : items) {
    const std::uint64_t value = value_of(item);
    if (budget.take(value, items.size()))
      telemetry::append_sample(out, family.name, labels_of(item), value);
  }
}

/// Writes the counters that dashboards of envoyproxy/ratelimit query, under the names of that
/// service.
void write_rate_limits(std::string& out, const telemetry::Metrics& metrics) {
  metrics.rules().write(out);
  const auto counter = [&](std::string_view name, std::string_view help, std::string_view labels,
                           std::int64_t value) {
    telemetry::append_family(out, name, "counter", help);
    telemetry::append_sample(out, name, labels, value);
  };
  const std::int64_t errors = metrics.sum(Metric::rate_limit_errors);
  counter("ratelimit_service_total_requests", "Calls of the rate limit service over gRPC.",
          "grpc_method=\"ShouldRateLimit\"", metrics.sum(Metric::rate_limit_grpc));
  counter("ratelimit_service_should_rate_limit_error", "Calls that could not be judged.",
          "err_type=\"service_error\"", errors);
  // Unlike weir's own count of reloads, this one counts the load at the start, too.
  counter("ratelimit_service_config_load_success", "Configurations loaded.", "",
          1 + metrics.sum(Metric::reloads_ok));
  counter("ratelimit_service_config_load_error", "Configurations that could not be loaded.", "",
          metrics.sum(Metric::reloads_failed));
  counter("weir_rate_limit_series_left_out_total",
          "Calls counted in the series of their rule only, or in no series, because there were too "
          "many series.",
          "", static_cast<std::int64_t>(metrics.rules().left_out()));
}

// Only the lists of the set in use: their names come from the configuration, never from a client.
void write_lists(std::string& out, SeriesBudget& budget, const policies::PolicySet& set,
                 const Stores& stores) {
  const auto family = [&](const Family& one, auto value_of) {
    const auto labels_of = [](const policies::List& list) {
      return telemetry::label("list", list.name);
    };
    write_family(out, budget, set.lists, one, labels_of, value_of);
  };
  family({"weir_list_entries", "gauge", "Entries of a list, those of the configuration included."},
         [&](const policies::List& list) {
           return stores.lists.size(list.id) + list.fixed.size() +
                  (list.bulk != nullptr ? list.bulk->size() : 0);
         });
  family({"weir_list_refused_total", "counter", "New entries refused because the list was full."},
         [&](const policies::List& list) { return stores.lists.refused(list.id); });
}

// Writes the metrics of files and URLs that lists and includes come from: as many as the
// configuration names.
void write_sources(std::string& out, SeriesBudget& budget, const StatusFacts& status,
                   TimePoint now) {
  const auto family = [&](const Family& one, auto value_of) {
    const auto labels_of = [](const SourceFacts& source) {
      return telemetry::label("kind", source.kind) + "," + telemetry::label("name", source.name);
    };
    write_family(out, budget, status.sources, one, labels_of, value_of);
  };
  family({"weir_source_entries", "gauge", "Entries in use of a list's file or URL."},
         [](const SourceFacts& source) { return source.entries; });
  family({"weir_source_memory_bytes", "gauge", "Memory of the entries of a list's file or URL."},
         [](const SourceFacts& source) { return source.bytes; });
  family({"weir_source_age_seconds", "gauge",
          "Time since the text in use was loaded, or since the start if no text was loaded."},
         [&](const SourceFacts& source) {
           const auto age = now - (source.loaded == TimePoint{} ? status.started : source.loaded);
           return static_cast<std::uint64_t>(std::max<std::int64_t>(0, age.count() / 1000));
         });
  family({"weir_source_loads_total", "counter", "Texts that were loaded and took effect."},
         [](const SourceFacts& source) { return source.loads; });
  family({"weir_source_failures_total", "counter",
          "Texts that could not be fetched or were rejected; the previous text stays in use."},
         [](const SourceFacts& source) { return source.failures; });
}

void write_shared_views(std::string& out, SeriesBudget& budget, const policies::PolicySet& set) {
  std::vector<std::pair<std::string_view, limiter::ViewSharing>> views;
  for (const policies::View& view : set.views) {
    if (view.live == nullptr || !view.live->is_shared()) continue;
    views.emplace_back(view.name, view.live->sharing());
  }
  if (views.empty()) return;
  const auto family = [&](const Family& one, auto value_of) {
    write_family(
        out, budget, views, one,
        [](const auto& view) { return telemetry::label("view", view.first); },
        [&](const auto& view) { return value_of(view.second); });
  };
  using Sharing = limiter::ViewSharing;
  family(
      {"weir_view_shared_up", "gauge", "1 if the latest exchange with the other replicas worked."},
      [](const Sharing& sharing) { return std::uint64_t{sharing.up}; });
  family({"weir_view_shared_replicas", "gauge", "Replicas that share the view, this one included."},
         [](const Sharing& sharing) { return sharing.replicas; });
  family({"weir_view_shared_silent_replicas", "gauge",
          "Replicas that last exchanged counts of the view 5 to 60 seconds ago."},
         [](const Sharing& sharing) { return sharing.silent; });
  family({"weir_view_shared_pending_bytes", "gauge",
          "Approximate bytes of counts that wait for Redis."},
         [](const Sharing& sharing) { return sharing.pending; });
  family({"weir_view_shared_sent_bytes_total", "counter", "Bytes of counts that Redis has taken."},
         [](const Sharing& sharing) { return sharing.sent; });
  family({"weir_view_shared_received_bytes_total", "counter",
          "Bytes of other replicas' counts that came from Redis."},
         [](const Sharing& sharing) { return sharing.received; });
  family({"weir_view_shared_lost_total", "counter",
          "Counts of keys that other replicas do not see because memory was full."},
         [](const Sharing& sharing) { return sharing.lost; });
}

// The views of the set in use: their names come from the configuration, as those of lists.
void write_views(std::string& out, SeriesBudget& budget, const policies::PolicySet& set) {
  std::vector<std::pair<std::string_view, policies::LiveView::Stats>> views;
  for (const policies::View& view : set.views) {
    if (view.live != nullptr) {
      views.emplace_back(view.name, view.live->stats());
    }
  }
  const auto family = [&](const Family& one, auto value_of) {
    write_family(
        out, budget, views, one,
        [](const auto& view) { return telemetry::label("view", view.first); },
        [&](const auto& view) { return value_of(view.second); });
  };
  using Stats = policies::LiveView::Stats;
  family({"weir_view_keys", "gauge", "Keys that a view holds."},
         [](const Stats& stats) { return stats.counted.keys; });
  family(
      {"weir_view_memory_bytes", "gauge", "Approximate memory that a view takes of limits.views."},
      [](const Stats& stats) { return stats.counted.bytes; });
  family({"weir_view_events_total", "counter", "Events that a view has counted."},
         [](const Stats& stats) { return stats.counted.events; });
  family({"weir_view_dropped_total", "counter",
          "Events not counted for their key because memory was full (limits.views)."},
         [](const Stats& stats) { return stats.counted.dropped; });
  family({"weir_view_late_total", "counter", "Events that came after all their windows had ended."},
         [](const Stats& stats) { return stats.counted.late; });
  family({"weir_view_missing_total", "counter",
          "Events without a value for a key part, amount or member."},
         [](const Stats& stats) { return stats.missing; });
  write_shared_views(out, budget, set);
}

/// Writes the state of the replicas that share a Redis; all values are 0 without a shared Redis.
void write_fleet(std::string& out, const FleetFacts& fleet) {
  const auto write = [&out](std::string_view name, std::string_view kind, std::string_view help,
                            std::uint64_t value) {
    telemetry::append_family(out, name, kind, help);
    telemetry::append_sample(out, name, {}, value);
  };
  const auto count = [&fleet](auto is_meant) {
    const auto n = std::count_if(fleet.replicas.begin(), fleet.replicas.end(), is_meant);
    return static_cast<std::uint64_t>(n);
  };
  const milliseconds age = fleet.age.value_or(milliseconds{0});
  write("weir_fleet_up", "gauge",
        "1 if this replica gets the messages of the other replicas; 0 also without Redis.",
        fleet.up ? 1 : 0);
  write("weir_fleet_age_seconds", "gauge", "Age of what this replica knows of the other replicas.",
        static_cast<std::uint64_t>(age.count() / 1000));
  write("weir_fleet_replicas", "gauge",
        "Replicas that share this Redis and sent a message in the last minute, this one included.",
        fleet.replicas.size());
  write("weir_fleet_replicas_silent", "gauge",
        "Replicas of the fleet whose last message is 5 to 60 seconds old.",
        count([](const ReplicaFacts& each) { return !each.up; }));
  write("weir_fleet_replicas_behind", "gauge",
        "Replicas that send messages and do not run the latest configuration of the fleet.",
        count([](const ReplicaFacts& each) { return each.up && each.behind; }));
  write("weir_fleet_behind", "gauge",
        "1 if this replica does not run the latest configuration of the fleet.",
        count([](const ReplicaFacts& each) { return each.self && each.behind; }));
  write("weir_fleet_changes_pending", "gauge",
        "Overrides and tables set here that Redis does not have yet; they apply on this replica "
        "alone.",
        fleet.unsent);
  write(
      "weir_fleet_unsealed_total", "counter",
      "Texts in Redis that weir ignored, because they are not sealed with the secret of the fleet.",
      fleet.strangers);
}

}  // namespace

std::string metrics_page(const Operations& operations, const Stores& stores) {
  std::string out;
  set_bank_gauges(stores);
  const StatusFacts status = operations.status();
  set_shared_list_gauges(status.shared_lists.value_or(SharedListFacts{}), stores.metrics.control());
  stores.metrics.write(out);
  if (stores.latency != nullptr) stores.latency->write(out, stores.upstream);
  std::string more;
  SeriesBudget budget;
  if (const auto set = operations.policies()) {
    write_lists(more, budget, *set, stores);
    if (!set->ratelimit.files.empty()) write_rate_limits(more, stores.metrics);
    if (set->ratelimit.limitador) stores.metrics.rules().write_limitador(more);
    if (!status.sources.empty()) write_sources(more, budget, status, operations.instant().wall);
    if (!set->views.empty()) write_views(more, budget, *set);
  }
  stores.stats.write(out, budget.dropped);
  out += more;
  write_fleet(out, operations.fleet().value_or(FleetFacts{}));
  write_info(out, "weir_build_info", "The running version.",
             {{"version", status.version}, {"commit", status.commit}});
  write_info(out, "weir_config_info", "The configuration in use.", {{"hash", status.config_hash}});
  write_process_metrics(out);
  return out;
}

}  // namespace weir::admin
