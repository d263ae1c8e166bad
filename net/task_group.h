#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>

#include "core/clock.h"

namespace weir::net {

/// Owns coroutines: the owner of the group can cancel all of them and wait until they have ended.
/// (A bare `detached` coroutine allows neither; it is banned.) For one thread, that of the
/// executor.
///
/// If a coroutine ends with an exception other than "cancelled", `on_failure` gets the exception.
/// The group may be destroyed before its coroutines end: they then continue, or are dropped with
/// their io_context.
class TaskGroup {
 public:
  using OnFailure = std::function<void(std::exception_ptr)>;
  TaskGroup(boost::asio::any_io_executor executor, OnFailure on_failure);
  ~TaskGroup();
  TaskGroup(const TaskGroup&) = delete;
  TaskGroup& operator=(const TaskGroup&) = delete;

  /// Starts it. A coroutine takes what it keeps by value (or keeps its owner alive).
  void spawn(boost::asio::awaitable<void> task);
  std::size_t size() const noexcept;
  /// Asks every coroutine to stop where it waits.
  void cancel();
  /// Waits until none is left, at most `limit`; says whether none is.
  boost::asio::awaitable<bool> wait(milliseconds limit);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace weir::net
