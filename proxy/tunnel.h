#pragma once

#include <span>

#include "proxy/exchange.h"

namespace weir::proxy {

/// The session after a verified 101: passes bytes both ways, each direction with its own end, until
/// both have ended or one is broken.
class Tunnel : public Exchange {
 protected:
  explicit Tunnel(Context& context) noexcept : Exchange(context) {}
  ~Tunnel() = default;

  /// `first`: the bytes after the 101's head.
  void begin_tunnel(std::span<char> first) final;
  void tunnel();

 private:
  bool tunnel_up();
  bool tunnel_down();
};

}  // namespace weir::proxy
