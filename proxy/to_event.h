#pragma once

#include <span>

#include "core/event.h"
#include "net/http/head.h"
#include "net/http/target.h"
#include "proxy/settings.h"

namespace weir::proxy {

/// The other end of a connection, looked at once when it is accepted.
struct Peer {
  Address address;
  bool trusted = false;  ///< a hop whose forwarding fields are believed
};

/// A parsed head as the gate wants it: path and target in normal form, host without port, the
/// client that the address rules believe. `path_room` needs normal_path_room(target) bytes and
/// holds `target` as long as `out` lives. Anything but HttpRefusal::none: the target is refused
/// (400). No allocation.
net::HttpRefusal to_event(const net::RequestHead& head, const Settings& settings,
                          const PathRules& path, const Peer& peer, TimePoint time,
                          std::span<char> path_room, net::NormalTarget& target,
                          Request& out) noexcept;

}  // namespace weir::proxy
