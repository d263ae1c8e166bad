#include "config/import/nginx_client.h"

#include <algorithm>

#include "config/import/yaml_writer.h"
#include "core/address.h"
#include "core/chars/ascii.h"

namespace weir::config {
namespace {

/// Whether two blocks believe the same peers and the same header about the client.
bool alike(const NginxScope& a, const NginxScope& b) {
  return a.trusted == b.trusted && (a.trusted.empty() || a.real_ip_header == b.real_ip_header);
}

bool is_header(std::string_view name) {
  return !name.empty() && name.size() <= 64 && std::all_of(name.begin(), name.end(), [](char c) {
    return ascii::is_letter_or_digit(c) || c == '-';
  });
}

class ClientReader {
 public:
  explicit ClientReader(NginxFile& file) : file_(file) {}

  std::string read() {
    take(file_.http);
    for (const NginxServer& server : file_.servers) {
      if (server.scope.returns == 0) take(server.scope);
      locations(server.scope, server.locations);
    }
    // The servers without it take their peer for the client.
    for (const NginxServer& server : file_.servers) {
      if (chosen_ != nullptr && server.scope.trusted.empty() && server.scope.returns == 0)
        note(server.line, "server", "proxy.client_ip holds for all servers, and for this one too");
    }
    return chosen_ == nullptr ? std::string() : written(*chosen_);
  }

 private:
  void note(std::size_t line, std::string what, std::string why) {
    file_.left_out.push_back({line, std::move(what), std::move(why)});
  }

  void take(const NginxScope& scope) {
    if (scope.trusted.empty()) return;
    if (chosen_ == nullptr) {
      chosen_ = &scope;
    } else if (!alike(*chosen_, scope)) {
      note(scope.real_ip_line, "set_real_ip_from",
           "weir has one proxy.client_ip: that of line " + std::to_string(chosen_->real_ip_line));
    }
  }

  void locations(const NginxScope& around, const std::vector<NginxLocation>& inside) {
    for (const NginxLocation& location : inside) {
      if (!alike(around, location.scope))
        note(location.line, "set_real_ip_from in location " + location.text,
             "weir has one proxy.client_ip for all paths");
      locations(location.scope, location.inner);
    }
  }

  std::string written(const NginxScope& scope) {
    const std::string header = scope.real_ip_header.value_or("X-Real-IP");
    if (!is_header(header) || header == "proxy_protocol") {
      note(scope.real_ip_line, "real_ip_header " + header,
           header == "proxy_protocol"
               ? "weir does not read the PROXY protocol: let the hop before it set a header, and "
                 "name it in proxy.client_ip"
               : "weir does not accept this header name");
      return {};
    }
    std::string trust;
    for (const std::string& one : scope.trusted) {
      if (!Cidr::parse(one)) {
        note(scope.real_ip_line, "set_real_ip_from " + one,
             "proxy.client_ip.trust takes addresses and networks alone");
        continue;
      }
      trust += (trust.empty() ? "" : ", ") + yaml_text(one);
    }
    if (trust.empty()) return {};
    if (!scope.real_ip_recursive.value_or(false) && header != "X-Real-IP") {
      note(scope.real_ip_line, "real_ip_recursive off",
           "nginx takes the last address in " + header +
               ", weir the last one that proxy.client_ip.trust does not name");
    }
    return "proxy:\n  client_ip: {trust: [" + trust + "], header: " + yaml_text(header) + "}\n\n";
  }

  NginxFile& file_;
  const NginxScope* chosen_ = nullptr;
};

}  // namespace

std::string nginx_client(NginxFile& file) { return ClientReader(file).read(); }

}  // namespace weir::config
