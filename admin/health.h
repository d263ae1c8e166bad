#pragma once

#include <boost/asio/awaitable.hpp>
#include <memory>
#include <string>

#include "admin/operations.h"
#include "net/http/server.h"

namespace weir::admin {

struct HealthSettings {
  net::SocketAddress listen;
  milliseconds pulse_limit{900};  ///< /livez answers before a probe's own default of 1 s is over
  std::size_t connections = 64;   ///< that are open at the same time
};

/// The door of the kubelet and of Prometheus: `/livez /readyz /startupz /metrics`, GET and HEAD
/// only, no secrets, nothing changes. Probes keep most of the door's connections to themselves, and
/// `/metrics` is rendered at most once in kPageAge. On the control thread. Everything given must
/// outlive stop().
class HealthServer final : net::HttpHandler {
 public:
  /// A request for `/metrics` within this time after another one gets the same page.
  static constexpr milliseconds kPageAge{1'000};

  HealthServer(boost::asio::io_context& io, const HealthSettings& settings, Operations& operations,
               WorkerProbe& worker_probe, const Stores& stores);

  [[nodiscard]] Result<void> start();  ///< binds; the error is the system's
  const net::SocketAddress& address() const noexcept { return server_.address(); }
  /// Stops after all other doors: while draining, /readyz must answer.
  boost::asio::awaitable<void> stop(milliseconds grace) { return server_.stop(grace); }
  const net::HttpServer& server() const noexcept { return server_; }

 private:
  boost::asio::awaitable<net::HttpReply> handle(net::HttpRequest request) override;
  net::HttpReply refuse(int status, std::string_view detail) override;
  bool is_bulk(const net::HttpRequest& request) const noexcept override;
  const std::shared_ptr<const std::string>& page();
  boost::asio::awaitable<net::HttpReply> livez(bool verbose);
  net::HttpReply readyz(bool verbose) const;
  net::HttpReply startupz(bool verbose) const;

  HealthSettings settings_;
  Operations& operations_;
  WorkerProbe& worker_probe_;
  Stores stores_;
  std::shared_ptr<const std::string> page_;  // of /metrics; null: not asked for yet
  TimePoint page_made_{};
  net::HttpServer server_;
};

}  // namespace weir::admin
