#include "app/serve/worker_team.h"

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <future>
#include <utility>

#include "app/serve/serving_worker.h"
#include "core/assert.h"
#include "core/no_memory.h"
#include "net/deadline.h"

namespace weir::app {
namespace {

namespace asio = boost::asio;

// A worker that takes longer than this for a task is stuck, and /livez says so.
constexpr milliseconds kAnswerLimit{5'000};
// For the connections that a worker cuts at the end of the drain.
constexpr milliseconds kCutGrace{1'000};

}  // namespace

class WorkerTeam::RollCall {
 public:
  RollCall(asio::io_context& control, std::size_t workers, milliseconds limit)
      : left_(workers), timer_(control, limit) {}
  void answered() {
    if (--left_ == 0) timer_.cancel();
  }
  asio::awaitable<bool> complete() {
    if (left_ != 0) co_await timer_.async_wait(net::kToken);
    co_return left_ == 0;
  }

 private:
  std::size_t left_;
  asio::steady_timer timer_;
};

WorkerTeam::WorkerTeam(asio::io_context& control) : control_(control) {}

WorkerTeam::~WorkerTeam() { stop(); }

void WorkerTeam::make(std::size_t count, const Make& one) {
  WEIR_ASSERT(pool_ == nullptr);
  pool_ = std::make_unique<net::WorkerPool>(static_cast<unsigned>(count));
  for (std::size_t i = 0; i < count; ++i) members_.push_back(one((*pool_)[i], i));
}

void WorkerTeam::start() { pool_->start(); }

void WorkerTeam::stop() {
  if (pool_ != nullptr) pool_->stop();
}

void WorkerTeam::post_to_all(const Task& what) const {
  for (const auto& member : members_) {
    member->thread.post([worker = member.get(), what] { what(*worker); });
  }
}

// Not a coroutine: g++ 12 destroys a closure twice that is made within a co_await expression.
std::shared_ptr<WorkerTeam::RollCall> WorkerTeam::ask_all(const Task& what) {
  const auto call = std::make_shared<RollCall>(control_, members_.size(), kAnswerLimit);
  for (const auto& member : members_) {
    do_until_done(*member, what, [this, call] { answered(call); });
  }
  return call;
}

// The call stops waiting at its limit; this does not.
void WorkerTeam::do_until_done(ServingWorker& worker, Task what, std::function<void()> then) {
  worker.thread.post([this, &worker, what = std::move(what), then = std::move(then)] {
    if (survives_no_memory([&] { what(worker); })) return then();
    do_until_done(worker, what, then);
  });
}

std::shared_ptr<WorkerTeam::RollCall> WorkerTeam::finish_within(milliseconds timeout) {
  const auto call = std::make_shared<RollCall>(control_, members_.size(), timeout + kCutGrace);
  post_to_all([this, call, timeout](ServingWorker& worker) {
    worker.stop_by(worker.thread.now() + timeout, [this, call] { answered(call); });
  });
  return call;
}

void WorkerTeam::answered(const std::shared_ptr<RollCall>& call) {
  asio::post(control_, [call] { call->answered(); });
}

asio::awaitable<bool> WorkerTeam::complete(std::shared_ptr<RollCall> call) {
  co_return co_await call->complete();
}

Result<void> WorkerTeam::listen(std::vector<net::Fd> sockets,
                                const std::function<Result<void>(ServingWorker&, net::Fd)>& on) {
  WEIR_ASSERT(sockets.size() == members_.size());
  for (std::size_t i = 0; i < members_.size(); ++i) {
    std::promise<Result<void>> listening;
    auto done = listening.get_future();
    // Once the promise is kept, this function continues: its references are not used afterwards.
    members_[i]->thread.post([&, fd = std::move(sockets[i])]() mutable {
      listening.set_value(on(*members_[i], std::move(fd)));
    });
    if (auto started = done.get(); !started) return started;
  }
  return {};
}

void WorkerTeam::ask(std::size_t worker, std::function<void()> beat) {
  members_[worker]->thread.post(std::move(beat));
}

void WorkerTeam::post(std::size_t worker,
                      std::function<void(api::LineJudge& judge, TimePoint now)> work) {
  ServingWorker* const to = members_[worker].get();
  to->thread.post([to, work = std::move(work)] { work(to->lines, to->thread.now()); });
}

}  // namespace weir::app
