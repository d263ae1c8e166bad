#pragma once

#include <boost/asio/awaitable.hpp>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "admin/operations.h"
#include "net/http/guarded_door.h"

namespace weir::admin {

class Explainer;
class Live;
class ChangeLimiter;
class Peers;
class Sessions;
class UndoLog;
struct UndoChange;

struct AdminSettings {
  net::SocketAddress listen;
  std::optional<std::string>
      token_file;                       ///< required unless the address is loopback or a Unix path
  std::vector<std::string> hosts = {};  ///< see net::DoorGuard
  std::vector<std::string> replicas = {};  ///< see Peers
  /// Sends a message to the admin servers of other replicas, whose hear() receives it; false: it is
  /// too long. Null: there are none.
  std::function<bool(std::string)> tell_others = {};
  std::size_t connections = 64;  ///< that are open at the same time
};

/// The operators' API (docs/openapi.yaml) and the dashboard. Loopback or a Unix socket of mode
/// 0600, else a bearer token; Host and Origin are checked, nothing changes by GET, no CORS, no
/// request of over 64 KiB. Every change is written to the audit log. A browser comes in by a
/// one-time link instead of the token (Sessions). On the control thread. Everything given must
/// outlive stop().
class AdminServer final : net::DoorRoom {
 public:
  AdminServer(boost::asio::io_context& io, const AdminSettings& settings, Operations& operations,
              const Stores& stores);
  ~AdminServer() override;

  /// Binds. Error::refused: the address is reachable from outside and there is no token file;
  /// Error::unavailable: the token file cannot be read or is empty; else the system's error.
  [[nodiscard]] Result<void> start();
  const net::SocketAddress& address() const noexcept { return door_.server().address(); }
  boost::asio::awaitable<void> stop(milliseconds grace);
  Live& live() noexcept { return *live_; }
  /// Handles a message from the admin server of another replica.
  void hear(std::string_view text);
  const net::HttpServer& server() const noexcept { return door_.server(); }

 private:
  boost::asio::awaitable<net::HttpReply> answer(net::HttpRequest request) override;
  bool lets_in(const net::HttpRequest& request) override;
  void tell_others(const UndoChange& change, bool undone);

  Operations& operations_;
  Stores stores_;
  std::unique_ptr<Explainer> explainer_;
  std::unique_ptr<UndoLog> undo_;
  const std::function<bool(std::string)> tell_;  // null: there are no others
  std::deque<std::string> unsent_;               // tokens of changes that others do not know
  std::unique_ptr<ChangeLimiter> changes_;
  std::unique_ptr<Sessions> sessions_;
  std::unique_ptr<Live> live_;
  std::unique_ptr<Peers> peers_;
  net::GuardedDoor door_;
};

}  // namespace weir::admin
