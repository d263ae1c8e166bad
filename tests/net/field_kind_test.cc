#include <gtest/gtest.h>

#include <string>

#include "net/http/head.h"

namespace weir::net::field_kind_test {
namespace {

TEST(FieldKind, OfWhatHopsSayOfClients) {
  for (const char* name :
       {"CF-Connecting-IP", "True-Client-IP", "X-Real-IP", "X-Original-URL", "X-Rewrite-URL",
        "X-Forwarded-Client-Cert", "X-Forwarded-Port", "X-Forwarded-User", "Fly-Client-IP",
        "X-Envoy-External-Address", "X-Remote-Addr", "Forwarded", "X-Forwarded"}) {
    EXPECT_EQ(field_kind(name), FieldKind::x_forwarded_other) << name;
  }
  for (const char* name : {"X-Forwardedx", "X-Envoy", "X-Original", "X-Rewrite", "CF-Ray"}) {
    EXPECT_EQ(field_kind(name), FieldKind::plain) << name;
  }
}

/// Grouped by sender. The test below has the fields that are left out on purpose.
TEST(FieldKind, OfCloudsCdnsAndIdentityProxies) {
  for (const char* name :
       {// AWS
        "X-Amzn-Oidc-Identity", "X-Amzn-Oidc-Accesstoken", "X-Amzn-Mtls-Clientcert-Leaf",
        "X-Amzn-Lattice-Identity", "X-Amzn-Request-Context", "X-Amzn-Lambda-Context",
        "X-ApiGateway-Event", "X-ApiGateway-Context", "CloudFront-Viewer-Address",
        "CloudFront-Forwarded-Proto", "CloudFront-Is-Mobile-Viewer",
        // Google
        "X-Goog-Authenticated-User-Id", "X-Apigateway-Api-Userinfo", "X-Endpoint-API-UserInfo",
        "X-Client-Cert-Spiffe", "X-Client-Geo-Location", "X-Appengine-User-Email",
        // Azure and IIS
        "X-MS-Client-Principal", "X-MS-Token-AAD-Id-Token", "X-ARR-ClientCert", "X-ARR-SSL",
        "Client-IP", "Disguised-Host", "Was-Default-Hostname", "X-WAWS-Unencoded-URL",
        "X-AppService-Proto", "MS-ASPNETCORE-CLIENTCERT", "X-Original-For", "X-Original-Proto",
        // Cloudflare, Fastly, Akamai and other networks
        "CF-Access-Authenticated-User-Email", "CF-Visitor", "CF-Worker", "CF-IPCity",
        "CF-IPContinent", "CF-IPLatitude", "CF-Region", "CF-Region-Code", "CF-Timezone",
        "CF-Cert-Subject-DN", "CF-Client-Cert-Sha256", "CF-Bot-Score", "Fastly-SSL",
        "Fastly-Client", "Akamai-User-Risk", "Akamai-Bot", "X-Akamai-Client-IP", "X-True-Client-IP",
        "Incap-Client-IP", "Ali-CDN-Real-IP", "Cdn-Src-Ip", "EO-Connecting-IP", "X-Sucuri-Country",
        "Z-Forwarded-For", "Fly-Forwarded-Proto", "X-Vercel-IP-Country", "X-Vercel-Proxied-For",
        "X-NF-Geo",
        // identity proxies and gateways
        "Remote-User", "Remote-Groups", "Remote-Email", "Remote-Name", "Remote-Sub", "Remote-IP",
        "X-Remote-User", "X-Remote-Group", "X-Remote-Extra-Scopes", "X-Pomerium-Claim-Email",
        "X-Authentik-Username", "X-Auth-Request-Groups", "X-Auth-Username", "X-Auth-Userid",
        "X-Auth-Subject", "X-Auth-Roles", "X-Auth-Groups", "X-Vouch-User",
        "X-Vouch-IdP-Claims-Name", "X-Consumer-Username", "X-Consumer-Custom-ID",
        "X-Anonymous-Consumer", "X-Credential-Identifier", "X-Authenticated-Userid", "X-Userinfo",
        "X-WebAuth-User", "X-Token-Subject", "X-Token-User-Email", "Tailscale-User-Login",
        "Shib-Session-ID", "SM-User", "SM-UserDN", "OIDC-Claim-sub", "OAM-Remote-User", "iv-user",
        "iv-groups", "iv-creds", "Cas-User", "$WSRA", "$WSRU", "WL-Proxy-Client-Cert",
        "Sf-Context-Current-User", "Dapr-Caller-App-Id", "l5d-client-id",
        // ingress-nginx, nginx, Traefik, WSGI, Rack
        "X-Scheme", "X-Original-Method", "SSL-Client-Subject-DN", "X-SSL-Cert", "X-Client-Verify",
        "X-Client-DN", "X-Replaced-Path", "X-Script-Name", "X-Url-Scheme", "X-Sendfile-Type",
        "X-Accel-Mapping", "Front-End-Https", "X-HTTP-Host-Override", "X-Forward-For", "X-ClientIP",
        // read by some app as the address of the client
        "X-Coming-From", "Coming-From", "X-Host", "X-IP", "X-From-IP", "X-Source-IP", "X-User-IP",
        "X-True-IP", "X-Real-Client-IP", "X-Custom-IP-Authorization", "X-Original-IP",
        "X-Original-Remote-Addr", "X-Originally-Forwarded-For", "X-Forwarder-For",
        "X-Qrator-IP-Source", "Cluster-Client-IP", "Real-IP", "AR-Real-IP", "AR-Real-Country",
        "HTTP-X-Forwarded-For", "HTTP-X-Forwarded", "HTTP-Client-IP", "HTTP-Forwarded-For",
        "HTTP-X-Real-IP", "X-Originating-IP", "X-Remote-IP", "X-Remote-Addr", "X-Remote-Host",
        "Forwarded-For-IP", "Fastly-Client-IP", "X-Azure-ClientIP", "X-Azure-SocketIP",
        "X-Appengine-User-IP", "X-Appengine-Remote-Addr", "DO-Connecting-IP", "X-ProxyUser-IP",
        "WL-Proxy-Client-IP", "Proxy-Client-IP", "X-Cluster-Client-IP", "X-Client-IP",
        "CF-Connecting-IPv6", "CF-Pseudo-IPv4"}) {
    EXPECT_EQ(field_kind(name), FieldKind::x_forwarded_other) << name;
  }
}

/// Fields of clients and of apps; what an app can prove by itself, such as a signed token; and
/// fields that identify no client.
TEST(FieldKind, OfNamesThatOnlyLookLikeThoseOfHops) {
  for (const char* name : {"X-Amzn-Oidc-Data",
                           "X-Goog-IAP-JWT-Assertion",
                           "CF-Access-Jwt-Assertion",
                           "X-Pomerium-Jwt-Assertion",
                           "X-Authentik-Jwt",
                           "CF-Access-Client-Id",
                           "CF-Ray",
                           "X-Amzn-Trace-Id",
                           "X-Azure-FDID",
                           "Akamai-Origin-Hop",
                           "X-Api-Key",
                           "X-Auth-Token",
                           "X-Auth-Email",
                           "X-Auth-User",
                           "X-Client-Id",
                           "X-Client-Version",
                           "X-Client-Data",
                           "X-Consumer-Key",
                           "X-User-Id",
                           "X-Original-Format",
                           "X-Csrf-Token",
                           "X-Requested-With",
                           "X-Hosts",
                           "X-Host-Name",
                           "X-IP-Address",
                           "X-User-Agent",
                           "X-True-IPs",
                           "X-Comment",
                           "X-Custom",
                           "Real-IPs",
                           "Coming",
                           "HTTP-Version",
                           "HTTP-X-Other",
                           "X-Access-Token",
                           "Client-IPs",
                           "Cas-Users",
                           "Content-Type",
                           "Cache-Control",
                           "Accept-Language",
                           "Authorization",
                           "If-None-Match",
                           "Sec-Fetch-Mode",
                           "Last-Modified",
                           "Origin-Agent-Cluster",
                           "Traceparent",
                           "Date",
                           "$",
                           "R",
                           "Cf",
                           "X-",
                           "X-A",
                           "X-C-",
                           "iv",
                           "Device-Memory",
                           "Early-Data"}) {
    EXPECT_EQ(field_kind(name), FieldKind::plain) << name;
  }
}

TEST(FieldKind, EveryNameAnyCase) {
  EXPECT_EQ(field_kind("hOST"), FieldKind::host);
  EXPECT_EQ(field_kind("Transfer-Encoding"), FieldKind::transfer_encoding);
  EXPECT_EQ(field_kind("TE"), FieldKind::hop);
  EXPECT_EQ(field_kind("Proxy-Connection"), FieldKind::hop);
  EXPECT_EQ(field_kind("Keep-Alive"), FieldKind::hop);
  EXPECT_EQ(field_kind("Trailer"), FieldKind::hop);
  EXPECT_EQ(field_kind("X-WEIR-Verdict"), FieldKind::x_weir);
  EXPECT_EQ(field_kind("X-Weir-"), FieldKind::x_weir);
  EXPECT_EQ(field_kind("X-Weir-#*"), FieldKind::x_weir);
  EXPECT_EQ(field_kind("X-Weird"), FieldKind::plain);
  EXPECT_EQ(field_kind("X-Forwarded-FOR"), FieldKind::x_forwarded_for);
  EXPECT_EQ(field_kind("Forwarded"), FieldKind::x_forwarded_other);
  EXPECT_EQ(field_kind("X"), FieldKind::plain);
  EXPECT_EQ(field_kind("Hos7"), FieldKind::plain);
  EXPECT_EQ(field_kind("User-Agent"), FieldKind::plain);
}

}  // namespace
}  // namespace weir::net::field_kind_test
