#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weir::app {

/// The process that listens on a TCP port or a Unix socket.
struct ListeningProcess {
  std::int64_t pid = 0;  ///< 0: not to be seen, for another user's or another container's
  std::string name;      ///< of the process
};
/// None: no process listens. Reads /proc/net and /proc/PID.
std::optional<ListeningProcess> listener_of(std::uint16_t port);
std::optional<ListeningProcess> listener_of(const std::string& path);

/// Describes, for people, the process that has this address (`127.0.0.1:8480`, `unix:/path`), as
/// far as this machine shows it.
std::string taken_text(std::string_view where);

}  // namespace weir::app
