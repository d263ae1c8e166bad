#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/clock.h"

namespace boost::asio::ssl {
class context;
}

namespace weir::app {

/// Where a webhook goes: http[s]://HOST[:PORT][/PATH].
struct Url {
  bool tls = false;
  std::string host;    ///< a name or an address, without brackets
  std::string port;    ///< 80 or 443 if left out
  std::string target;  ///< path and query, at least "/"
  /// Nothing for anything else, user names and fragments included.
  static std::optional<Url> parse(std::string_view text);
  std::uint16_t port_number() const noexcept;  ///< 1 .. 65535
  std::string authority() const;               ///< for the Host field
};

/// How a delivery went: the status of the answer, or why there is none.
struct Delivery {
  int status = 0;
  std::string error;  ///< empty: there was an answer
  bool good() const noexcept { return error.empty() && status >= 200 && status < 300; }
};

/// TLS with the system's certificates; made at the first https URL, since it costs a megabyte.
std::shared_ptr<boost::asio::ssl::context> webhook_tls();

/// Posts a JSON text on a connection of its own, with TLS if the URL says so (the certificate must
/// be the host's). Ends at the deadline at the latest; reads at most 16 KiB of the answer; follows
/// no redirect. Takes what it keeps by value.
boost::asio::awaitable<Delivery> post_json(Url url, std::string body,
                                           std::shared_ptr<boost::asio::ssl::context> tls,
                                           milliseconds deadline);

}  // namespace weir::app
