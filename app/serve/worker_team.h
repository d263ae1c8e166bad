#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "admin/worker_probe.h"
#include "api/server.h"
#include "core/clock.h"
#include "core/result.h"
#include "net/fd.h"
#include "net/worker_pool.h"

namespace weir::app {

struct ServingWorker;

/// The workers of the process: a thread and its doors each. Every function is for the control
/// thread unless its comment names another; `what` runs on the worker's thread.
class WorkerTeam final : public admin::WorkerProbe, public api::Workers {
 public:
  /// Counts the workers that have not answered yet.
  class RollCall;
  using Task = std::function<void(ServingWorker&)>;

  explicit WorkerTeam(boost::asio::io_context& control);
  ~WorkerTeam() override;
  WorkerTeam(const WorkerTeam&) = delete;
  WorkerTeam& operator=(const WorkerTeam&) = delete;

  /// Makes the workers, whose threads begin with start(). Called once.
  using Make =
      std::function<std::unique_ptr<ServingWorker>(net::Worker& thread, std::size_t index)>;
  void make(std::size_t count, const Make& one);
  void start();
  /// Ends the threads; posted tasks that have not begun are dropped. May be called again.
  void stop();

  std::size_t size() const noexcept { return members_.size(); }
  ServingWorker& operator[](std::size_t i) const noexcept { return *members_[i]; }

  /// Runs the task on every worker, as a turn of its own, without waiting for it.
  void post_to_all(const Task& what) const;
  /// On every worker, again and again until there is memory for it: a worker without new policies
  /// would judge by the old ones. The call is complete when all have done it.
  std::shared_ptr<RollCall> ask_all(const Task& what);
  /// Every worker stops accepting, and cuts what is open at `timeout` from now. The call is
  /// complete when none has a connection left.
  std::shared_ptr<RollCall> finish_within(milliseconds timeout);
  /// Whether all have answered, at the latest when the call's limit has passed.
  static boost::asio::awaitable<bool> complete(std::shared_ptr<RollCall> call);

  /// Each worker listens on its socket, in their order; blocks. The first failure, if there is one.
  [[nodiscard]] Result<void> listen(std::vector<net::Fd> sockets,
                                    const std::function<Result<void>(ServingWorker&, net::Fd)>& on);

  // admin::WorkerProbe
  std::size_t workers() const override { return members_.size(); }
  void ask(std::size_t worker, std::function<void()> beat) override;
  // api::Workers
  std::size_t count() const override { return members_.size(); }
  void post(std::size_t worker,
            std::function<void(api::LineJudge& judge, TimePoint now)> work) override;

 private:
  void do_until_done(ServingWorker& worker, Task what, std::function<void()> then);
  void answered(const std::shared_ptr<RollCall>& call);  // thread-safe

  boost::asio::io_context& control_;
  std::unique_ptr<net::WorkerPool> pool_;
  std::vector<std::unique_ptr<ServingWorker>> members_;  // destroyed before the pool
};

}  // namespace weir::app
