#include "app/serve/proxy_settings.h"

namespace weir::app {

proxy::Settings proxy_settings(const config::Server& settings, net::ConnectionBudget& connections) {
  proxy::Settings out;
  out.upstream_authority = settings.proxy.upstream_authority;
  if (settings.proxy.upstream && settings.proxy.upstream->value.is_unix()) {
    out.upstream_name = "unix:" + settings.proxy.upstream->value.path;
  } else {
    out.upstream_name = settings.proxy.upstream_authority;
  }
  out.client_header = settings.proxy.client_header;
  out.client_rules = net::ClientAddressRules(settings.proxy.trust, settings.proxy.client_header);
  out.head.head = static_cast<std::uint32_t>(settings.limits.head);
  out.path = settings.proxy.path;
  out.body_bytes_max = settings.limits.body;
  out.connections = &connections;
  out.spares_trusted = !settings.limits.connections_per_ip;
  out.connect = settings.proxy.connect;
  out.head_time = settings.proxy.head;
  out.body_time = settings.proxy.body;
  out.answer = settings.proxy.answer;
  out.idle = settings.proxy.idle;
  return out;
}

}  // namespace weir::app
