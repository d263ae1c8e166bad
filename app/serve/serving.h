#pragma once

#include "app/serve/operations.h"
#include "app/serve/process.h"

namespace weir::app {

/// Serves from the start to the end: signals, the tick of each second, reloads, and the drain in
/// the reverse order of the start.
///
/// The calling thread is the control thread: signals, admin and health doors, reloads, reports,
/// timers of one second. docs/architecture.md ("Threads and memory") lists all threads.
class Serving final : app::Swap, Reload::Observer {
 public:
  using Options = Process::Options;
  explicit Serving(Options options) : process_(std::move(options)) {}

  /// Blocks until the end; the exit code of the process. stderr says why it cannot start.
  int run();

 private:
  // Swap
  boost::asio::awaitable<std::string> put_in_use(const Configuration& next) override;
  // Reload::Observer
  void load_begins() override { process_.manager.reloading(); }
  void load_ended() override;
  void loaded(const std::string& cause, const std::string& before,
              const admin::LoadReport& report) override;

  void begin_service();
  void serve_changes();
  void serve_fleet();
  void follow_included_texts();
  void say_ready();
  void wait_for_signal();
  void tick();
  void take_upstreams();
  void rotate_credentials(const config::Server& server);
  boost::asio::awaitable<void> feed_watchdog(milliseconds limit);
  milliseconds delay_left() const;
  boost::asio::awaitable<void> shut_down();
  boost::asio::awaitable<void> exchange_last_counts();
  void end();

  ProcessOperations operations_{process_};  // the doors of process_ use it until they are gone
  Process process_;

  // Members of the process that many functions use.
  const Process::Options& options_ = process_.options;
  Log& log_ = process_.log;
  config::Server& settings_ = process_.settings;
  std::shared_ptr<policies::PolicySet>& set_ = process_.set;
  WorkerTeam& workers_ = process_.workers;
  Process::Drain& drain_ = process_.drain;
};

}  // namespace weir::app
