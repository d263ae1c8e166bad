#pragma once

#include <memory>
#include <string>
#include <vector>

#include "app/support/http_client.h"
#include "config/model.h"
#include "core/clock.h"
#include "net/socket.h"

namespace weir::app {

/// Where the app is: the addresses of `proxy.upstream`, IPv4 before IPv6, at most 16. A name is
/// resolved every ten seconds, or every second while resolving fails. The last result stays valid.
/// Used on the control thread. Each lookup runs on its own thread, because resolvers block. At most
/// one lookup runs at a time.
class UpstreamNames {
 public:
  using Addresses = std::vector<net::SocketAddress>;
  struct Found {
    Addresses addresses;
    std::string why_not;  ///< empty: there are addresses
  };
  /// Asks the system; blocks.
  static Found look_up(const std::string& host, std::uint16_t port);

  explicit UpstreamNames(const config::Endpoint& upstream, decltype(&look_up) ask = look_up,
                         RunBeside run = run_beside);
  ~UpstreamNames();
  UpstreamNames(const UpstreamNames&) = delete;
  UpstreamNames& operator=(const UpstreamNames&) = delete;

  /// Asks for the first time, and waits for the answer for at most so long.
  void begin(TimePoint now, milliseconds patience);
  /// Every second. True: addresses() have changed.
  bool tick(TimePoint now);
  const Addresses& addresses() const noexcept { return addresses_; }
  /// Why there is no address; empty: there is one.
  const std::string& why_not() const noexcept { return why_not_; }

 private:
  struct Question;
  void begin_asking(TimePoint now);
  bool take(Found found);

  config::Endpoint upstream_;
  decltype(&look_up) ask_;
  RunBeside run_;
  Addresses addresses_;
  std::string why_not_;
  std::shared_ptr<Question> question_;  ///< the one that was asked last and has no answer yet
  TimePoint asked_{};
};

}  // namespace weir::app
