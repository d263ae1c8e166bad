#include "admin/worker_probe.h"

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>

#include "net/deadline.h"

namespace weir::admin {
namespace {

// Touched on the control thread only: a worker's answer is a post back to it.
struct RollCall {
  explicit RollCall(std::size_t workers) : silent(workers) {}
  std::vector<std::size_t> silent;
  boost::asio::steady_timer* waiter = nullptr;  // null: no request waits any more

  void answered(std::size_t worker) {
    std::erase(silent, worker);
    if (silent.empty() && waiter != nullptr) waiter->cancel();
  }
};

}  // namespace

boost::asio::awaitable<std::vector<std::size_t>> silent_workers(WorkerProbe& worker_probe,
                                                                milliseconds limit) {
  const auto executor = co_await boost::asio::this_coro::executor;
  boost::asio::steady_timer timer(executor);
  timer.expires_after(limit);
  const auto call = std::make_shared<RollCall>(worker_probe.workers());
  for (std::size_t i = 0; i < call->silent.size(); ++i) call->silent[i] = i;
  struct Waiting {
    RollCall& call;
    ~Waiting() { call.waiter = nullptr; }
  };
  const Waiting waiting{*call};
  call->waiter = &timer;
  for (std::size_t i = 0; i < worker_probe.workers(); ++i) {
    worker_probe.ask(
        i, [call, executor, i] { boost::asio::post(executor, [call, i] { call->answered(i); }); });
  }
  if (!call->silent.empty()) co_await timer.async_wait(net::kToken);
  co_return call->silent;
}

}  // namespace weir::admin
