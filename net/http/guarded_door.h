#pragma once

#include <boost/asio/awaitable.hpp>
#include <optional>
#include <string>
#include <vector>

#include "net/http/door_guard.h"
#include "net/http/server.h"
#include "telemetry/metrics.h"

namespace weir::net {

/// The handler behind a GuardedDoor.
class DoorRoom {
 public:
  virtual ~DoorRoom() = default;
  /// A request that the guard has let in.
  virtual boost::asio::awaitable<HttpReply> answer(HttpRequest request) = 0;
  /// Whether it is let in without the token: it asks for nothing secret, or has a session. Its body
  /// has not been read. The other rules of the guard hold for it as well.
  virtual bool lets_in(const HttpRequest&) { return false; }
};

struct GuardedDoorSettings {
  SocketAddress listen;
  std::optional<std::string> token_file;  ///< required unless on loopback or a Unix path
  HttpServerLimits limits;
  telemetry::Metric requests, refused;  ///< counted on `metrics`
  std::vector<std::string> hosts = {};  ///< see DoorGuard
};

/// An HTTP server for the operators or the app itself: behind a DoorGuard, which looks at heads
/// before any body is read; answers never cached or guessed at. On the io_context's thread.
/// Everything given must outlive stop().
class GuardedDoor final : HttpHandler {
 public:
  GuardedDoor(boost::asio::io_context& io, GuardedDoorSettings settings, DoorRoom& room,
              telemetry::MetricCells& metrics);

  /// Binds. Error::refused: the address is reachable from outside and there is no token file.
  /// Error::unavailable: the token file cannot be read or is empty. Otherwise the system's error.
  Result<void> start();
  /// Instead of start(): other listeners accept connections at this address and pass them to
  /// adopt().
  Result<void> start_behind(const SocketAddress& bound);
  void adopt(Fd fd, std::string sent) { server_.adopt(std::move(fd), std::move(sent)); }
  boost::asio::awaitable<void> stop(milliseconds grace) { return server_.stop(grace); }
  const HttpServer& server() const noexcept { return server_; }
  /// Once it has started.
  DoorGuard& guard() noexcept { return *guard_; }

 private:
  Result<void> read_token();
  std::optional<HttpReply> screen(const HttpRequest& request) override;
  boost::asio::awaitable<HttpReply> handle(HttpRequest request) override;
  HttpReply refuse(int status, std::string_view detail) override;

  GuardedDoorSettings settings_;
  DoorRoom& room_;
  telemetry::MetricCells& metrics_;
  std::optional<TokenFile> token_;
  std::optional<DoorGuard> guard_;  // once the address is known
  HttpServer server_;
};

}  // namespace weir::net
