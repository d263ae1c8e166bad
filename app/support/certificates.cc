#include "app/support/certificates.h"

#include "net/tls.h"

namespace weir::app {

std::shared_ptr<const net::TlsContext> read_certificates(const config::Server& server,
                                                         std::string& why) {
  if (!server.grpc.tls) return nullptr;
  const config::Server::Grpc::Tls& tls = *server.grpc.tls;
  const std::string ca = tls.client_ca ? tls.client_ca->value : std::string();
  auto context = net::TlsContext::serve({ca, tls.cert.value, tls.key.value}, why);
  return context ? *context : nullptr;
}

void check_certificates(const config::Server& server, config::Problems& problems) {
  if (!server.grpc.tls) return;
  std::string why;
  if (read_certificates(server, why) == nullptr) {
    problems.error(server.grpc.tls->where, "the certificates cannot be used: " + why,
                   "they are PEM files; key belongs to the first certificate of cert");
  }
}

}  // namespace weir::app
