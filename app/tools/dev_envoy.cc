#include "app/tools/dev_envoy.h"

#include <algorithm>
#include <vector>

#include "config/default_ports.h"

namespace weir::app {
namespace {

bool reads_bodies(const policies::PolicySet& set) {
  for (std::size_t i = 0; i < set.slots.size(); ++i) {
    if (set.slots[static_cast<policies::SlotId>(i)].needs_body) return true;
  }
  return false;
}

bool reads_cookies(const policies::PolicySet& set) {
  for (std::size_t i = 0; i < set.slots.size(); ++i) {
    const policies::Slot& slot = set.slots[static_cast<policies::SlotId>(i)];
    const bool attribute =
        slot.kind == policies::Slot::Kind::attribute && slot.extractor != nullptr;
    if (attribute && slot.extractor->name == "cookie") return true;
  }
  return false;
}

std::string address_of(const config::Endpoint& at) {
  if (at.is_unix()) return "{pipe: {path: '" + at.path + "'}}";
  return "{socket_address: {address: '" + at.host + "', port_value: " + std::to_string(at.port) +
         "}}";
}

std::string cluster(const std::string& name, const config::Endpoint& at) {
  const bool is_name = !at.is_unix() && !Address::parse(at.host);
  return "  - name: " + name + "\n    type: " + (is_name ? "STRICT_DNS" : "STATIC") +
         "\n    connect_timeout: 1s\n    load_assignment:\n      cluster_name: " + name +
         "\n      endpoints: [{lb_endpoints: [{endpoint: {address: " + address_of(at) + "}}]}]\n";
}

constexpr std::string_view kListener = R"(admin:
  address: {socket_address: {address: 127.0.0.1, port_value: 9901}}
static_resources:
  listeners:
  - name: web
    address: {socket_address: {address: 127.0.0.1, port_value: 8080}}
    filter_chains:
    - filters:
      - name: envoy.filters.network.http_connection_manager
        typed_config:
          "@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
          stat_prefix: web
          use_remote_address: true
          normalize_path: true
          merge_slashes: true
          common_http_protocol_options: {headers_with_underscores_action: DROP_HEADER}
          route_config:
            virtual_hosts:
            - name: all
              domains: ["*"]
              routes: [{match: {prefix: /}, route: {cluster: app}}]
          http_filters:
          - name: envoy.filters.http.ext_authz
            typed_config:
              "@type": type.googleapis.com/envoy.extensions.filters.http.ext_authz.v3.ExtAuthz
              transport_api_version: V3
              failure_mode_allow: false
              status_on_error: {code: ServiceUnavailable}
              encode_raw_headers: true
)";
constexpr std::string_view kService = R"(              http_service:
                path_prefix: /ext_authz
                server_uri: {uri: "http://127.0.0.1:8484", cluster: weir, timeout: 0.25s}
                authorization_response:
                  allowed_upstream_headers: {patterns: [{prefix: x-weir-, ignore_case: true}]}
                  allowed_client_headers_on_success: {patterns: [{prefix: ratelimit, ignore_case: true}]}
          - name: envoy.filters.http.router
            typed_config: {"@type": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router}
  clusters:
)";

}  // namespace

std::string envoy_bootstrap(const Configuration& configuration, const config::Endpoint& app) {
  const policies::PolicySet& set = *configuration.set;
  std::vector<std::string> headers = used_header_names(set);
  headers.insert(headers.end(), {"x-forwarded-for", "x-forwarded-proto"});
  if (reads_cookies(set)) headers.emplace_back("cookie");
  const bool bodies = reads_bodies(set);
  if (bodies) headers.insert(headers.end(), {"content-type", "content-encoding"});
  std::sort(headers.begin(), headers.end());
  headers.erase(std::unique(headers.begin(), headers.end()), headers.end());

  std::string out =
      "# Envoy on 127.0.0.1:8080 before the app. weir's side: api: {ext_authz: {prefix: "
      "/ext_authz}}\n";
  out += kListener;
  if (bodies) {
    out += "              with_request_body: {max_request_bytes: " +
           std::to_string(configuration.model().server.limits.body) +
           ", allow_partial_message: true}\n";
  }
  out += "              allowed_headers:\n                patterns:\n";
  for (const std::string& name : headers)
    out += "                - {exact: " + name + ", ignore_case: true}\n";
  // Other spellings of weir's headers: weir has Envoy remove those that it sees.
  out += "                - {safe_regex: {regex: \"x.weir.*\"}}\n";
  out += kService;
  out += cluster("app", app);
  out += cluster("weir", config::Endpoint{"127.0.0.1", config::kApiPort, ""});
  return out;
}

}  // namespace weir::app
