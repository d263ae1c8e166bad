#include <gtest/gtest.h>

#include "config/import/imported.h"
#include "config/load.h"

/// The imported rules do what HAProxy's rules do, or a note names the difference.
namespace weir::config::import_haproxy_test {
namespace {

using Lines = std::vector<std::string>;

std::string head_of(const PolicyDef& policy) {
  std::string out = policy.name.value + ":";
  for (const KeyPart& part : policy.key) out += " " + part.field.value;
  if (policy.when) out += " when " + policy.when->value;
  return out;
}

std::string rung_of(const PolicyDef& policy) {
  const Rung& rung = policy.then.at(0);
  const auto* number = std::get_if<Located<Number>>(&rung.limit);
  std::string out = rung.compare == Compare::at ? " at " : " over ";
  out += number == nullptr ? "-" : number->value.to_string();
  if (rung.condition) out += " if " + rung.condition->value;
  return out + " " + std::to_string(rung.status->value) +
         (policy.charge.value == Charge::always ? " always" : "");
}

/// A line of each policy, then of each note: `6: why`.
Lines read(const std::string& text) {
  const Imported got = import_haproxy(text);
  if (!got.error.empty()) return {got.error};
  const Loaded loaded = load_text("imported.yaml", got.yaml);
  EXPECT_TRUE(loaded.model) << render_human(loaded.problems, loaded.views(), false) << got.yaml;
  Lines out;
  if (!loaded.model) return out;
  for (const PolicyDef& policy : loaded.model->policies) {
    if (!policy.name.value.starts_with("limit-override-"))
      out.push_back(head_of(policy) + rung_of(policy));
  }
  for (const ImportNote& note : got.left_out)
    out.push_back(std::to_string(note.line) + ": " + note.why);
  return out;
}

/// A frontend with a table of addresses (lines 1 and 2), then these rules.
Lines rules(const std::string& text, const std::string& table = "ip") {
  return read("frontend w\n  stick-table type " + table +
              " size 1m store http_req_rate(10s),http_err_rate(10s),conn_cur,conn_rate(10s)\n" +
              text);
}

/// The condition that makes a rung of a test behind the count; or why there is none.
std::string condition(const std::string& test) {
  const Lines lines = rules(
      "  http-request track-sc0 src\n  http-request deny if { "
      "sc_http_req_rate(0) gt 2 } " +
      test + "\n");
  const std::string& line = lines.at(0);
  const std::size_t at = line.find(" if ");
  return at == std::string::npos ? line : line.substr(at + 4, line.rfind(" 403") - at - 4);
}

TEST(ImportHaproxyOrder, TheFirstRuleThatTracksKeepsTheSlot) {
  EXPECT_EQ(rules("  http-request track-sc0 hdr(X-Api-Key) if { path_beg /v1 }\n"
                  "  http-request track-sc0 src\n"
                  "  http-request track-sc0 method\n"
                  "  http-request deny deny_status 429 if { sc_http_req_rate(0) gt 2 }\n"),
            (Lines{"w-http_req_rate: header.x_api_key when path.startsWith(\"/v1\") over 2 429 "
                   "always",
                   "w-http_req_rate-2: ip when !(path.startsWith(\"/v1\") && "
                   "has(header.x_api_key)) over 2 429 always",
                   "3: in a list (`a, b`) HAProxy counts the last part, weir the whole line",
                   "5: sc0 is tracked already: line 4"}));
}

TEST(ImportHaproxyOrder, WhatIsLetPassBeforeIsNeitherCountedNorRefused) {
  EXPECT_EQ(rules("  acl internal src 10.0.0.0/8\n"
                  "  http-request allow if internal\n"
                  "  http-request track-sc0 src\n"
                  "  http-request deny if { sc_http_req_rate(0) gt 2 }\n"),
            (Lines{"w-http_req_rate: ip when !(ip.cidr(\"10.0.0.0/8\")) over 2 403 always"}));
  EXPECT_EQ(rules("  http-request track-sc0 src\n"
                  "  http-request allow if { path /health }\n"
                  "  http-request deny if { sc_http_req_rate(0) gt 2 }\n"),
            (Lines{"w-http_req_rate: ip over 2 if !(path == \"/health\") 403 always"}));
  EXPECT_EQ(rules("  http-request deny if { sc_http_req_rate(0) gt 2 }\n"
                  "  tcp-request connection track-sc0 src\n"
                  "  tcp-request connection accept if { src 10.0.0.0/8 }\n"),
            (Lines{"w-http_req_rate: ip over 2 403 always"}))
      << "an accept ends the rules of its own stage, and connections come before requests";
}

TEST(ImportHaproxyOrder, RulesThatAreNotReachedAreNone) {
  EXPECT_EQ(rules("  http-request track-sc0 src\n"
                  "  http-request deny if { sc_http_req_rate(0) gt 9 }\n"
                  "  http-request allow\n"
                  "  http-request deny if { sc_http_req_rate(0) gt 2 }\n"),
            (Lines{"w-http_req_rate: ip over 9 403 always"}));
}

TEST(ImportHaproxyOrder, AnEndThatCannotBeReadIsANote) {
  EXPECT_EQ(
      rules("  http-request redirect scheme https unless { ssl_fc }\n"
            "  http-request allow if { src -f /etc/known }\n"
            "  http-request allow if { sc_http_req_rate(0) lt 9 }\n"
            "  http-request track-sc0 src\n"
            "  http-request deny if { sc_http_req_rate(0) gt 2 }\n"),
      (Lines{"w-http_req_rate: ip over 2 403 always",
             "3: in weir, later rules count the requests that this rule answers: weir has no field "
             "ssl_fc",
             "4: weir limits the requests that this rule lets pass: patterns from a file: write a "
             "list, or "
             "a table",
             "5: weir limits the requests that this rule lets pass because of a count"}));
}

TEST(ImportHaproxyOrder, ACountThatIsReadBeforeItGrowsIsOneLess) {
  EXPECT_EQ(rules("  http-request deny if { src_http_req_rate(w) gt 2 }\n"
                  "  http-request track-sc0 src\n"),
            (Lines{"w-http_req_rate: ip over 3 403"}))
      << "and what it refuses does not count";
  EXPECT_EQ(rules("  http-request deny if { src_http_req_rate(w) gt 2 }\n"
                  "  http-request track-sc0 src\n"
                  "  http-request deny if { sc_http_req_rate(0) ge 9 }\n"),
            (Lines{"w-http_req_rate: ip over 3 403", "w-http_req_rate-2: ip at 9 403 always",
                   "4: what line 3 refuses before this rule is not counted by HAProxy, but is "
                   "counted by weir"}));
}

TEST(ImportHaproxyOrder, AnErrorCountsWithItsAnswerAndARefusalIsOne) {
  EXPECT_EQ(rules("  http-request track-sc0 src\n"
                  "  http-request deny if { sc_http_err_rate(0) gt 2 }\n"),
            (Lines{"w-http_err_rate: ip over 3 403 always"}));
}

TEST(ImportHaproxyOrder, ATrackingByACountIsANote) {
  for (const std::string by :
       {"if { sc_http_req_rate(0) gt 5 }", "unless { sc_http_req_rate(0) gt 5 }",
        "if METH_POST { sc_http_req_rate(0) gt 5 }"}) {
    EXPECT_EQ(rules("  http-request track-sc0 src\n"
                    "  http-request track-sc1 hdr(X-Key) " +
                    by +
                    "\n"
                    "  http-request deny if { sc_http_req_rate(1) gt 2 }\n"),
              (Lines{"4: whether sc1 tracks depends on a count",
                     "5: what it reads is not carried over: see line 4"}));
  }
}

TEST(ImportHaproxyOrder, WhatRulesChangeBeforeIsNotWhatTheClientSent) {
  EXPECT_EQ(rules("  http-request set-header X-Key %[src]\n"
                  "  http-request track-sc0 req.hdr(X-Key)\n"
                  "  http-request deny if { sc_http_req_rate(0) gt 2 }\n"),
            (Lines{"4: weir reads header.x_key as the client sent it, and line 3 changes it before",
                   "5: what it reads is not carried over: see line 4"}));
  EXPECT_EQ(rules("  http-request track-sc0 src\n"
                  "  http-request set-path /x%[path]\n"
                  "  http-request deny if { sc_http_req_rate(0) gt 2 } { path /x/login }\n"),
            (Lines{"5: weir reads path as the client sent it, and line 4 changes it before"}));
}

TEST(ImportHaproxyActions, WhatActsByACountIsAPolicyOrANote) {
  EXPECT_EQ(rules("  http-request track-sc0 src\n"
                  "  acl fast sc_http_req_rate(0) gt 2\n"
                  "  use_backend slow if fast\n"
                  "  http-request redirect location /slow if fast\n"
                  "  http-request set-header X-Fast 1 if fast\n"
                  "  http-request set-var(txn.n) sc_http_req_rate(0)\n"
                  "  http-request deny if { var(txn.n) -m int gt 5 }\n"
                  "  http-request return status 200 if fast\n"
                  "  http-response deny if fast\n"
                  "  http-request deny if fast or { path /x }\n"
                  "  http-request deny if { src -f /etc/bad }\n"),
            (Lines{"w-http_req_rate: ip over 2 403 always",
                   "5: weir refuses, holds or flags requests over a threshold: write a policy",
                   "6: weir refuses, holds or flags requests over a threshold: write a policy",
                   "7: weir has nothing that does this by a count: see `do: flag`",
                   "8: a variable made of a count: write a threshold",
                   "9: weir does not compute with counts: write a threshold",
                   "10: weir refuses with a status of 400 and more: write a policy",
                   "11: weir counts requests, and not by rules of the answer",
                   "12: a part of its condition refuses without a count: keep it, or write a deny "
                   "list",
                   "13: it refuses without a count: keep it, or write a deny list"}));
}

TEST(ImportHaproxyActions, HaproxysOwnExamplesAreNotSilent) {
  EXPECT_EQ(read("frontend website\n"
                 "  stick-table type binary len 20 size 100k expire 10s store http_req_rate(10s)\n"
                 "  http-request track-sc0 base32+src\n"
                 "  http-request set-var(req.rate_limit) path,map_beg(/etc/rates.map,20)\n"
                 "  http-request set-var(req.rate) base32+src,table_http_req_rate()\n"
                 "  acl rate_abuse var(req.rate_limit),sub(req.rate) lt 0\n"
                 "  http-request deny deny_status 429 if rate_abuse\n"),
            (Lines{"5: a variable made of a count: write a threshold",
                   "7: weir does not compute with counts: write a threshold"}));
  EXPECT_EQ(read("frontend website\n"
                 "  stick-table type string size 100k expire 24h store http_req_cnt\n"
                 "  acl has_token url_param(token) -m found\n"
                 "  acl exceeds_limit url_param(token),table_http_req_cnt() gt 1000\n"
                 "  http-request track-sc0 url_param(token) unless exceeds_limit\n"
                 "  http-request deny deny_status 429 if !has_token or exceeds_limit\n"),
            (Lines{"5: whether sc0 tracks depends on a count",
                   "6: a part of its condition refuses without a count: keep it, or write a deny "
                   "list",
                   "6: what it reads is not carried over: see line 5"}));
}

TEST(ImportHaproxyActions, AFileWithoutALimitIsAnError) {
  EXPECT_EQ(read("frontend w\n  default_backend app\n"), (Lines{"there is no stick-table in it"}));
  EXPECT_EQ(read("backend app\n  stick-table type ip size 1m\n  stick on src\n"),
            (Lines{"no rule in it limits by a stick-table"}));
  EXPECT_EQ(read("frontend w\n  http-request deny if { path /x }\n"),
            (Lines{"there is no stick-table in it"}));
}

TEST(ImportHaproxyActions, ATotalOrAServersLimitIsANote) {
  EXPECT_EQ(read("frontend w\n"
                 "  http-request deny if { fe_sess_rate gt 100 }\n"
                 "  default_backend app\n"
                 "backend app\n"
                 "  server a 127.0.0.1:80 maxconn 30\n"),
            (Lines{"2: weir does not compute with counts: write a threshold",
                   "5: weir lets no requests wait for a server: see `metric: in_flight`"}));
}

TEST(ImportHaproxySections, ABackendsRulesHoldForTheRequestsThatComeToIt) {
  const auto backends = [](const std::string& routes) {
    return read("frontend w\n" + routes +
                "backend login\n"
                "  stick-table type ip size 1k store http_req_rate(60s)\n"
                "  http-request track-sc0 src\n"
                "  http-request deny if { sc_http_req_rate(0) gt 2 }\n");
  };
  EXPECT_EQ(backends("  default_backend login\n"),
            (Lines{"login-http_req_rate: ip over 2 403 always"}));
  EXPECT_EQ(backends("  use_backend api if { path_beg /api }\n"
                     "  use_backend login if { path_beg /login }\n"
                     "  default_backend app\n"),
            (Lines{"login-http_req_rate: ip when !(path.startsWith(\"/api\")) && "
                   "path.startsWith(\"/login\") over 2 403 always"}));
  EXPECT_EQ(backends("  use_backend %[path]\n"),
            (Lines{"login-http_req_rate: ip over 2 403 always",
                   "3: not all requests lead to it, and weir cannot say which: here its policies "
                   "hold for all requests: write a `when`"}));
}

TEST(ImportHaproxySections, SeveralFrontendsAreANote) {
  const std::string one =
      "  stick-table type ip size 1k store http_req_rate(60s)\n"
      "  http-request track-sc0 src\n"
      "  http-request deny if { sc_http_req_rate(0) gt 2 }\n"
      "  default_backend app\n";
  EXPECT_EQ(read("frontend a\n" + one + "frontend b\n" + one + "listen stats\n  stats enable\n"),
            (Lines{"a-http_req_rate: ip over 2 403 always", "b-http_req_rate: ip over 2 403 always",
                   "1: one of 2 sections that take requests: weir has one door, and its policies "
                   "hold for all",
                   "6: one of 2 sections that take requests: weir has one door, and its policies "
                   "hold for all"}));
}

TEST(ImportHaproxySections, ConnectionsThatAreNoRequestsAreANote) {
  EXPECT_EQ(read("defaults\n  mode tcp\nlisten redis\n"
                 "  stick-table type ip size 1k store conn_rate(60s)\n"
                 "  tcp-request connection track-sc0 src\n"
                 "  tcp-request connection reject if { sc_conn_rate(0) gt 2 }\n"),
            (Lines{"5: it limits connections that are not HTTP requests (mode tcp)",
                   "6: it limits connections that are not HTTP requests (mode tcp)"}));
}

TEST(ImportHaproxySections, WhoTheClientIsIsANote) {
  EXPECT_EQ(
      rules("  bind :80 accept-proxy\n"
            "  http-request set-src hdr(X-Real-IP) if { src 10.0.0.0/8 }\n"
            "  http-request track-sc0 src\n"
            "  http-request track-sc1 hdr_ip(X-Forwarded-For,-1)\n"
            "  http-request deny if { sc_http_req_rate(1) gt 2 }\n"),
      (Lines{"w-http_req_rate: ip over 2 403 always",
             "3: weir does not read the PROXY protocol: let the hop before it send a header, "
             "and write proxy.client_ip: {trust: [the hop], header: x-forwarded-for}",
             "4: for the client's address write proxy.client_ip: {trust: [the hop before weir], "
             "header: x-real-ip}",
             "6: for the client's address write proxy.client_ip: {trust: [the hop before weir], "
             "header: x-forwarded-for}"}));
}

TEST(ImportHaproxyKeys, AreFieldsOrPartsOfThem) {
  const auto key = [](const std::string& fetch) {
    return rules("  http-request track-sc0 " + fetch +
                 "\n  http-request deny if { sc_http_req_rate(0) gt 2 }\n")
        .at(0);
  };
  EXPECT_EQ(key("base"), "w-http_req_rate: host_if_any path over 2 403 always");
  EXPECT_EQ(key("base32+src"), "w-http_req_rate: host_if_any path ip over 2 403 always");
  EXPECT_EQ(key("path,lower"), "w-http_req_rate: path_lowerAscii over 2 403 always");
  EXPECT_EQ(key("hdr(host),field(1,:),lower"), "w-http_req_rate: host over 2 403 always");
  EXPECT_EQ(key("int(1)"), "w-http_req_rate: over 2 403 always");
  EXPECT_EQ(key("src,concat(x)"), "3: weir has no field src,concat(x): give it one under `fields`");
  const Imported got = import_haproxy(
      "frontend w\n  stick-table type ipv6 size 1m store http_req_rate(10s)\n"
      "  http-request track-sc0 src,ipmask(24,64)\n"
      "  http-request deny if { sc_http_req_rate(0) gt 2 }\n");
  EXPECT_NE(got.yaml.find("key: \"ip/24,64\""), std::string::npos) << got.yaml;
}

TEST(ImportHaproxyKeys, WhatATableDoesOtherwiseIsANote) {
  EXPECT_EQ(read("frontend w\n"
                 "  stick-table type string len 20 size 1m expire 5s peers p store "
                 "http_req_rate(10s)\n"
                 "  http-request track-sc0 cook(sid)\n"
                 "  http-request deny if { sc_http_req_rate(0) gt 2 }\n"),
            (Lines{"w-http_req_rate: cookie.sid over 2 403 always",
                   "2: HAProxy forgets a key after 5s without requests, before its period ends: "
                   "weir counts the whole period",
                   "2: HAProxy counts keys by their first 20 bytes, weir counts them by all bytes",
                   "2: peers: see `share: redis`"}));
}

TEST(ImportHaproxyKeys, NamesOfOneWishAreNumberedOneByOne) {
  Lines names;
  std::string text = "  http-request track-sc0 src\n";
  for (int i = 0; i < 5; ++i) text += "  http-request deny if { sc_http_req_rate(0) gt 2 }\n";
  for (const std::string& line : rules(text)) names.push_back(line.substr(0, line.find(':')));
  EXPECT_EQ(names, (Lines{"w-http_req_rate", "w-http_req_rate-2", "w-http_req_rate-3",
                          "w-http_req_rate-4", "w-http_req_rate-5"}));
}

TEST(ImportHaproxyConditions, CompareAPathAsItStandsInTheRequest) {
  EXPECT_EQ(condition("{ path_beg /api }"), "path.startsWith(\"/api\")");
  EXPECT_EQ(condition("{ path_beg /api/ }"),
            "(path.startsWith(\"/api/\") || url.matches(\"^/api/\"))");
  EXPECT_EQ(condition("{ path /login/ }"),
            "(path == \"/login\" && url.matches(\"^[^?]*/([?]|$)\"))");
  EXPECT_EQ(condition("{ path_end / }"), "url.matches(\"^[^?]*/([?]|$)\")");
  EXPECT_EQ(condition("{ path_beg -i /Api/ }"),
            "(path.lowerAscii().startsWith(\"/api/\") || url.matches(\"(?i)^/api/\"))");
  EXPECT_EQ(condition("{ path_dir admin }"), "path.matches(\"(^|[/?])admin([/?]|$)\")");
  EXPECT_EQ(condition("{ path_reg ^/api/v[0-9]+ }"), "path.matches(\"^/api/v[0-9]+\")");
  EXPECT_EQ(condition("{ path_reg ^/(api|v[0-9]+)/ }"),
            "(path.matches(\"^/(api|v[0-9]+)/\") || (url.matches(\"^[^?]*/([?]|$)\") && (path + "
            "\"/\").matches(\"^/(api|v[0-9]+)/\")))");
  EXPECT_EQ(condition("{ path_beg /caf%c3%a9 }"),
            "4: weir's paths are in their normal form: write /caf%c3%a9 as it is there");
  EXPECT_EQ(condition("{ path -m len 5 }"),
            "4: weir's paths are in their normal form, which has another length");
  EXPECT_EQ(condition("{ base_beg example.com/api }"),
            "(host == \"example.com\" && path.startsWith(\"/api\"))");
  EXPECT_EQ(condition("{ base_end .php }"),
            "4: for base, weir compares a host with a path after it");
}

TEST(ImportHaproxyConditions, CompareEachPartOfAHeader) {
  EXPECT_EQ(condition("{ hdr(X-Kind) bot }"),
            "header.x_kind.matches(\"(^|,)[ \\\\t]*bot[ \\\\t]*(,|$)\")");
  EXPECT_EQ(condition("{ hdr_beg(X-Kind) -i bot. }"),
            "header.x_kind.matches(\"(?i)(^|,)[ \\\\t]*bot\\\\.\")");
  EXPECT_EQ(condition("{ req.fhdr(X-Kind) bot }"), "header.x_kind == \"bot\"");
  EXPECT_EQ(condition("{ hdr_sub(User-Agent) -i Curl }"),
            "header.user_agent.lowerAscii().contains(\"curl\")");
  EXPECT_EQ(condition("{ hdr_reg(User-Agent) ^(curl|wget) }"),
            "header.user_agent.matches(\"(^|,)[ \\\\t]*((curl|wget))\")");
  EXPECT_EQ(condition("{ hdr_reg(User-Agent) a|^b }"),
            "4: in a list HAProxy compares each part, weir the whole line: write the pattern for "
            "the whole line");
  EXPECT_EQ(condition("{ hdr(host) -m dom Example.com }"),
            "host.matches(\"(^|[/?.:])example\\\\.com([/?.:]|$)\")");
  EXPECT_EQ(condition("{ hdr(host) example.com:8080 }"), "4: weir's host has no port");
}

TEST(ImportHaproxyConditions, CompareNumbersAndLengths) {
  EXPECT_EQ(condition("{ url_param(n) -m int gt 5 }"),
            "(query.n.matches(\"^[0-9]{1,18}$\") && int(query.n) > 5)");
  EXPECT_EQ(condition("{ req.hdr_val(content-length) 5:10 }"),
            "(header.content_length.matches(\"^[0-9]{1,18}$\") && (int(header.content_length) >= 5 "
            "&& int(header.content_length) <= 10))");
  EXPECT_EQ(condition("{ url_param(n) -m len gt 5 }"), "size(query.n) > 5");
  EXPECT_EQ(condition("{ url_param(n) -m bin 00 }"), "4: weir does not match by -m bin");
  EXPECT_EQ(condition("{ hdr_cnt(X) gt 3 }"), "4: weir has no field hdr_cnt(X)");
}

TEST(ImportHaproxyConditions, NegatedTheyHoldForWhatIsNotThere) {
  EXPECT_EQ(condition("!{ hdr_sub(X-Kind) a }"),
            "!((has(header.x_kind) && header.x_kind.contains(\"a\")))");
  EXPECT_EQ(condition("!{ path /a } { method POST }"), "!(path == \"/a\") && method == \"POST\"");
  EXPECT_EQ(rules("  http-request track-sc0 src\n"
                  "  http-request deny unless { sc_http_req_rate(0) lt 3 }\n"
                  "  http-request deny unless { path /a } { sc_http_req_rate(0) le 3 }\n"),
            (Lines{"w-http_req_rate: ip at 3 403 always", "w-http_req_rate-2: ip over 3 403 always",
                   "5: a part of its condition refuses without a count: keep it, or write a deny "
                   "list"}));
  EXPECT_EQ(condition("!{ sc_http_req_rate(1) gt 3 }"),
            "4: it compares two counters: write a policy with `metrics` and `if`");
}

TEST(ImportHaproxyConditions, LinesOfOneNameAreAlternatives) {
  EXPECT_EQ(rules("  http-request track-sc0 src\n"
                  "  acl bad sc_http_req_rate(0) gt 5\n"
                  "  acl bad sc_conn_cur(0) gt 9\n"
                  "  http-request deny if bad { path /a }\n"),
            (Lines{"w-http_req_rate: ip over 5 if path == \"/a\" 403 always",
                   "w-conn_cur: ip over 9 if path == \"/a\" 403"}));
  EXPECT_EQ(condition("{ path \"${LOGIN}\" }"),
            "4: a variable of the environment: write its value");
}

TEST(ImportHaproxyConditions, ARuleThatCannotBeCompiledIsANote) {
  const Imported got = import_haproxy(
      "frontend w\n  stick-table type ip size 1m store http_req_rate(10s)\n"
      "  http-request track-sc0 src\n"
      "  http-request deny if { sc_http_req_rate(0) gt 2 } { path_reg ^/(?=a) }\n",
      {{{4}, "RE2 has no look-ahead"}});
  ASSERT_EQ(got.left_out.size(), 1U) << got.yaml;
  EXPECT_TRUE(got.none) << "nothing else is in the file";
  EXPECT_EQ(got.left_out[0].why, "RE2 has no look-ahead");
}

}  // namespace
}  // namespace weir::config::import_haproxy_test
