#pragma once

#include <boost/asio/awaitable.hpp>
#include <functional>
#include <optional>
#include <string>

#include "api/line_judge.h"
#include "net/fd.h"
#include "net/http/guarded_door.h"
#include "telemetry/metrics.h"

namespace weir::api {

/// The workers, as the event door needs them; `app` provides them.
class Workers {
 public:
  virtual ~Workers() = default;
  virtual std::size_t count() const = 0;
  /// Runs `work` on this worker's thread, as a turn of its own. Thread-safe.
  virtual void post(std::size_t worker,
                    std::function<void(LineJudge& judge, TimePoint now)> work) = 0;
};

struct ApiSettings {
  net::SocketAddress listen;
  std::optional<std::string> token_file;  ///< required unless on loopback or a Unix path
  milliseconds answer_limit{10'000};      ///< a worker that takes longer is stuck: 503
  std::vector<std::string> hosts = {};    ///< see net::DoorGuard
  std::size_t bodies_bytes = 8 << 20;     ///< see net::HttpServerLimits
  std::size_t connections = 256;          ///< that are open at the same time
  net::DoorRoom* others = nullptr;        ///< answers requests outside /v1; null: there is none
};

/// The door of the app itself: `POST /v1/events` and `POST /v1/query` (docs/events.md,
/// docs/openapi_events.yaml). Requests are read on the control thread and judged by the gates of
/// the workers in turn. Everything given must outlive stop() and the workers' threads.
class ApiServer final : net::DoorRoom {
 public:
  static constexpr std::size_t kBodyBytes = 1 << 20;

  ApiServer(boost::asio::io_context& io, const ApiSettings& settings, Workers& workers,
            telemetry::MetricCells& metrics);

  /// Binds. Error::refused: the address is reachable from outside and there is no token file;
  /// Error::unavailable: the token file cannot be read or is empty; else the system's error.
  [[nodiscard]] Result<void> start() { return door_.start(); }
  /// Instead: takes connections by adopt() alone, which others have accepted at this address.
  [[nodiscard]] Result<void> start_behind(const net::SocketAddress& bound) {
    return door_.start_behind(bound);
  }
  /// A connection with what it has sent so far. Thread-safe, until the io_context ends.
  void adopt(net::Fd fd, std::string sent);
  const net::SocketAddress& address() const noexcept { return door_.server().address(); }
  boost::asio::awaitable<void> stop(milliseconds grace) { return door_.stop(grace); }

 private:
  struct Task;  // a batch on its way through a worker
  boost::asio::awaitable<net::HttpReply> answer(net::HttpRequest request) override;
  std::shared_ptr<Task> begin(net::HttpRequest& request, bool lines, Ask ask);
  void step(std::size_t worker, std::shared_ptr<Task> task);
  void leave(const std::shared_ptr<Task>& task);
  bool work(std::size_t worker, const std::shared_ptr<Task>& task, LineJudge& judge, TimePoint now);

  boost::asio::io_context& io_;
  milliseconds answer_limit_;
  net::DoorRoom* others_;
  Workers& workers_;
  net::GuardedDoor door_;
  std::size_t next_worker_ = 0;
};

}  // namespace weir::api
