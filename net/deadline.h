#pragma once

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <optional>
#include <utility>

#include "core/clock.h"

/// Deadlines for coroutines: the control thread's doors, never the hot path (its wheel is wheel.h).
namespace weir::net {

/// Every asynchronous operation takes this: a closed peer is a value, not an exception.
inline constexpr auto kToken = boost::asio::as_tuple(boost::asio::use_awaitable);

/// Waits for `operation`, but no longer than `limit`: then it is cancelled, waited for, and the
/// result is nullopt. A cancellation of the caller reaches the operation. Boost 1.81 has no
/// cancel_after; this is its awaitable_operators with a timer on the other side.
/// For one io_context with one thread; the operation must support cancellation and give its errors
/// as values (kToken).
template <class T>
boost::asio::awaitable<std::optional<T>> within(milliseconds limit,
                                                boost::asio::awaitable<T> operation) {
  using boost::asio::experimental::awaitable_operators::operator||;
  boost::asio::steady_timer timer(co_await boost::asio::this_coro::executor);
  timer.expires_after(limit);
  auto first = co_await (std::move(operation) || timer.async_wait(kToken));
  if (first.index() == 0) co_return std::get<0>(std::move(first));
  co_return std::nullopt;
}

/// Waits for `duration`. False: cancelled before that.
inline boost::asio::awaitable<bool> pause(milliseconds duration) {
  boost::asio::steady_timer timer(co_await boost::asio::this_coro::executor);
  timer.expires_after(duration);
  auto [error] = co_await timer.async_wait(kToken);
  co_return !error;
}

}  // namespace weir::net
