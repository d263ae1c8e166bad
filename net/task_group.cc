#include "net/task_group.h"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/system/system_error.hpp>
#include <iterator>
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

// Shared with every completion handler: the signals must outlive what is connected to them, also
// when the group goes first and the io_context drops the coroutines later.
struct TaskGroup::State {
  State(boost::asio::any_io_executor e, OnFailure f)
      : executor(std::move(e)), on_failure(std::move(f)) {}
  boost::asio::any_io_executor executor;
  OnFailure on_failure;
  std::list<boost::asio::cancellation_signal> signals;
  std::list<boost::asio::steady_timer*> waiters;
};

TaskGroup::TaskGroup(boost::asio::any_io_executor executor, OnFailure on_failure)
    : state_(std::make_shared<State>(std::move(executor), std::move(on_failure))) {}

TaskGroup::~TaskGroup() { state_->on_failure = nullptr; }

void TaskGroup::spawn(boost::asio::awaitable<void> task) {
  State& state = *state_;
  const auto signal = state.signals.emplace(state.signals.end());
  boost::asio::co_spawn(state.executor, std::move(task),
                        boost::asio::bind_cancellation_slot(
                            signal->slot(), [shared = state_, signal](std::exception_ptr failure) {
                              shared->signals.erase(signal);
                              if (failure && shared->on_failure && !is_cancellation(failure)) {
                                shared->on_failure(failure);
                              }
                              if (!shared->signals.empty()) return;
                              for (boost::asio::steady_timer* waiter : shared->waiters)
                                waiter->cancel();
                            }));
}

std::size_t TaskGroup::size() const noexcept { return state_->signals.size(); }

void TaskGroup::cancel() {
  auto& signals = state_->signals;
  for (auto at = signals.begin(); at != signals.end();) {
    const auto next = std::next(at);  // a task may end, and its signal go, within emit()
    at->emit(boost::asio::cancellation_type::terminal);
    at = next;
  }
}

boost::asio::awaitable<bool> TaskGroup::wait(milliseconds limit) {
  const std::shared_ptr<State> state = state_;
  if (state->signals.empty()) co_return true;
  boost::asio::steady_timer timer(state->executor);
  timer.expires_after(limit);
  struct Registration {
    std::shared_ptr<State> state;
    std::list<boost::asio::steady_timer*>::iterator place;
    ~Registration() { state->waiters.erase(place); }
  };
  const Registration registration{state, state->waiters.insert(state->waiters.end(), &timer)};
  co_await timer.async_wait(kToken);
  co_return state->signals.empty();
}

}  // namespace weir::net
