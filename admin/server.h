#pragma once

#include <boost/asio/awaitable.hpp>
#include <memory>
#include <optional>
#include <string>

#include "net/door_guard.h"
#include "admin/operations.h"
#include "net/http_server.h"

namespace weir::admin {

class Explainer;

struct AdminSettings {
  net::SocketAddress listen;
  std::optional<std::string>
      token_file;  ///< required unless the address is loopback or a Unix path
};

/// The operators' API (docs/openapi.yaml). Loopback or a Unix socket of mode 0600, else a bearer
/// token; Host and Origin are checked, nothing changes by GET, no CORS, no request of over 64 KiB.
/// Keys are never logged. On the control thread. Everything given must outlive stop().
class AdminServer final : net::HttpHandler {
 public:
  AdminServer(boost::asio::io_context& io, const AdminSettings& settings, Operations& operations,
              const Stores& stores);
  ~AdminServer() override;

  /// Binds. Error::refused: the address is reachable from outside and there is no token file;
  /// Error::unavailable: the token file cannot be read or is empty; else the system's error.
  Result<void> start();
  const net::SocketAddress& address() const noexcept { return server_.address(); }
  boost::asio::awaitable<void> stop(milliseconds grace) { return server_.stop(grace); }
  const net::HttpServer& server() const noexcept { return server_; }

 private:
  boost::asio::awaitable<net::HttpReply> handle(net::HttpRequest request) override;
  net::HttpReply refuse(int status, std::string_view detail) override;
  boost::asio::awaitable<net::HttpReply> dispatch(const net::HttpRequest& request);

  AdminSettings settings_;
  Operations& operations_;
  Stores stores_;
  std::optional<net::TokenFile> token_;
  std::optional<net::DoorGuard> guard_;  // once the address is known
  std::unique_ptr<Explainer> explainer_;
  net::HttpServer server_;
};

}  // namespace weir::admin
