#pragma once

#include <array>
#include <span>
#include <string_view>

#include "authz/callers.h"
#include "authz/client.h"
#include "core/event.h"
#include "net/http/head.h"
#include "net/http/target.h"

namespace weir::authz {

/// Memory for the parts of an asked request that are built again. Lives as long as the Request.
struct AskedRoom {
  std::array<char, net::normal_path_room(net::kStartLineMax)> path;
  net::NormalTarget target;
  std::array<char, net::kHostMax> host;
};

struct Asked {
  std::string_view trouble;     ///< why nothing can be judged, for the caller's log; empty: nothing
  bool client_unknown = false;  ///< the caller does not name the client: it is the client itself
};

/// The request about which a caller asks, out of the check that it sends: pure, no allocation. The
/// headers are the check's, so the client's with what the proxy adds. `body_state` is not_read.
/// `peer`: the caller's address.
Asked to_request(const net::RequestHead& check, const Door& door, const ClientRules& rules,
                 const PathRules& path_rules, const Address& peer, TimePoint time, AskedRoom& room,
                 Request& out) noexcept;

/// Reads a target in origin or absolute form into `read`, and its parts into `out`. `room`:
/// normal_path_room() of its size. Returns what is wrong with it; empty: nothing.
std::string_view read_target(std::string_view target, const PathRules& rules, std::span<char> room,
                             net::NormalTarget& read, Request& out) noexcept;
/// Reads a Host's value into `out`, in lower case and without its port; none, if there is none.
/// Returns what is wrong with it; empty: nothing.
std::string_view read_host(std::string_view authority, std::span<char, net::kHostMax> room,
                           Request& out) noexcept;

}  // namespace weir::authz
