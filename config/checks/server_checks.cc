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

}  // namespace

void check_server(const Server& server, Problems& problems) {
  needs_token("admin", server.admin.listen, server.admin.token_file, problems);
  if (server.api.listen && !server.api.none)
    needs_token("api", *server.api.listen, server.api.token_file, problems);
  if (server.redis) check_redis(*server.redis, problems);
  const auto& tls = server.grpc.tls;
  if (tls && (tls->cert.value.empty() || tls->key.value.empty()))
    problems.error(tls->where, "\"grpc.tls\" needs \"cert\" and \"key\"");
}

}  // namespace weir::config
