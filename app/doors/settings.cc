#include "app/doors/settings.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

#include "app/support/http_client.h"
#include "core/assert.h"

namespace weir::app {

namespace {

/// For the name of an address to listen on. A resolver without an answer takes many seconds.
constexpr milliseconds kNameOfDoor{5'000};

}  // namespace

bool has_doors(const config::Server& settings) noexcept {
  return !settings.api.none && (settings.api.ext_authz || !settings.api.forward_auth.empty());
}

bool has_rate_limit_paths(const config::Server& settings) noexcept {
  const config::Server::RateLimit& asked = settings.ratelimit;
  return !settings.api.none && (asked.json || !asked.files.empty() || asked.limitador);
}

authz::ClientRules client_rules(const config::Server::Authz& settings) {
  return {settings.trust, settings.client_header, settings.hops};
}

authz::CheckRules check_rules(const config::Server& settings) {
  authz::CheckRules out;
  out.client = client_rules(settings.authz);
  out.path = settings.proxy.path;
  out.body_bytes_max = settings.limits.body;
  out.error_response = settings.authz.error_response;
  return out;
}

authz::DoorSettings door_settings(const config::Server& settings) {
  authz::DoorSettings out;
  if (settings.api.ext_authz)
    out.doors.push_back({&authz::ext_authz_caller(), settings.api.ext_authz->value, {}});
  for (const auto& asked : settings.api.forward_auth) {
    const authz::CallerRow* const caller = authz::find_caller(asked.caller.value);
    WEIR_ASSERT(caller != nullptr);
    out.doors.push_back({caller, "/forward_auth/" + asked.caller.value, asked.deny_status});
  }
  out.client = client_rules(settings.authz);
  out.path = settings.proxy.path;
  out.head.head = static_cast<std::uint32_t>(settings.limits.head);
  out.body_bytes_max = settings.limits.body;
  return out;
}

std::string endpoint_text(const config::Endpoint& endpoint) {
  if (endpoint.is_unix()) return "unix:" + endpoint.path;
  const bool v6 = endpoint.host.find(':') != std::string::npos;
  return (v6 ? "[" + endpoint.host + "]" : endpoint.host) + ":" + std::to_string(endpoint.port);
}

Result<net::SocketAddress> door_address(const config::Endpoint& endpoint, std::string* message) {
  if (endpoint.is_unix()) return net::SocketAddress::unix_path(endpoint.path);
  return resolve_within(endpoint.host, endpoint.port, kNameOfDoor, message);
}

boost::system::error_code is_taken(const net::SocketAddress& address) {
  if (address.is_unix() || address.port() == 0) return {};
  const net::Fd probe(::socket(address.raw()->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int one = 1;
  const int zero = 0;
  // REUSEADDR: connections of a process that has ended do not count.
  ::setsockopt(probe.get(), SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
  if (address.raw()->sa_family == AF_INET6) {
    ::setsockopt(probe.get(), IPPROTO_IPV6, IPV6_V6ONLY, &zero, sizeof(zero));
  }
  if (!probe || ::bind(probe.get(), address.raw(), address.size()) == 0) return {};
  return {errno, boost::system::system_category()};
}

}  // namespace weir::app
