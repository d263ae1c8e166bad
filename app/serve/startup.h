#pragma once

#include "app/serve/process.h"

namespace weir::app {

/// Builds a Process, bottom-up, until its doors are open. On the control thread, before it waits.
/// It is gone when the process serves: the parts that it builds refer to the process alone.
class Startup {
 public:
  /// Both outlive the doors that the steps open.
  Startup(Process& process, admin::Operations& operations) noexcept;

  /// Runs all steps. A step that fails says on stderr what is wrong. The exit code; 0: the process
  /// can serve.
  int run();

 private:
  // In this order; each gives an exit code, 0 = continue.
  int load();
  int fit_into_machine();
  int open_state();
  int read_redis();
  int build_stores();
  int use_configuration();
  int restore_state();
  int build_report();
  int open_logs();
  int build_workers();
  int open_doors();
  int open_front_doors();
  int open_api();

  /// How many workers there are. After build_stores().
  std::size_t worker_count() const;
  int find_upstreams();
  void make_rate_limit_paths();
  int open_api_doors(const net::SocketAddress& address, const config::Endpoint& at);
  int door_failed(const char* door, const config::Endpoint& at,
                  const std::optional<config::Text>& token_file,
                  const boost::system::error_code& error) const;

  Process& process_;
  admin::Operations& operations_;

  // Members of the process that many steps use.
  const Process::Options& options_;
  Log& log_;
  boost::asio::io_context& control_;
  Machine& machine_;
  Configuration& initial_;
  config::Server& settings_;
  HashSecret& secret_;
  std::optional<SharedStoreSettings>& redis_;
  WorkerTeam& workers_;
};

}  // namespace weir::app
