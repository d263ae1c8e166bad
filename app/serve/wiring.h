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
#include "app/change/fleet.h"
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

/// The running process: builds every room bottom-up, runs until it is told to end, drains in
/// reverse.
///
/// The calling thread is the control thread: signals, admin and health doors, reloads, reports,
/// timers of one second. docs/architecture.md ("Threads and memory") lists all threads.
class Wiring final : admin::Operations, app::Swap {
 public:
  struct Options {
    Loader load;
    /// Where that takes texts from which are included from elsewhere; null: there are none.
    std::shared_ptr<IncludedTexts> included;
    bool watch_files = true;
    /// `weir dev`: told of every verdict, instead of the log.
    std::function<void(const News&)> viewer;
    /// `weir dev`: called once a second on the control thread.
    std::function<void(const telemetry::Metrics&, const policies::StatsBank&)> every_second;
    /// Called once, when all doors are open.
    std::function<void(const config::Model&, const policies::PolicySet&)> started;
    /// `weir dev`: called at the signal that ends it, with what the log says of the drain.
    std::function<void(const std::string&)> ending;
    Recording::Options record;
    bool colours = false;  ///< of what is printed when it can't start
  };
  explicit Wiring(Options options);
  ~Wiring() override;

  /// Blocks until the end; the process's exit code. Why it can't start is said on stderr.
  int run();

 private:
  static constexpr const char* kByApi = "the admin API";

  // Start, in this order; each says what is wrong and gives an exit code, 0 = go on.
  int load();
  int fit_into_machine();
  int open_state();
  int read_redis();
  int build_stores();
  int find_upstreams();
  int build_workers();
  int open_logs();
  int open_doors();
  int open_api();
  void make_rate_limit_paths();
  int open_api_doors(const net::SocketAddress& address, const config::Endpoint& at);
  int open_front_doors();
  int door_failed(const char* door, const config::Endpoint& at,
                  const std::optional<config::Text>& token_file,
                  const boost::system::error_code& error) const;
  void begin_service();
  void serve_changes();
  void serve_fleet();
  void follow_included_texts();
  void say_ready();

  // Operations
  admin::StatusFacts status() const override;
  policies::Instant instant() const override;
  std::shared_ptr<const policies::PolicySet> policies() const override { return set_; }
  boost::asio::awaitable<admin::LoadReport> reload() override;
  std::vector<config::Override> overrides() const override;
  boost::asio::awaitable<admin::LoadReport> override_policy(config::Override change) override;
  boost::asio::awaitable<admin::LoadReport> end_overrides(std::string policy, bool here) override;
  std::optional<admin::FleetFacts> fleet() const override;
  std::vector<admin::TableFacts> tables() const override;
  boost::asio::awaitable<admin::TableAnswer> change_table(admin::TableRequest asked) override;
  std::vector<admin::ConfigText> configuration() const override;
  std::vector<admin::LoadRecord> loads() const override;
  admin::VerdictPage verdicts(std::optional<std::uint64_t> after, std::size_t most) override;
  boost::asio::awaitable<admin::StoreAnswer> ask_store(admin::StoreQuestion question) override;
  boost::asio::awaitable<std::string> run_store_request(
      std::shared_ptr<admin::StoreRequest>) override;
  bool drain(bool begin) override;
  void audit(admin::AuditEntry entry) override;
  admin::AuditPage audit_entries(std::size_t most) const override { return audit_->last(most); }
  // Swap
  boost::asio::awaitable<std::string> put_in_use(Configuration next) override;
  void reload_begins() override { manager_.reloading(); }
  void reload_ended() override;

  void take_upstreams();
  void rotate_credentials(const config::Server& server);
  void wait_for_signal();
  void use_access_log(const config::Server& server);
  void tick();
  boost::asio::awaitable<void> feed_watchdog(milliseconds limit);
  milliseconds delay_left() const;
  boost::asio::awaitable<void> shut_down();
  boost::asio::awaitable<void> exchange_last_counts();
  void end();

