#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <functional>

#include "authz/limitador_http.h"
#include "authz/rate_limit_http.h"
#include "config/model.h"
#include "net/http/guarded_door.h"
#include "telemetry/rule_stats.h"

namespace weir::app {

/// The HTTP paths of other rate limit services on the api door: `POST /json` and `GET /healthcheck`
/// of envoyproxy/ratelimit, and limitador's API. On the control thread; the workers judge the calls
/// in turn.
class RateLimitPaths final : public net::DoorRoom {
 public:
  /// The handlers of one worker.
  struct RateLimitHandlers {
    authz::RateLimitHttp& json;
    authz::LimitadorHttp& limitador;
  };
  /// Runs the work on some worker's thread.
  using Post =
      std::function<void(std::function<void(const RateLimitHandlers& handlers, TimePoint now)>)>;

  /// The settings and the state in force when a request arrives.
  struct Facts {
    const config::Server::RateLimit& settings;
    bool healthy;  ///< new calls are welcome
    authz::LimitadorStatus limitador;
  };

  /// `rules`: of limitador's metrics.
  RateLimitPaths(boost::asio::io_context& io, const telemetry::RuleStats& rules,
                 std::function<Facts()> facts, Post post)
      : io_(io), rules_(rules), facts_(std::move(facts)), post_(std::move(post)) {}

  boost::asio::awaitable<net::HttpReply> answer(net::HttpRequest request) override;

 private:
  using Ask = std::function<void(const RateLimitHandlers& handlers, TimePoint now,
                                 std::function<void(net::HttpReply)> answered)>;
  boost::asio::awaitable<net::HttpReply> limitador(net::HttpRequest request);
  boost::asio::awaitable<net::HttpReply> ask(Ask what);

  boost::asio::io_context& io_;
  const telemetry::RuleStats& rules_;
  std::function<Facts()> facts_;
  Post post_;
};

}  // namespace weir::app
