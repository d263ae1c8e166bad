#include <vector>

#include "config/checks/references.h"
#include "config/sections/sections.h"
#include "config/text/yaml_text.h"

namespace weir::config {
namespace {

/// Such a door changes counts and lists, so its callers need a token. `weir serve` refuses the same
/// at its start; here the error has a line.
void needs_token(const char* door, const Located<Endpoint>& listen,
                 const std::optional<Text>& token_file, Problems& problems) {
  if (token_file || listen.value.is_unix()) return;
  const auto address = Address::parse(listen.value.host);
  if (!address || address->is_loopback()) return;
  problems.error(listen.where,
                 std::string(door) + ".listen can be reached from other machines: it needs " +
                     quoted(std::string(door) + ".token_file"),
                 "or listen on 127.0.0.1 or a Unix socket");
}

bool is_every_address(const std::string& host) {
  return host.empty() || host == "0.0.0.0" || host == "::";
}

/// Whether one socket listens at both. A name other than `localhost` is not resolved here.
bool is_same_place(const Endpoint& a, const Endpoint& b) {
  if (a.is_unix() || b.is_unix()) return a.path == b.path;
  if (a.port != b.port) return false;
  const auto address = [](const std::string& host) {
    return Address::parse(host == "localhost" ? "127.0.0.1" : host);
  };
  const auto one = address(a.host), other = address(b.host);
  return is_every_address(a.host) || is_every_address(b.host) || (one && one == other);
}

/// Reports doors that cannot all be opened: the kernel would report that the port is taken, but not
/// by which door.
void need_places_of_their_own(const Server& server, Problems& problems) {
  struct Listener {
    const char* name;
    const Located<Endpoint>& at;
  };
  std::vector<Listener> all;
  if (server.proxy.upstream) all.push_back({"proxy", server.proxy.listen});
  all.push_back({"admin", server.admin.listen});
  all.push_back({"health", server.health.listen});
  if (server.api.listen && !server.api.none) all.push_back({"api", *server.api.listen});
  if (server.grpc.listen && !server.grpc.none) all.push_back({"grpc", *server.grpc.listen});
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (std::size_t k = i + 1; k < all.size(); ++k) {
      if (!is_same_place(all[i].at.value, all[k].at.value)) continue;
      const bool later = all[k].at.where.line != 0;  // the other may be a default
      problems.error(
          later ? all[k].at.where : all[i].at.where,
          std::string(all[k].name) + ".listen and " + all[i].name + ".listen are the same address",
          "give each door a port of its own");
    }
  }
}

/// An upstream where weir listens: each request would come back until no connection is left.
void must_not_be_its_own_app(const Server::Proxy& proxy, Problems& problems) {
  if (!proxy.upstream) return;
  const Endpoint& app = proxy.upstream->value;
  const auto address = Address::parse(app.host == "localhost" ? "127.0.0.1" : app.host);
  const bool here =
      app.is_unix() ||
      (address && (address->is_loopback() || !is_every_address(proxy.listen.value.host)));
  if (!here || !is_same_place(app, proxy.listen.value)) return;
  problems.error(proxy.upstream->where,
                 "proxy.upstream is proxy.listen: weir would pass each request on to itself",
                 "name the port of the app, or let weir listen on another port");
}

}  // namespace

void check_server(const Server& server, Problems& problems) {
  needs_token("admin", server.admin.listen, server.admin.token_file, problems);
  if (server.api.listen && !server.api.none)
    needs_token("api", *server.api.listen, server.api.token_file, problems);
  need_places_of_their_own(server, problems);
  must_not_be_its_own_app(server.proxy, problems);
  if (server.redis) check_redis(*server.redis, problems);
  const auto& tls = server.grpc.tls;
  if (tls && (tls->cert.value.empty() || tls->key.value.empty()))
    problems.error(tls->where, "\"grpc.tls\" needs \"cert\" and \"key\"");
}

}  // namespace weir::config