  Log log_;
  EndWatch end_watch_{log_};  // over all that follows: destroyed after it
  Options options_;
  Clock clock_;
  ServiceManager manager_;
  Machine machine_;
  std::uint64_t open_files_ = 0;  // that the process may have; 0: unknown
  std::size_t operator_connections_ = 0, event_connections_ = 0;  // see ConnectionShares
  std::uint64_t buffers_ = 0;                                     // bytes, of all connections
  TimePoint started_{};
  TimePoint loaded_{};
  std::int64_t failed_before_ = 0;  // reloads, when what is in force came into force
  config::Server settings_;         // as at the start, but for what reloads may change
  std::shared_ptr<policies::PolicySet> set_;
  Configuration initial_configuration_;
  std::vector<config::Override> initial_overrides_;  // of the fleet, until the start is over

  std::unique_ptr<telemetry::Metrics> metrics_;
  std::unique_ptr<telemetry::Latency> latency_;
  std::unique_ptr<AccessLog> access_log_;  // outlives the workers, whose sinks it has
  std::unique_ptr<Tracing> tracing_;       // null: nothing is traced; goes before the sinks
  std::unique_ptr<Audit> audit_;
  std::unique_ptr<StateDirectory> directory_;
  HashSecret secret_;
  std::optional<SharedStoreSettings> redis_;  // none: nothing is shared
  policies::Sharing operators_;               // what operators ask it, by an origin of its own
  std::unique_ptr<limiter::Bank> counters_;
  std::unique_ptr<limiter::ListBank> lists_;
  policies::ViewBank views_;
  std::unique_ptr<limiter::PatternBank> patterns_;
  std::unique_ptr<policies::StatsBank> stats_;
  std::unique_ptr<limiter::SyncTable> synced_;  // null: nothing is shared
  std::unique_ptr<gate::Shared> shared_;
  std::unique_ptr<State> state_;

  // The doors hold on to the io_context and the stores, and go before them.
  boost::asio::io_context control_{1};
  boost::asio::signal_set signals_;
  boost::asio::steady_timer tick_timer_;
  net::TaskGroup tasks_;
  std::unique_ptr<Report> report_;
  std::unique_ptr<ListSharing> sharing_;       // null: no redis; goes after the workers, who list
  std::unique_ptr<ViewSharing> shared_views_;  // null: no redis
  std::unique_ptr<ListFeeds> feeds_;
  std::unique_ptr<Recording> recording_;  // null: nothing is recorded
  std::unique_ptr<Reload> reload_;
  std::unique_ptr<TableChanges> tables_;
  std::unique_ptr<Fleet> fleet_;  // null: no redis; goes before what it steers
  std::unique_ptr<net::ConnectionBudget> connections_;
  proxy::Settings proxy_settings_;
  authz::DoorSettings door_settings_;
  FrontDoors front_doors_;  // go after the workers
  authz::LimitadorCounters limitador_counters_;
  std::unique_ptr<RedisWatch> redis_watch_;  // null: nothing is shared; outlives what asks by it
  WorkerTeam workers_;
  std::unique_ptr<PolicySwap> swap_;
  std::unique_ptr<admin::HealthServer> health_;
  std::unique_ptr<admin::AdminServer> admin_;
  std::unique_ptr<RateLimitPaths> rate_limit_paths_;  // of the api door
  std::size_t next_rate_limit_worker_ = 0;
  std::unique_ptr<api::ApiServer> api_;  // null: not wanted, or its default port was taken

  std::unique_ptr<UpstreamNames> names_;  // null: there is no app
  FullLists full_lists_;
  AppFailures app_failures_;
  struct Drain {
    bool by_api = false;
    TimePoint since{};       // of `by_api`: what `drain.delay` counts from
    bool by_signal = false;  // weir ends
    bool is_on() const noexcept { return by_api || by_signal; }
  };
  Drain drain_;
};

}  // namespace weir::app
