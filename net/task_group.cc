#include "net/task_group.h"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/system/system_error.hpp>
#include <list>

#include "net/deadline.h"

namespace weir::net {
namespace {

bool is_cancellation(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const boost::system::system_error& error) {
    return error.code() == boost::asio::error::operation_aborted;
  } catch (...) {
    return false;
  }
}

}  // namespace

// Shared with every completion handler: the signals must outlive all connected coroutines, also
// when the group is destroyed first and the io_context drops the coroutines later.
//
// The signal of a task is destroyed one turn after the task. The cancellation handler of co_spawn
// lives in the memory of the signal, and when cancel() is called from outside the loop, the handler
// posts a function that points there (Boost 1.81). If the task ended in between and destroyed the
// signal, that function would read freed memory. Functions run in the order in which they are
// posted.
struct TaskGroup::State {
  struct Task {
    boost::asio::cancellation_signal signal;
    bool ended = false;
  };
  State(boost::asio::any_io_executor e, OnFailure f)
      : executor(std::move(e)), on_failure(std::move(f)) {}
  boost::asio::any_io_executor executor;
  OnFailure on_failure;
  std::list<Task> tasks;
  std::size_t running = 0;
  std::list<boost::asio::steady_timer*> waiters;

  static void end(const std::shared_ptr<State>& state, std::list<Task>::iterator task,
                  const std::exception_ptr& failure) {
    task->ended = true;
    --state->running;
    boost::asio::post(state->executor, [state, task] { state->tasks.erase(task); });
    if (failure && state->on_failure && !is_cancellation(failure)) state->on_failure(failure);
    if (state->running != 0) return;
    for (boost::asio::steady_timer* waiter : state->waiters) waiter->cancel();
  }
};

TaskGroup::TaskGroup(boost::asio::any_io_executor executor, OnFailure on_failure)
    : state_(std::make_shared<State>(std::move(executor), std::move(on_failure))) {}

TaskGroup::~TaskGroup() { state_->on_failure = nullptr; }

void TaskGroup::spawn(boost::asio::awaitable<void> task) {
  const auto entry = state_->tasks.emplace(state_->tasks.end());
  ++state_->running;
  try {
    boost::asio::co_spawn(
        state_->executor, std::move(task),
        boost::asio::bind_cancellation_slot(
            entry->signal.slot(), [state = state_, entry](const std::exception_ptr& failure) {
              State::end(state, entry, failure);
            }));
  } catch (...) {  // a task that could not begin is none to wait for
    --state_->running;
    state_->tasks.erase(entry);
    throw;
  }
}

std::size_t TaskGroup::size() const noexcept { return state_->running; }

void TaskGroup::cancel() {
  for (State::Task& task : state_->tasks) {
    if (!task.ended) task.signal.emit(boost::asio::cancellation_type::terminal);
  }
}

boost::asio::awaitable<bool> TaskGroup::wait(milliseconds limit) {
  const std::shared_ptr<State> state = state_;
  if (state->running == 0) co_return true;
  boost::asio::steady_timer timer(state->executor);
  timer.expires_after(limit);
  struct Registration {
    std::shared_ptr<State> state;
    std::list<boost::asio::steady_timer*>::iterator place;
    ~Registration() { state->waiters.erase(place); }
  };
  const Registration registration{state, state->waiters.insert(state->waiters.end(), &timer)};
  co_await timer.async_wait(kToken);
  co_return state->running == 0;
}

}  // namespace weir::net
