#include "net/http/hop_fields.h"

#include <string_view>

#include "net/http/token.h"

namespace weir::net {
namespace {

/// Part of kind_by_prefix().
bool begins_as_theirs_with_x_a(const char* name, std::size_t size) noexcept {
  const auto begins = [=](std::string_view prefix) {
    return size >= prefix.size() && same_token(name, prefix.data(), prefix.size());
  };
  if (size < 8) return false;
  switch (name[3] | 0x20) {
    case 'c':  // Rack::Sendfile
      return begins("x-accel-mapping");
    case 'k':
      return begins("x-akamai-edgescape") || begins("x-akamai-client-") || begins("x-akamai-user-");
    case 'm':  // ALB, VPC Lattice, Lambda Web Adapter
      return begins("x-amzn-oidc-identity") || begins("x-amzn-oidc-accesstoken") ||
             begins("x-amzn-mtls-") || begins("x-amzn-lattice-") ||
             begins("x-amzn-request-context") || begins("x-amzn-lambda-context");
    case 'n':  // Kong
      return begins("x-anonymous-consumer");
    case 'p':  // App Engine, the API gateways of Google and AWS, Azure App Service
      return begins("x-appengine-") || begins("x-apigateway-") || begins("x-appservice-");
    case 'r':
      return begins("x-arr-ssl");
    case 'u':  // oauth2-proxy, Gatekeeper, authentik, Kong
      return begins("x-auth-request-") || begins("x-auth-userid") || begins("x-auth-username") ||
             begins("x-auth-subject") || begins("x-auth-roles") || begins("x-auth-groups") ||
             begins("x-authenticated-") || (begins("x-authentik-") && !begins("x-authentik-jwt"));
    default:
      return false;
  }
}

/// Part of kind_by_prefix().
bool begins_as_theirs_with_x_c(const char* name, std::size_t size) noexcept {
  const auto begins = [=](std::string_view prefix) {
    return size >= prefix.size() && same_token(name, prefix.data(), prefix.size());
  };
  if (size < 8) return false;
  switch (name[3] | 0x20) {
    case 'o':  // Kong, APISIX; read by phpMyAdmin and others
      return begins("x-consumer-id") || begins("x-consumer-custom-id") ||
             begins("x-consumer-username") || begins("x-consumer-groups") ||
             begins("x-coming-from");
    case 'u':
      return begins("x-custom-ip-authorization");
    case 'l':  // nginx, HAProxy, Google's load balancers
      return begins("x-client-cert") || begins("x-client-dn") || begins("x-client-verify") ||
             begins("x-client-geo-location") || begins("x-client-scheme") || begins("x-clientip");
    case 'r':
      return begins("x-credential-identifier");
    default:
      return false;
  }
}

/// Part of kind_without_x().
bool is_theirs_with_c(const char* name, std::size_t size) noexcept {
  const auto begins = [=](std::string_view prefix) {
    return size >= prefix.size() && same_token(name, prefix.data(), prefix.size());
  };
  switch (name[1] | 0x20) {
    case 'a':  // Apache's mod_auth_cas
      return size == 8 && begins("cas-user");
    case 'd':
      return begins("cdn-src-ip");
    case 'f':  // Cloudflare
      for (const std::string_view prefix :
           {"cf-access-authenticated-user-", "cf-bot-", "cf-cert-", "cf-client-", "cf-ipc",
            "cf-iplatitude", "cf-iplongitude", "cf-metro-code", "cf-postal-code", "cf-region",
            "cf-threat-score", "cf-timezone", "cf-verified-bot", "cf-visitor", "cf-worker"}) {
        if (begins(prefix)) return true;
      }
      return false;
    case 'l':  // RFC 9440, Azure, CloudFront
      return begins("client-cert") || begins("cloudfront-viewer-") ||
             begins("cloudfront-forwarded-") || begins("cloudfront-is-") ||
             (size == 9 && begins("client-ip")) || begins("cluster-client-ip");
    case 'o':
      return begins("coming-from");
    default:
      return false;
  }
}

// ASP.NET, ingress-nginx.
bool begins_as_theirs_with_x_o(const char* name, std::size_t size) noexcept {
  const auto begins = [=](std::string_view prefix) {
    return size >= prefix.size() && same_token(name, prefix.data(), prefix.size());
  };
  return (size == 14 && begins("x-original-for")) || begins("x-original-proto") ||
         begins("x-original-method") || begins("x-original-ip") || begins("x-original-remote-") ||
         begins("x-originally-forwarded-for");
}

// The name that CGI gives to a field, sent as a field.
bool is_theirs_with_h(const char* name, std::size_t size) noexcept {
  const auto begins = [=](std::string_view prefix) {
    return size >= prefix.size() && same_token(name, prefix.data(), prefix.size());
  };
  return begins("http-x-forwarded") || begins("http-x-real-ip") || begins("http-x-client-ip") ||
         begins("http-x-cluster-client-ip") || begins("http-client-ip") ||
         begins("http-forwarded") || begins("http-cf-connecting-ip") ||
         begins("http-true-client-ip") || (size == 8 && begins("http-via"));
}

}  // namespace

FieldKind kind_by_prefix(const char* name, std::size_t size) noexcept {
  const auto begins = [=](std::string_view prefix) {
    return size >= prefix.size() && same_token(name, prefix.data(), prefix.size());
  };
  bool is_theirs = false;
  switch (name[2] | 0x20) {
    case 'a':
      is_theirs = begins_as_theirs_with_x_a(name, size);
      break;
    case 'c':
      is_theirs = begins_as_theirs_with_x_c(name, size);
      break;
    case 'e':  // Envoy, Google's Cloud Endpoints
      is_theirs = begins("x-envoy-") || begins("x-endpoint-api-");
      break;
    case 'f':
      is_theirs = begins("x-forwarded-") || begins("x-forward-") || begins("x-forwarder-for") ||
                  begins("x-from-ip");
      break;
    case 'g':  // Google's Identity-Aware Proxy
      is_theirs = begins("x-goog-authenticated-user-");
      break;
    case 'h':
      is_theirs = begins("x-http-host-override") || (size == 6 && begins("x-host"));
      break;
    case 'i':
      is_theirs = size == 4 && begins("x-ip");
      break;
    case 'm':  // Azure App Service
      is_theirs = begins("x-ms-client-principal") || begins("x-ms-token-");
      break;
    case 'n':  // Netlify
      is_theirs = begins("x-nf-geo");
      break;
    case 'o':
      is_theirs = begins_as_theirs_with_x_o(name, size);
      break;
    case 'p':
      is_theirs = begins("x-proxyuser-ip") || begins("x-pomerium-claim");
      break;
    case 'q':  // Qrator
      is_theirs = begins("x-qrator-ip-source");
      break;
    case 'r':  // Kubernetes and many more, Traefik
      is_theirs = begins("x-remote-") || begins("x-replaced-path") || begins("x-real-client-ip");
      break;
    case 's':  // nginx, Sucuri, ingress-nginx, WSGI, Rack::Sendfile
      is_theirs = begins("x-ssl-c") || begins("x-sucuri-") || begins("x-scheme") ||
                  begins("x-script-name") || begins("x-sendfile-type") || begins("x-source-ip");
      break;
    case 't':  // Caddy
      is_theirs = begins("x-token-user-") || begins("x-token-subject") ||
                  begins("x-true-client-ip") || (size == 9 && begins("x-true-ip"));
      break;
    case 'u':  // Kong, APISIX
      is_theirs = begins("x-userinfo") || begins("x-url-scheme") || begins("x-user-ip");
      break;
    case 'v':
      is_theirs = begins("x-vouch-") || begins("x-vercel-ip-") || begins("x-vercel-proxied-for");
      break;
    case 'w':
      if (begins("x-weir-")) return FieldKind::x_weir;
      is_theirs = begins("x-webauth-") || begins("x-waws-unencoded-url");  // Grafana, Azure
      break;
    default:
      break;
  }
  return is_theirs ? FieldKind::x_forwarded_other : FieldKind::plain;
}

FieldKind kind_without_x(const char* name, std::size_t size) noexcept {
  const auto begins = [=](std::string_view prefix) {
    return size >= prefix.size() && same_token(name, prefix.data(), prefix.size());
  };
  const char second = static_cast<char>(name[1] | 0x20);
  bool is_theirs = false;
  switch (name[0] | 0x20) {
    case 'a':
      if (second == 'k') is_theirs = begins("akamai-bot") || begins("akamai-user-risk");
      if (second == 'l') is_theirs = begins("ali-cdn-real-ip");
      if (second == 'r') is_theirs = begins("ar-real-");  // ArvanCloud
      break;
    case 'c':
      is_theirs = is_theirs_with_c(name, size);
      break;
    case 'd':
      is_theirs = begins("dapr-caller-") || begins("disguised-host");
      break;
    case 'e':  // Tencent EdgeOne
      is_theirs = begins("eo-connecting-ip");
      break;
    case 'f':
      is_theirs = begins("forwarded-for") || begins("fastly-ssl") || begins("fastly-client") ||
                  begins("fly-forwarded-") || begins("front-end-https");
      break;
    case 'h':
      is_theirs = is_theirs_with_h(name, size);
      break;
    case 'i':  // IBM WebSEAL, Imperva
      if (second == 'v') {
        is_theirs = begins("iv-user") || begins("iv-groups") || begins("iv-creds") ||
                    begins("iv-remote-address");
      }
      if (second == 'n') is_theirs = begins("incap-client-ip");
      break;
    case 'l':  // Linkerd
      is_theirs = begins("l5d-client-id") || begins("l5d-remote-ip");
      break;
    case 'm':
      is_theirs = begins("ms-aspnetcore-");
      break;
    case 'o':  // Apache's mod_auth_openidc, Oracle
      is_theirs = begins("oidc-") || begins("oam-remote-user");
      break;
    case 'p':
      is_theirs = begins("proxy-client-ip");
      break;
    case 'r':  // Authelia, CGI
      is_theirs = begins("remote-") || (size == 7 && begins("real-ip"));
      break;
    case 's':  // ingress-nginx, Shibboleth, SiteMinder, Snowflake
      if (second == 's') is_theirs = begins("ssl-client-");
      if (second == 'h') is_theirs = begins("shib-");
      if (second == 'm') is_theirs = begins("sm-user");
      if (second == 'f') is_theirs = begins("sf-context-");
      break;
    case 't':
      is_theirs = begins("tailscale-");
      break;
    case 'w':
      is_theirs = begins("wl-proxy-") || begins("was-default-hostname");
      break;
    case 'z':
      is_theirs = begins("z-forwarded-for");
      break;
    default:
      break;
  }
  return is_theirs ? FieldKind::x_forwarded_other : FieldKind::plain;
}

}  // namespace weir::net
