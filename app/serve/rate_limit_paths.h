#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <functional>

#include "authz/rate_limit_desk.h"
#include "config/model.h"
#include "net/http/guarded_door.h"

namespace weir::app {

/// What other rate limit services answer over HTTP, on the api door: `POST /json` and `GET
/// /healthcheck` of envoyproxy/ratelimit. On the control thread; calls are judged by the workers in
/// turn.
class RateLimitPaths final : public net::DoorRoom {
 public:
  /// Runs the work on some worker's thread.
  using Post = std::function<void(std::function<void(authz::RateLimitDesk& desk, TimePoint now)>)>;

  /// What is in force when a request comes.
  struct Facts {
    const config::Server::RateLimit& settings;
    bool healthy;  ///< new calls are welcome
  };

  RateLimitPaths(boost::asio::io_context& io, std::function<Facts()> facts, Post post)
      : io_(io), facts_(std::move(facts)), post_(std::move(post)) {}

  boost::asio::awaitable<net::HttpReply> answer(net::HttpRequest request) override;

 private:
  using Ask = std::function<void(authz::RateLimitDesk& desk, TimePoint now,
                                 authz::RateLimitDesk::Answered answered)>;
  boost::asio::awaitable<net::HttpReply> ask(Ask what);

  boost::asio::io_context& io_;
  std::function<Facts()> facts_;
  Post post_;
};

}  // namespace weir::app
