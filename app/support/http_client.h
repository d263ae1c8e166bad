#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.h"
#include "core/result.h"
#include "net/socket.h"

namespace weir::app {

struct HttpAnswer {
  int status = 0;
  std::string body;
};

/// One request on a connection of its own, for commands: blocks, until `deadline` has passed at the
/// latest. `head_lines`: whole lines to add. The error is the system's, Error::timed_out, or
/// Error::malformed for what is no HTTP answer (or is over 16 MiB).
Result<HttpAnswer> http_request(const net::SocketAddress& address, std::string_view method,
                                std::string_view target, std::string_view authority,
                                std::string_view head_lines, std::string_view body,
                                milliseconds deadline);

/// The first address of a name or address, IPv4 before IPv6 (an app on `localhost` more often
/// listens on 127.0.0.1 alone). Blocks while the system resolves. On failure `message` says why.
Result<net::SocketAddress> resolve(const std::string& host, std::uint16_t port,
                                   std::string* message);

/// Runs a function that may block, now or elsewhere. Throws std::system_error if it can't.
using RunBeside = std::function<void(std::function<void()>)>;
void run_beside(std::function<void()> function);  ///< on a detached thread

/// How many names resolve_within() asks for at once. A silent name server keeps the thread of each.
inline constexpr int kOpenQuestionsMax = 4;

/// The same, on a thread of its own, which the caller waits for no longer than `limit`: then
/// Error::timed_out. Error::unavailable also if there is no thread, or kOpenQuestionsMax names have
/// no answer yet.
Result<net::SocketAddress> resolve_within(const std::string& host, std::uint16_t port,
                                          milliseconds limit, std::string* message,
                                          const RunBeside& run = run_beside);

/// All of a name's addresses, IPv4 before IPv6. Empty: `message` says why.
std::vector<net::SocketAddress> resolve_all(const std::string& host, std::uint16_t port,
                                            std::string* message);

}  // namespace weir::app
