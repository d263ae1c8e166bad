#include "proxy/hop_headers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "tests/support/head_cases.h"
#include "tests/support/own_header_spellings.h"
#include "tests/support/round_trip.h"
#include "tests/support/seed.h"

namespace weir::proxy::hop_headers_test {
namespace {

using net::HeadStatus;

const std::string kTop = "GET /p?q HTTP/1.1\r\nHost: a.example:81\r\n";

UpstreamHeadOptions from(std::string_view peer, bool trusted = false) {
  UpstreamHeadOptions options;
  options.peer_text = peer;
  options.peer_trusted = trusted;
  options.default_host = "app:3000";
  return options;
}

std::string upstream(const std::string& bytes, const UpstreamHeadOptions& options) {
  net::RequestHead head;
  net::HeadProgress progress;
  if (net::parse_request_head(bytes, {}, progress, head) != HeadStatus::complete) return "refused";
  HeadText out;
  append_upstream_head(out, head, options);
  return std::string(out.view());
}

/// The fields of a GET of kTop with `lines`, without those that are always there.
std::string extra(const std::string& lines, const UpstreamHeadOptions& options) {
  std::string out = upstream(kTop + lines + "\r\n", options);
  const std::string start = "GET /p?q HTTP/1.1\r\nHost: a.example:81\r\n";
  EXPECT_EQ(out.substr(0, start.size()), start);
  EXPECT_TRUE(out.ends_with("\r\n\r\n"));
  return out.substr(start.size(), out.size() - start.size() - 2);
}

const std::string kForwarding =
    "X-Forwarded-For: 192.0.2.1\r\nX-Forwarded-Proto: http\r\nX-Forwarded-Host: a.example:81\r\n";

TEST(UpstreamHead, CopiesEndToEndFields) {
  const UpstreamHeadOptions options = from("192.0.2.1");
  EXPECT_EQ(extra("", options), kForwarding);
  EXPECT_EQ(extra("A: 1\r\nb:2 \r\nA: 3\r\n", options), "A: 1\r\nb:2 \r\nA: 3\r\n" + kForwarding);
  EXPECT_EQ(extra("A: 1\r\nTE: trailers\r\nB: 2\r\nKeep-Alive: 5\r\nC: 3\r\n", options),
            "A: 1\r\nB: 2\r\nC: 3\r\n" + kForwarding);
}

TEST(UpstreamHead, DropsHopByHopFieldsAndThoseNamedInConnection) {
  const UpstreamHeadOptions options = from("192.0.2.1");
  EXPECT_EQ(extra("Connection: keep-alive, X-A , x-b\r\nx-a: 1\r\nX-B: 2\r\nX-C: 3\r\n"
                  "Keep-Alive: x\r\nProxy-Connection: x\r\nProxy-Authorization: x\r\nTE: x\r\n"
                  "Trailer: x\r\nUpgrade: h2c\r\nHTTP2-Settings: x\r\nProxy: http://evil\r\n",
                  options),
            "X-C: 3\r\n" + kForwarding);
}

TEST(UpstreamHead, PassesTheSpellingThatAPolicyNamesAndThePlainOne) {
  UpstreamHeadOptions options = from("192.0.2.1");
  constexpr std::string_view kNames[] = {"x.device"};
  options.used_names = kNames;
  EXPECT_EQ(extra("X.Device: 1\r\nX-Device: 2\r\nX_Device: 3\r\nX~Device: 4\r\n", options),
            "X.Device: 1\r\nX-Device: 2\r\n" + kForwarding);
}

TEST(UpstreamHead, DropsEverySpellingOfOurOwnHeaders) {
  const UpstreamHeadOptions options = from("192.0.2.1");
  for (const std::string_view name : kHeadersForApp)
    EXPECT_EQ(extra(std::string(name) + ": 1\r\n", options), kForwarding) << name;
  for (const std::string& name : ::weir::test::own_header_spellings())
    EXPECT_EQ(extra(name + ": 1\r\n", options), kForwarding) << name;
}

TEST(UpstreamHead, FramingHostAndForwardingCannotBeShed) {
  const std::string out = upstream(
      "POST / HTTP/1.1\r\nHost: a\r\nConnection: keep-alive, te, x-a\r\nContent-Length: 3\r\n"
      "X-Real-IP: 192.0.2.5\r\nX-Forwarded-For: 192.0.2.5\r\n\r\n",
      from("10.0.0.1", true));
  EXPECT_EQ(out,
            "POST / HTTP/1.1\r\nHost: a\r\nX-Real-IP: 192.0.2.5\r\nContent-Length: 3\r\n"
            "X-Forwarded-For: 192.0.2.5, 10.0.0.1\r\nX-Forwarded-Proto: http\r\n"
            "X-Forwarded-Host: a\r\n\r\n");
}

TEST(UpstreamHead, WhatEveryHopNeedsCannotBeEndedByAClient) {
  for (const char* option :
       {"host", "Content-Length", "transfer-encoding", "expect", "x-forwarded-for",
        "x-forwarded-proto", "x-forwarded-host", "x-request-id", "X-Real-IP", "forwarded",
        "cf-connecting-ip", "max-forwards", "x-weir-verdict", "X-Forwarded-Client-Cert"}) {
    EXPECT_EQ(upstream("POST / HTTP/1.1\r\nHost: a\r\nConnection: keep-alive, " +
                           std::string(option) + "\r\nContent-Length: 3\r\n\r\n",
                       from("10.0.0.1", true)),
              "refused")
        << option;
  }
}

/// Fields of a load balancer, a CDN or an identity proxy about a client, or about its path, must
/// come from no other peer.
TEST(UpstreamHead, IdentityFieldsOfAnUntrustedPeerAreDropped) {
  const char* names[] = {"CF-Connecting-IP",
                         "True-Client-IP",
                         "X-Real-IP",
                         "X-Client-IP",
                         "X-Original-URL",
                         "X-Rewrite-URL",
                         "X-Forwarded-Client-Cert",
                         "Fly-Client-IP",
                         "X-Envoy-External-Address",
                         "X-Forwarded-User",
                         "X-Original-Forwarded-For",
                         "Fastly-Client-IP",
                         "X-Azure-ClientIP",
                         "X-Coming-From",
                         "X-Host",
                         "X-Original-Remote-Addr",
                         "HTTP-Client-IP",
                         "HTTP-X-Forwarded-For"};
  std::string lines;
  std::string aliases;
  for (const std::string name : names) {
    lines += name + ": 1.1.1.1\r\n";
    std::string alias = name;
    alias[alias.rfind('-')] = '_';
    aliases += alias + ": 1.1.1.1\r\n";
    alias[alias.rfind('_')] = '.';
    aliases += alias + ": 1.1.1.1\r\n";
  }
  EXPECT_EQ(extra(lines + aliases, from("192.0.2.1")), kForwarding);
  const std::string trusted =
      "X-Forwarded-For: 10.0.0.1\r\nX-Forwarded-Proto: http\r\nX-Forwarded-Host: a.example:81\r\n";
  EXPECT_EQ(extra(lines + aliases, from("10.0.0.1", true)), lines + trusted);

  const std::string_view used[] = {"x-original-url"};
  UpstreamHeadOptions reads = from("192.0.2.1");
  reads.used_names = used;
  EXPECT_EQ(extra(lines, reads), "X-Original-URL: 1.1.1.1\r\n" + kForwarding)
      << "a policy reads it";
  reads.client_header = "x-original-url";
  EXPECT_EQ(extra(lines, reads), kForwarding) << "it is to name the client";
  UpstreamHeadOptions own = from("192.0.2.1");
  own.client_header = "x-my-client";
  EXPECT_EQ(extra("X-My-Client: 1.1.1.1\r\nX_My.Client: 1.1.1.1\r\nA: b\r\n", own),
            "A: b\r\n" + kForwarding);
}

// The names of CGI, which many apps in Java ask for as names of fields.
TEST(UpstreamHead, NoFieldIsNamedAsCgiNamesTheAddressOfTheClient) {
  std::string lines;
  for (const char* const name :
       {"HTTP_X_FORWARDED_FOR", "HTTP_X_FORWARDED", "HTTP_X_CLUSTER_CLIENT_IP", "HTTP_CLIENT_IP",
        "HTTP_FORWARDED_FOR", "HTTP_FORWARDED", "HTTP_X_REAL_IP", "HTTP_VIA", "REMOTE_ADDR"}) {
    lines += std::string(name) + ": 1.1.1.1\r\n";
  }
  EXPECT_EQ(extra(lines, from("192.0.2.1")), kForwarding);
  EXPECT_EQ(extra(lines, from("10.0.0.1", true)),
            "X-Forwarded-For: 10.0.0.1\r\nX-Forwarded-Proto: http\r\nX-Forwarded-Host: "
            "a.example:81\r\n");
}

TEST(UpstreamHead, UsersCertificatesAndCountriesOfAnUntrustedPeerAreDropped) {
  const char* names[] = {"Client-Cert",
                         "Client-Cert-Chain",
                         "SSL-Client-Cert",
                         "X-SSL-Client-Verify",
                         "X-Amzn-Mtls-Clientcert-Subject",
                         "X-Amzn-Oidc-Identity",
                         "X-Goog-Authenticated-User-Email",
                         "X-MS-Client-Principal-Name",
                         "CF-Access-Authenticated-User-Email",
                         "CF-IPCountry",
                         "CloudFront-Viewer-Address",
                         "X-AppEngine-Country",
                         "X-Akamai-Edgescape",
                         "X-Auth-Request-Email",
                         "Remote-User",
                         "X-Remote-User",
                         "WL-Proxy-Client-IP",
                         "Proxy-Client-IP",
                         "X-ProxyUser-Ip",
                         "X-Sucuri-ClientIP",
                         "Forwarded-For",
                         "Client-IP",
                         "Remote-Groups",
                         "X-Pomerium-Claim-Email",
                         "X-Consumer-Username",
                         "Tailscale-User-Login"};
  for (const std::string name : names) {
    const std::string line = name + ": 1\r\n";
    std::string alias = line;
    alias[alias.rfind('-')] = '_';
    EXPECT_EQ(extra(line + alias, from("192.0.2.1")), kForwarding) << name;
    EXPECT_NE(extra(line, from("10.0.0.1", true)).find(line), std::string::npos) << name;
  }
  const std::string others = "Content-Security: 1\r\nReferrer-Note: 1\r\nX-Request-Mode: 1\r\n";
  EXPECT_EQ(extra(others, from("192.0.2.1")), others + kForwarding);
}

/// mod_auth_openidc, SiteMinder and Oracle write their names with `_`, which is how the app knows
/// them.
TEST(UpstreamHead, NamesThatIdentityProxiesSpellWithUnderscoresPassFromTrustedPeersOnly) {
  const std::string lines = "OIDC_CLAIM_email: a@b\r\nSM_USER: alice\r\nOAM_REMOTE_USER: alice\r\n";
  EXPECT_EQ(extra(lines, from("192.0.2.1")), kForwarding);
  EXPECT_EQ(extra("OIDC-CLAIM-email: a@b\r\nSM.USER: alice\r\n", from("192.0.2.1")), kForwarding);
  EXPECT_NE(extra(lines, from("10.0.0.1", true)).find(lines), std::string::npos);
}

TEST(UpstreamHead, XForwardedForIsMadeAnewWhereAnotherFieldNamesTheClient) {
  UpstreamHeadOptions options = from("10.0.0.1", true);
  options.client_header = "forwarded";
  options.client_text = "203.0.113.7";
  EXPECT_EQ(extra("Forwarded: for=203.0.113.7\r\nX-Forwarded-For: 1.1.1.1\r\n", options),
            "Forwarded: for=203.0.113.7\r\nX-Forwarded-For: 203.0.113.7, 10.0.0.1\r\n"
            "X-Forwarded-Proto: http\r\nX-Forwarded-Host: a.example:81\r\n");
  options.client_text = "10.0.0.1";
  EXPECT_EQ(extra("X-Forwarded-For: 1.1.1.1\r\n", options),
            "X-Forwarded-For: 10.0.0.1\r\nX-Forwarded-Proto: http\r\n"
            "X-Forwarded-Host: a.example:81\r\n");
}

TEST(UpstreamHead, MaxForwardsCountsDown) {
  const auto sent = [](const std::string& method, const std::string& lines) {
    const std::string out =
        upstream(method + " / HTTP/1.1\r\nHost: a\r\n" + lines + "\r\n", from("p"));
    const std::size_t at = out.find("Max-Forwards");
    return at == std::string::npos ? std::string() : out.substr(at, out.find('\r', at) - at);
  };
  EXPECT_EQ(sent("OPTIONS", "Max-Forwards: 3\r\n"), "Max-Forwards: 2");
  EXPECT_EQ(sent("TRACE", "max-forwards: 1\r\n"), "Max-Forwards: 0");
  EXPECT_EQ(sent("OPTIONS", "Max-Forwards: 99999999999999999999\r\n"), "Max-Forwards: 2147483646");
  EXPECT_EQ(sent("GET", "Max-Forwards: 0\r\n"), "Max-Forwards: 0") << "it means nothing there";
  EXPECT_EQ(sent("OPTIONS", "Max-Forwards: x\r\n"), "Max-Forwards: x");
}

TEST(UpstreamHead, OneFramingFieldFromTheDecision) {
  EXPECT_EQ(upstream("POST / HTTP/1.1\r\ncontent-length:  007\r\nHost: a\r\n\r\n", from("p")),
            "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 7\r\nX-Forwarded-For: p\r\n"
            "X-Forwarded-Proto: http\r\nX-Forwarded-Host: a\r\n\r\n");
  EXPECT_EQ(upstream("POST / HTTP/1.1\r\nHost: a\r\ntransfer-encoding: CHUNKED\r\n\r\n", from("p")),
            "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nX-Forwarded-For: p\r\n"
            "X-Forwarded-Proto: http\r\nX-Forwarded-Host: a\r\n\r\n");
}

TEST(UpstreamHead, AbsoluteFormAndHttp10) {
  EXPECT_EQ(upstream("GET http://A.b/x HTTP/1.1\r\nHost: a.B\r\n\r\n", from("p")),
            "GET /x HTTP/1.1\r\nHost: a.B\r\nX-Forwarded-For: p\r\nX-Forwarded-Proto: http\r\n"
            "X-Forwarded-Host: a.B\r\n\r\n");
  EXPECT_EQ(upstream("GET / HTTP/1.0\r\n\r\n", from("p")),
            "GET / HTTP/1.1\r\nHost: app:3000\r\nX-Forwarded-For: p\r\nX-Forwarded-Proto: http\r\n"
            "\r\n");
}

TEST(UpstreamHead, ForwardingFieldsOfAnUntrustedPeerAreReplaced) {
  const std::string lies =
      "X-Forwarded-For: 1.1.1.1\r\nx-forwarded-for: 2.2.2.2\r\nX-Forwarded-Proto: https\r\n"
      "X-Forwarded-Host: evil\r\nForwarded: for=1.1.1.1\r\nX-Real-IP: 1.1.1.1\r\n"
      "X-Forwarded-Port: 1\r\nTrue-Client-IP: 1.1.1.1\r\nX-Client-IP: 1.1.1.1\r\n";
  EXPECT_EQ(extra(lies, from("192.0.2.1")), kForwarding);
  EXPECT_EQ(extra(lies, from("10.0.0.1", true)),
            "Forwarded: for=1.1.1.1\r\nX-Real-IP: 1.1.1.1\r\nX-Forwarded-Port: 1\r\n"
            "True-Client-IP: 1.1.1.1\r\nX-Client-IP: 1.1.1.1\r\n"
            "X-Forwarded-For: 1.1.1.1, 2.2.2.2, 10.0.0.1\r\nX-Forwarded-Proto: https\r\n"
            "X-Forwarded-Host: evil\r\n");
  EXPECT_EQ(extra("X-Forwarded-Proto: gopher\r\nX-Forwarded-For:\r\n", from("192.0.2.1", true)),
            kForwarding);
}

TEST(UpstreamHead, AliasesAndOurOwnNamesAreDropped) {
  const std::string_view used[] = {"x-user-id", "x-device-id"};
  UpstreamHeadOptions options = from("192.0.2.1");
  options.used_names = used;
  EXPECT_EQ(extra("X_User_Id: 1\r\nX-User_Id: 1\r\nx_DEVICE-id: 1\r\nX_Forwarded_For: 1\r\n"
                  "Content_Length: 3\r\nTransfer_Encoding: chunked\r\nX_Request_Id: 1\r\n"
                  "X_Forwarded: for=9.9.9.9\r\nX_Forwarded_By: 1\r\nX-Real_IP: 9.9.9.9\r\n"
                  "X_Weir_Verdict: 1\r\nX-Weir-Score_: 1\r\nX-Weir_Score: 1\r\nCookie_: kept\r\n"
                  "X_Other: kept\r\nX-Weir-Verdict: flag\r\nx-weir-policy: 1\r\nX-Weird: kept\r\n",
                  options),
            "Cookie_: kept\r\nX_Other: kept\r\nX-Weird: kept\r\n" + kForwarding);
}

// lighttpd makes one variable of names that differ only between letters and digits.
TEST(UpstreamHead, NoCharacterOfANameMakesAnAliasThatPasses) {
  const std::string_view used[] = {"x-user-id"};
  UpstreamHeadOptions options = from("192.0.2.1");
  options.used_names = used;
  for (const char mark : std::string_view("!#$%&'*+.^_`|~")) {
    std::string lines, kept = std::string("X") + mark + "Other: kept\r\n";
    for (std::string_view name : {"X-User-Id", "X-Forwarded-For", "X-Real-IP", "X-Weir-Verdict",
                                  "Content-Length", "Transfer-Encoding", "Content-Type"}) {
      std::string alias(name);
      std::replace(alias.begin(), alias.end(), '-', mark);
      lines += alias + ": 1\r\n";
    }
    EXPECT_EQ(extra(lines + kept, options), kept + kForwarding) << mark;
  }
  EXPECT_EQ(extra("$WSRA: 9.9.9.9\r\n", options), kForwarding) << "a name of its own";
}

TEST(UpstreamHead, ANameWithADotThatAPolicyReadsPassesAsItIs) {
  const std::string_view used[] = {"x.device", "x~id"};
  UpstreamHeadOptions options = from("192.0.2.1");
  options.used_names = used;
  const std::string kept = "X.Device: 7\r\nX~Id: 8\r\n";
  EXPECT_EQ(extra(kept + "X_Device: 9\r\nX.Id: 9\r\n", options), kept + kForwarding);
}

TEST(UpstreamHead, EffectLinesIdAndExpect) {
  UpstreamHeadOptions options = from("192.0.2.1");
  options.extra_lines = "X-Weir-Verdict: flag\r\n";
  options.request_id = "id-1";
  EXPECT_EQ(extra("X-Request-Id: theirs\r\nConnection: close\r\n", options),
            kForwarding + "X-Request-Id: id-1\r\nX-Weir-Verdict: flag\r\n");

  const std::string post =
      "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n";
  UpstreamHeadOptions expecting = from("p");
  EXPECT_NE(upstream(post, expecting).find("\r\nExpect: 100-continue\r\n"), std::string::npos);
  expecting.forward_expect = false;
  EXPECT_EQ(upstream(post, expecting).find("Expect"), std::string::npos);
  EXPECT_EQ(extra("Expect: 100-continue\r\n", options).find("Expect"), std::string::npos);
}

TEST(UpstreamHead, Websocket) {
  const std::string handshake =
      "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
      "Sec-WebSocket-Protocol: chat\r\n";
  EXPECT_EQ(extra("Upgrade: websocket\r\nConnection: Upgrade, sec-websocket-key\r\n" + handshake,
                  from("192.0.2.1")),
            handshake + kForwarding + "Connection: Upgrade\r\nUpgrade: websocket\r\n");
  EXPECT_EQ(extra("Upgrade: websocket\r\n" + handshake, from("192.0.2.1")),
            handshake + kForwarding);
}

struct Down {
  std::string head;
  DownstreamBody body;
};

Down downstream(const std::string& bytes, const DownstreamHeadOptions& options = {},
                const net::AnsweredRequest& request = {}) {
  net::ResponseHead head;
  net::HeadProgress progress;
  if (net::parse_response_head(bytes, request, {}, progress, head) != HeadStatus::complete) {
    return {"refused", {}};
  }
  HeadText text;
  Down out;
  if (head.interim()) {
    append_interim_head(text, head);
  } else {
    out.body = append_downstream_head(text, head, options);
  }
  out.head = text.view();
  return out;
}

TEST(DownstreamHead, DropsHopByHopAndKeepsTheRest) {
  const Down down = downstream(
      "HTTP/1.1 200 Fine\r\nServer: x\r\nConnection: close, x-a\r\nX-A: 1\r\nKeep-Alive: x\r\n"
      "Content-Length: 05\r\nSet-Cookie: a\r\nSet-Cookie: b\r\nX_b: c\r\nX-Request-Id: r\r\n"
      "X-Weir-Verdict: x\r\nUpgrade: h2\r\nProxy-Authenticate: x\r\n\r\n",
      {.http_1_0 = false, .keep_alive = true, .extra_lines = "RateLimit: \"a\";r=1\r\n"});
  EXPECT_EQ(down.head,
            "HTTP/1.1 200 Fine\r\nServer: x\r\nSet-Cookie: a\r\nSet-Cookie: b\r\nX_b: c\r\n"
            "X-Request-Id: r\r\nContent-Length: 5\r\nRateLimit: \"a\";r=1\r\n\r\n");
  EXPECT_EQ(down.body.framing, net::Framing::length);
  EXPECT_TRUE(down.body.keep_alive);
}

TEST(DownstreamHead, HasTheRequestsIdUnlessTheAppGaveOne) {
  DownstreamHeadOptions options;
  options.request_id = "id-1";
  EXPECT_EQ(downstream("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", options).head,
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-Request-Id: id-1\r\n\r\n");
  EXPECT_EQ(
      downstream("HTTP/1.1 200 OK\r\nx-request-id: own\r\nContent-Length: 5\r\n\r\n", options).head,
      "HTTP/1.1 200 OK\r\nx-request-id: own\r\nContent-Length: 5\r\n\r\n");
}

TEST(UpstreamHead, ATraceparentStandsForTheClients) {
  UpstreamHeadOptions options = from("192.0.2.1");
  EXPECT_EQ(extra("Traceparent: theirs\r\nA: b\r\n", options),
            "Traceparent: theirs\r\nA: b\r\n" + kForwarding);
  options.traceparent = "ours";
  EXPECT_EQ(extra("traceparent: a\r\nA: b\r\nTraceparent: c\r\nTracestate: d\r\n", options),
            "A: b\r\nTracestate: d\r\n" + kForwarding + "Traceparent: ours\r\n");
  options.new_trace = true;
  EXPECT_EQ(extra("traceparent: a\r\nA: b\r\nTracestate: d\r\ntracestate: e\r\n", options),
            "A: b\r\n" + kForwarding + "Traceparent: ours\r\n")
      << "the state of a trace that does not go on";
}

TEST(DownstreamHead, FramingForEachClient) {
  const std::string length = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n";
  const std::string chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
  const std::string until_close = "HTTP/1.0 200 OK\r\n\r\n";
  const DownstreamHeadOptions http11;
  const DownstreamHeadOptions http11_close{.keep_alive = false};
  const DownstreamHeadOptions http10{.http_1_0 = true};
  struct Case {
    std::string head;
    DownstreamHeadOptions options;
    std::string lines;
    net::Framing framing;
    bool keep_alive;
  };
  using net::Framing;
  const Case cases[] = {
      {length, http11, "Content-Length: 5\r\n", Framing::length, true},
      {length, http11_close, "Content-Length: 5\r\nConnection: close\r\n", Framing::length, false},
      {length, http10, "Content-Length: 5\r\nConnection: keep-alive\r\n", Framing::length, true},
      {chunked, http11, "Transfer-Encoding: chunked\r\n", Framing::chunked, true},
      {chunked, http10, "Connection: close\r\n", Framing::until_close, false},
      {until_close, http11, "Transfer-Encoding: chunked\r\n", Framing::chunked, true},
      {until_close, http10, "Connection: close\r\n", Framing::until_close, false},
  };
  for (const Case& c : cases) {
    const Down down = downstream(c.head, c.options);
    EXPECT_EQ(down.head, "HTTP/1.1 200 OK\r\n" + c.lines + "\r\n");
    EXPECT_EQ(down.body.framing, c.framing);
    EXPECT_EQ(down.body.keep_alive, c.keep_alive);
  }
}

TEST(DownstreamHead, AnswersWithoutABody) {
  EXPECT_EQ(downstream("HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n").head,
            "HTTP/1.1 204 No Content\r\n\r\n");
  EXPECT_EQ(downstream("HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n").head,
            "HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n");
  EXPECT_EQ(downstream("HTTP/1.1 200\r\nContent-Length: 9\r\n\r\n", {}, {.head = true}).head,
            "HTTP/1.1 200 \r\nContent-Length: 9\r\n\r\n");
  EXPECT_EQ(
      downstream("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", {}, {.head = true}).head,
      "HTTP/1.1 200 OK\r\n\r\n");
  EXPECT_EQ(downstream("HTTP/1.1 103 Early Hints\r\nLink: a\r\nConnection: close\r\n\r\n").head,
            "HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n");
}

TEST(DownstreamHead, Upgrade) {
  const std::string accept = "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n";
  const Down down = downstream(
      "HTTP/1.1 101 Go\r\nUpgrade: websocket\r\nConnection: upgrade\r\n" + accept + "\r\n", {},
      {.websocket_key = "dGhlIHNhbXBsZSBub25jZQ=="});
  EXPECT_EQ(down.head,
            "HTTP/1.1 101 Go\r\n" + accept + "Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
  EXPECT_FALSE(down.body.keep_alive);
}

/// Valid and nearly valid messages at random, for the second opinion.
class RandomMessages {
 public:
  explicit RandomMessages(std::uint32_t seed) : random_(seed) {}
  std::uint32_t number() { return static_cast<std::uint32_t>(random_()); }
  std::size_t below(std::size_t n) { return random_() % n; }
  template <std::size_t n>
  std::string one_of(const char* const (&choices)[n]) {
    return choices[below(n)];
  }

  std::string request() {
    static constexpr const char* kMethods[] = {"GET",    "POST",    "PUT",   "HEAD",
                                               "DELETE", "OPTIONS", "PATCH", "PURGE"};
    static constexpr const char* kHosts[] = {"a", "A.example:80", "[::1]:8080", "192.0.2.1"};
    std::string out = one_of(kMethods) + " " + target() + " HTTP/1." + (below(9) ? "1" : "0");
    std::vector<std::string> lines{"Host: " + one_of(kHosts)};
    fields(lines);
    return finish(std::move(out), std::move(lines));
  }

  std::string response() {
    static constexpr const char* kStatus[] = {"200 OK",      "404 Not Found", "204 x",       "304 ",
                                              "503 Go away", "103 Early",     "500 \xc3\xa4"};
    std::string out = std::string{"HTTP/1."} + (below(9) ? "1 " : "0 ") + one_of(kStatus);
    std::vector<std::string> lines;
    fields(lines);
    return finish(std::move(out), std::move(lines));
  }

 private:
  std::string target() {
    static constexpr const char* kParts[] = {"/api", "/login", "//",     "/%2e", "/..",
                                             ";x=1", "?a=b",   "&c=%20", "/\"|", "/x.html"};
    std::string out = "/";
    for (std::size_t n = below(6); n-- > 0;) out += one_of(kParts);
    return out;
  }

  void fields(std::vector<std::string>& lines) {
    static constexpr const char* kLines[] = {
        "User-Agent: Mozilla/5.0 (X11; Linux x86_64)",
        "Accept:*/*",
        "Cookie: a=b; c=d \t",
        "Connection: keep-alive",
        "Connection: close, x-a",
        "X-A: 1",
        "x-b:",
        "TE: trailers",
        "Trailer: x",
        "Keep-Alive: timeout=5",
        "X-Forwarded-For: 1.1.1.1, 2.2.2.2",
        "X-Forwarded-Proto: https",
        "X-Forwarded-Host: b",
        "Forwarded: for=1.1.1.1",
        "X-Request-Id: abc",
        "X-Weir-Verdict: flag",
        "X_Forwarded_For: 9.9.9.9",
        "X_c: \xff",
        "Upgrade: h2c",
        "Proxy-Authorization: x",
        "Content-Type: application/json",
        "X-Very-Long-Name-Beyond-Sixteen-Bytes: a value beyond sixteen bytes, too"};
    for (std::size_t n = below(20); n-- > 0;) lines.push_back(one_of(kLines));
  }

  std::string finish(std::string out, std::vector<std::string> lines) {
    std::string body(below(3) ? below(40) : below(5000), '\0');
    for (char& c : body) c = static_cast<char>(random_());
    const std::size_t framing = below(3);
    test::Cuts cuts{number()};
    std::string wire;
    if (framing == 1) {
      lines.push_back("content-length: " + std::to_string(body.size()));
      wire = body;
    } else if (framing == 2) {
      lines.push_back("Transfer-Encoding:chunked");
      test::write_body(wire, body, net::Framing::chunked, cuts);
    }
    std::shuffle(lines.begin(), lines.end(), random_);
    for (const std::string& line : lines) out += "\r\n" + line;
    return out + "\r\n\r\n" + wire;
  }

  std::mt19937 random_;
};

TEST(RoundTrip, RandomRequestsReparseToTheSameMeaning) {
  const auto seed = ::weir::test::new_seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  RandomMessages messages{seed};
  int complete = 0;
  for (int i = 0; i < 4000; ++i) {
    const std::string bytes = messages.request();
    HeadStatus status;
    ASSERT_EQ(test::check_request(bytes, messages.number(), &status), "") << test::escaped(bytes);
    complete += status == HeadStatus::complete;
  }
  EXPECT_GT(complete, 3500);  // the rest: chunked in HTTP/1.0
}

TEST(RoundTrip, RandomResponsesReparseToTheSameMeaning) {
  const auto seed = ::weir::test::new_seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  RandomMessages messages{seed};
  int complete = 0;
  for (int i = 0; i < 4000; ++i) {
    const std::string bytes = messages.response();
    HeadStatus status;
    ASSERT_EQ(test::check_response(bytes, messages.number(), &status), "") << test::escaped(bytes);
    complete += status == HeadStatus::complete;
  }
  EXPECT_GT(complete, 3500);
}

TEST(RoundTrip, DamagedMessagesAreRefusedOrMeanTheSameToBoth) {
  const auto seed = ::weir::test::new_seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  RandomMessages messages{seed};
  for (int i = 0; i < 8000; ++i) {
    std::string bytes = i % 2 == 0 ? messages.request() : messages.response();
    for (std::size_t n = 1 + messages.below(3); n-- > 0;) {
      constexpr std::string_view kBytes{"\r\n \t:\0,;0\x7f\x80", 11};
      const char c = kBytes[messages.below(kBytes.size())];
      const std::size_t at = messages.below(std::min<std::size_t>(bytes.size(), 400));
      if (messages.below(2) == 0) {
        bytes[at] = c;
      } else {
        bytes.insert(at, 1, c);
      }
    }
    const std::uint32_t cuts = messages.number();
    ASSERT_EQ(i % 2 == 0 ? test::check_request(bytes, cuts) : test::check_response(bytes, cuts), "")
        << test::escaped(bytes);
  }
}

}  // namespace
}  // namespace weir::proxy::hop_headers_test
