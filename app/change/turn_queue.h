#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <memory>
#include <utility>

namespace weir::app {

/// Lets operations of coroutines run one after the other. On the control thread. An operation that
/// is under way, or waits, may outlive the queue.
class TurnQueue {
  struct State;

 public:
  /// The right to run. The next operation gets it when this one ends.
  class Turn {
   public:
    explicit Turn(std::shared_ptr<State> state) noexcept : state_(std::move(state)) {}
    Turn(Turn&&) noexcept = default;
    Turn& operator=(Turn&&) = delete;
    ~Turn();

   private:
    std::shared_ptr<State> state_;
  };

  explicit TurnQueue(boost::asio::io_context& control);
  boost::asio::awaitable<Turn> take() { return take_of(state_); }

 private:
  static boost::asio::awaitable<Turn> take_of(std::shared_ptr<State> state);

  std::shared_ptr<State> state_;
};

}  // namespace weir::app
