#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "admin/health.h"
#include "admin/operations.h"
#include "admin/server.h"
#include "api/server.h"
#include "app/change/config_watch.h"
#include "app/change/fleet.h"
#include "app/change/operator_changes.h"
#include "app/change/reload.h"
#include "app/change/table_changes.h"
#include "app/doors/front_doors.h"
#include "app/observe/access_log.h"
#include "app/observe/audit.h"
#include "app/observe/tracing.h"
#include "app/remote/included_texts.h"
#include "app/remote/list_feeds.h"
#include "app/serve/app_failures.h"
#include "app/serve/end_watch.h"
#include "app/serve/full_lists.h"
#include "app/serve/policy_swap.h"
#include "app/serve/rate_limit_paths.h"
#include "app/serve/recording.h"
#include "app/serve/redis_watch.h"
#include "app/serve/report.h"
#include "app/serve/service_manager.h"
#include "app/serve/state.h"
#include "app/serve/upstream_names.h"
#include "app/serve/worker_team.h"
#include "app/sharing/list_sharing.h"
#include "app/sharing/view_sharing.h"
#include "app/support/configuration.h"
#include "app/support/log.h"
#include "app/support/machine.h"
#include "app/support/shared_store.h"
#include "authz/door_context.h"
#include "gate/gate.h"
#include "net/task_group.h"
#include "proxy/server.h"

namespace weir::app {

/// The rooms of the running process and its state. Startup fills it from top to bottom; its end
/// destroys it from bottom to top, after the workers have stopped.
///
/// On the control thread, except for calls that its members allow to other threads.
struct Process {
  struct Options {
    Loader load;
    /// The included texts that `load` takes from URLs and Redis; null: there are none.
    std::shared_ptr<IncludedTexts> included;
    bool watch_files = true;
    /// `weir dev`: gets every verdict, instead of the log.
    std::function<void(const News&)> viewer;
    /// `weir dev`: called once a second on the control thread.
    std::function<void(const telemetry::Metrics&, const policies::StatsBank&)> every_second;
    /// Called once, when all doors are open.
    std::function<void(const config::Model&, const policies::PolicySet&)> started;
    /// `weir dev`: called at the signal that ends the process, with the sentence about the drain.
    std::function<void(const std::string&)> ending;
    Recording::Options record;
    bool colours = false;  ///< in the problems that a failed start prints
  };
  explicit Process(Options wanted);
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  /// The address of the api door: the one that is set, or the default.
  config::Endpoint api_address() const;
  /// Before the workers run, and on them after a reload.
  void use_access_log(const config::Server& server);

  Log log;
  EndWatch end_watch{log};  // watches the end of all members below; destroyed after them
  Options options;
  Clock clock;
  ServiceManager manager;
  Machine machine;
  std::uint64_t open_files = 0;  // the limit of open files; 0: unknown
  std::size_t operator_connections = 0, event_connections = 0;  // see ConnectionShares
  std::uint64_t buffers = 0;       // bytes of buffers, of all connections together
  TimePoint started{};             // the wall clock's time of the start
  TimePoint loaded{};              // ... of the configuration in force
  std::int64_t failed_before = 0;  // failed reloads before the configuration in force
  config::Server settings;         // those of the start, with what reloads may change
  std::shared_ptr<policies::PolicySet> set;
  Configuration initial_configuration;
  std::vector<config::Override> initial_overrides;  // the fleet's, until the start is over

  std::unique_ptr<telemetry::Metrics> metrics;
  std::unique_ptr<telemetry::Latency> latency;
  std::unique_ptr<AccessLog> access_log;  // outlives the workers, whose sinks it has
  std::unique_ptr<Tracing> tracing;       // null: nothing is traced; goes before the sinks
  std::unique_ptr<Audit> audit;
  std::unique_ptr<StateDirectory> directory;
  HashSecret secret;
  std::optional<SharedStoreSettings> redis;  // none: nothing is shared
  policies::Sharing operators;               // the origin of operators' questions to Redis
  std::unique_ptr<limiter::Bank> counters;
  std::unique_ptr<limiter::ListBank> lists;
  policies::ViewBank views;
  std::unique_ptr<limiter::PatternBank> patterns;
  std::unique_ptr<policies::StatsBank> stats;
  std::unique_ptr<limiter::SyncTable> synced;  // null: nothing is shared
  std::unique_ptr<gate::Shared> shared;
  std::unique_ptr<State> state;

  // The doors hold on to the io_context and the stores, and go before them.
  boost::asio::io_context control{1};
  boost::asio::signal_set signals;
  boost::asio::steady_timer tick_timer;
  net::TaskGroup tasks;
  std::unique_ptr<Report> report;
  std::unique_ptr<ListSharing> sharing;       // null: no redis; outlives the workers, which list
  std::unique_ptr<ViewSharing> shared_views;  // null: no redis
  std::unique_ptr<ListFeeds> feeds;
  std::unique_ptr<Recording> recording;  // null: nothing is recorded
  ConfigWatch config_watch{control, {}};
  std::unique_ptr<OperatorChanges> changes;  // null: weir is not running yet
  std::unique_ptr<Reload> reload;            // the same
  std::unique_ptr<TableChanges> tables;
  std::unique_ptr<Fleet> fleet;  // null: no redis; destroyed before its targets
  std::unique_ptr<net::ConnectionBudget> connections;
  proxy::Settings proxy_settings;
  authz::DoorSettings door_settings;
  FrontDoors front_doors;  // go after the workers
  authz::LimitadorCounters limitador_counters;
  std::unique_ptr<RedisWatch> redis_watch;  // null: nothing is shared; outlives what asks by it
  WorkerTeam workers;
  std::unique_ptr<PolicySwap> swap;
  std::unique_ptr<admin::HealthServer> health_server;
  std::unique_ptr<admin::AdminServer> admin_server;
  std::unique_ptr<RateLimitPaths> rate_limit_paths;  // of the api door
  std::size_t next_rate_limit_worker = 0;
  std::unique_ptr<api::ApiServer> api_server;  // null: not wanted, or its default port was taken

  std::unique_ptr<UpstreamNames> names;  // null: there is no app
  FullLists full_lists;
  AppFailures app_failures;
  struct Drain {
    bool by_api = false;
    TimePoint since{};       // of `by_api`: the start of `drain.delay`
    bool by_signal = false;  // weir ends
    bool is_on() const noexcept { return by_api || by_signal; }
  };
  Drain drain;
};

}  // namespace weir::app
