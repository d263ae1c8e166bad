#include <gtest/gtest.h>

#include "config/import/cel_negation.h"
#include "config/import/imported.h"
#include "config/load.h"

/// The output of importers loads, means what its source means, and lists its omissions.
namespace weir::config::import_test {
namespace {

/// The policies of what was imported; a failure where it does not load.
std::vector<PolicyDef> policies_of(const Imported& imported) {
  EXPECT_EQ(imported.error, "");
  const Loaded loaded = load_text("imported.yaml", imported.yaml);
  for (const Problem& problem : loaded.problems.all()) {
    if (problem.severity == Problem::Severity::error)
      ADD_FAILURE() << problem.where.line << ": " << problem.message << "\n" << imported.yaml;
  }
  if (!loaded.model) return {};
  std::vector<PolicyDef> out = loaded.model->policies;
  std::erase_if(out,
                [](const PolicyDef& p) { return p.name.value.starts_with("limit-override-"); });
  return out;
}

std::vector<std::string> reasons(const Imported& imported) {
  std::vector<std::string> out;
  for (const ImportNote& note : imported.left_out)
    out.push_back(std::to_string(note.line) + ": " + note.what + ": " + note.why);
  return out;
}

double limit_of(const PolicyDef& policy, std::size_t rung = 0) {
  const auto* number = std::get_if<Located<Number>>(&policy.then.at(rung).limit);
  return number == nullptr ? -1 : number->value.as_real();
}

/// Names that weir keeps for itself, as names of what is imported.
TEST(Import, NamesThatAreBuiltInGetANumber) {
  for (const char* name : {"true", "false", "null", "in", "and", "or", "not", "has", "request",
                           "event", "yes", "off", "method", "ip", "1", "-", "x y"}) {
    SCOPED_TRACE(name);
    const std::string quoted = "'" + std::string(name) + "'";
    EXPECT_EQ(policies_of(import_limitador("- namespace: " + quoted +
                                           "\n  max_value: 5\n  seconds: 60\n"
                                           "  variables: [\"descriptors[0]['user-id']\"]\n"))
                  .size(),
              1u);
    const std::string rules = "domain: " + quoted + "\ndescriptors:\n  - key: " + quoted +
                              "\n    rate_limit: {unit: minute, requests_per_unit: 5}\n";
    EXPECT_EQ(policies_of(import_envoy_rate_limits({{"a.yaml", rules, true}})).size(), 1u);
    const std::string zone(std::string_view(name).substr(0, std::string_view(name).find(' ')));
    const std::string limits = "http { limit_req_zone $binary_remote_addr zone=" + zone +
                               ":1m rate=5r/s; server { limit_req zone=" + zone + "; } }";
    EXPECT_EQ(policies_of(import_nginx(limits)).size(), 1u);
  }
}

TEST(ImportNginx, MakesABucketOfAZoneAndKeepsItsNumbers) {
  const Imported got = import_nginx(R"(
http {
  limit_req_zone $binary_remote_addr zone=login:10m rate=5r/m;
  limit_req_zone $http_x_api_key$uri zone=key:10m rate=10r/s;
  server {
    limit_req_status 429;
    location = /login { limit_req zone=login burst=4 nodelay; }
    location /api/ { limit_req zone=key burst=20 delay=8; limit_req_dry_run on; }
    location / { }
  }
}
)");
  const auto policies = policies_of(got);
  ASSERT_EQ(policies.size(), 2U) << got.yaml;
  EXPECT_EQ(policies[0].name.value, "login");
  EXPECT_EQ(policies[0].when->value, "path == \"/login\"");
  EXPECT_EQ(policies[0].key.at(0).field.value, "ip");
  EXPECT_EQ(policies[0].key.at(0).v6_bits, 128U) << "nginx counts each IPv6 address";
  EXPECT_TRUE(policies[0].window->is_rate);
  EXPECT_EQ(policies[0].window->drain, milliseconds{12'000});
  EXPECT_EQ(policies[0].window->capacity.as_real(), 5) << "one at once and a burst of 4";
  ASSERT_EQ(policies[0].then.size(), 1U);
  EXPECT_EQ(policies[0].then[0].status->value, 429);
  EXPECT_EQ(policies[1].mode.value, Mode::shadow);
  EXPECT_EQ(policies[1].key.size(), 2U);
  ASSERT_EQ(policies[1].then.size(), 2U);
  EXPECT_EQ(policies[1].then[0].action.value, Action::delay);
  EXPECT_EQ(limit_of(policies[1]), 9);
  EXPECT_TRUE(got.left_out.empty()) << got.yaml;
}

TEST(ImportNginx, HoldsNoRequestForMoreThanAMinute) {
  const auto rungs = [](const std::string& rate, const std::string& use) {
    const Imported got =
        import_nginx("http { limit_req_zone $binary_remote_addr zone=a:1m rate=" + rate +
                     "; server { limit_req zone=a " + use + "; } }");
    std::string out;
    for (const auto& policy : policies_of(got)) {
      for (const Rung& rung : policy.then) {
        const auto* over = std::get_if<Located<Number>>(&rung.limit);
        out += (over != nullptr ? over->value.to_string() : std::string("-")) + " ";
      }
    }
    return out + (got.left_out.empty() ? "" : std::to_string(got.left_out.size()) + " left out");
  };
  EXPECT_EQ(rungs("10r/s", "burst=20"), "1 21 ");
  EXPECT_EQ(rungs("5r/m", "burst=20 nodelay"), "21 ");
  EXPECT_EQ(rungs("5r/m", "burst=3"), "1 4 ");
  EXPECT_EQ(rungs("5r/m", "burst=20"), "18 21 1 left out") << "the last ones wait: up to 48 s";
  EXPECT_EQ(rungs("5r/m", "burst=20 delay=19"), "20 21 ");
  EXPECT_EQ(rungs("1r/m", "burst=9"), "10 1 left out");
}

TEST(ImportNginx, ALocationLeavesOutThoseThatComeBeforeIt) {
  const auto policies = policies_of(import_nginx(R"(
limit_req_zone $remote_addr zone=a:1m rate=1r/s;
server { return 404; }
server {
  server_name shop.example *.shop.example;
  limit_req zone=a;
  location /api/ { }
  location /api/free/ { limit_req_dry_run on; }
  location ~ \.png$ { }
}
)"));
  ASSERT_EQ(policies.size(), 2U);
  const std::string& when = policies[0].when->value;
  const std::string host = "(host == \"shop.example\" || host.endsWith(\".shop.example\"))";
  EXPECT_NE(when.find("(" + host +
                      " && uri.startsWith(\"/api/\") && "
                      "!(uri.startsWith(\"/api/free/\") || uri.matches(\"\\\\.png$\")))"),
            std::string::npos)
      << when;
  EXPECT_NE(when.find("(" + host + " && path.matches(\"\\\\.png$\"))"), std::string::npos) << when;
  EXPECT_EQ(policies[1].mode.value, Mode::shadow);
}

TEST(ImportNginx, CountsRequestsInFlightForConnections) {
  const auto policies = policies_of(import_nginx(R"(
limit_conn_zone $server_name zone=perserver:1m;
limit_conn_zone $binary_remote_addr zone=addr:1m;
server { server_name a.example; limit_conn addr 10; limit_conn perserver 100; }
)"));
  ASSERT_EQ(policies.size(), 2U);
  EXPECT_EQ(policies[0].metric.kind, Metric::in_flight);
  EXPECT_EQ(limit_of(policies[0]), 10);
  EXPECT_EQ(limit_of(policies[1]), 100);
  EXPECT_TRUE(policies[1].key.empty()) << "$server_name is the same for all requests of a server";
}

TEST(ImportNginx, TellsWhatItLeavesOut) {
  const Imported got = import_nginx(R"(map $uri $limited { default ""; }
limit_req_zone $limited zone=m:1m rate=1r/s;
limit_req_zone $remote_addr zone=idle:1m rate=1r/s;
server { limit_req zone=m; limit_req zone=gone; limit_rate 10k; }
)");
  EXPECT_EQ(
      reasons(got),
      (std::vector<std::string>{
          "2: zone with $limited: a map or geo block sets it: write the condition under `when`, or "
          "a table",
          "3: zone idle: nothing uses it",
          "4: limit_rate 10k: weir does not slow answers down: keep it in nginx",
          "4: limit_req zone=gone: the zone is not in this file"}));
  EXPECT_TRUE(got.none);
  EXPECT_NE(got.yaml.find("# Not carried over:"), std::string::npos);
  EXPECT_TRUE(policies_of(got).empty());
  EXPECT_NE(import_nginx("events {}\n").error, "");
}

TEST(ImportHaproxy, MakesPoliciesOfRulesThatReadATable) {
  const Imported got = import_haproxy(R"(
frontend web
  bind :80
  stick-table type ip size 1m expire 10m store http_req_rate(10s),http_err_rate(1m),conn_cur
  http-request track-sc0 src
  acl is_login path_beg /login /signin
  acl too_many sc_http_req_rate(0) gt 100
  http-request deny deny_status 429 if too_many
  http-request deny deny_status 429 if is_login { sc0_http_err_rate ge 10 } !{ src 10.0.0.0/8 }
  http-request deny if { sc_conn_cur(0) gt 20 }
)");
  const auto policies = policies_of(got);
  ASSERT_EQ(policies.size(), 3U) << got.yaml;
  EXPECT_EQ(policies[0].window->length, milliseconds{10'000});
  EXPECT_EQ(limit_of(policies[0]), 100);
  EXPECT_EQ(policies[0].charge.value, Charge::always) << "HAProxy counts refused requests too";
  EXPECT_EQ(policies[1].watch.at(0).value, "http_error");
  EXPECT_EQ(policies[1].then.at(0).compare, Compare::at);
  EXPECT_EQ(policies[1].then.at(0).condition->value,
            "(path.startsWith(\"/login\") || path.startsWith(\"/signin\")) && "
            "!(ip.cidr(\"10.0.0.0/8\"))");
  EXPECT_EQ(policies[2].metric.kind, Metric::in_flight);
  EXPECT_EQ(policies[2].then.at(0).status->value, 403);
  EXPECT_TRUE(got.left_out.empty()) << got.yaml;
}

TEST(ImportHaproxy, FollowsTablesOfOtherSectionsAndTrackedKeys) {
  const auto policies = policies_of(import_haproxy(R"(
backend st_keys
  stick-table type string len 64 size 100k expire 1h store http_req_rate(60000)
listen api
  http-request track-sc1 req.hdr(X-Api-Key) table st_keys if { path_beg /v1 }
  http-request deny deny_status 429 if { sc_http_req_rate(1,st_keys) gt 50 }
)"));
  ASSERT_EQ(policies.size(), 1U);
  EXPECT_EQ(policies[0].key.at(0).field.value, "header.x_api_key");
  EXPECT_EQ(policies[0].when->value, "path.startsWith(\"/v1\")");
  EXPECT_EQ(policies[0].window->length, milliseconds{60'000});
}

TEST(ImportHaproxy, TellsWhatItLeavesOut) {
  const Imported got = import_haproxy(R"(frontend web
  stick-table type ip size 1m store gpc0,http_req_cnt,http_req_rate(1m)
  http-request track-sc0 src,concat(:,txn.x)
  http-request sc-inc-gpc0(0) if { path /x }
  http-request deny if { sc_get_gpc0(0) gt 5 }
  http-request deny if { sc_http_req_rate(0) gt 5 }
  http-request deny if { sc_http_req_rate(1) gt 5 }
)");
  EXPECT_EQ(
      reasons(got),
      (std::vector<std::string>{
          "3: http-request track-sc0 src,concat(:,txn.x): weir has no field src,concat(:,txn.x): "
          "give it one under `fields`",
          "4: http-request sc-inc-gpc0(0) if { path /x }: counters that rules add to: write a "
          "policy over the event",
          "5: http-request deny if { sc_get_gpc0(0) gt 5 }: what it reads is not carried over: "
          "see line 3",
          "6: http-request deny if { sc_http_req_rate(0) gt 5 }: what it reads is not carried "
          "over: "
          "see line 3",
          "7: http-request deny if { sc_http_req_rate(1) gt 5 }: nothing tracks sc1 before it"}));
}

TEST(ImportLimitador, ReadsBothDialects) {
  const Imported got = import_limitador(R"(
- namespace: shop
  max_value: 5
  seconds: 60
  name: posts
  conditions:
    - "descriptors[0]['req.method'] == 'POST'"
    - descriptors[0].tier != 'gold'
  variables: ["descriptors[0].user_id"]
- namespace: shop
  max_value: 10
  seconds: 3600
  conditions: ["req.path == '/login'"]
  variables: ["descriptors[0]['user-id']", user_id]
- {namespace: other, max_value: 0, seconds: 1, conditions: [], variables: []}
)");
  const auto policies = policies_of(got);
  ASSERT_EQ(policies.size(), 3U) << got.yaml;
  EXPECT_EQ(policies[0].name.value, "posts");
  EXPECT_EQ(policies[0].when->value,
            "descriptor_last[\"req.method\"] == \"POST\" && has(descriptor_last.tier) && "
            "descriptor_last.tier != \"gold\"");
  EXPECT_EQ(policies[0].key.at(0).field.value, "descriptor_last.user_id");
  EXPECT_EQ(policies[0].window->length, milliseconds{60'000});
  EXPECT_TRUE(policies[0].window->from_first);
  EXPECT_EQ(limit_of(policies[0]), 5);
  EXPECT_EQ(policies[1].key.size(), 2U);
  EXPECT_EQ(policies[1].when->value, "descriptor_last[\"req.path\"] == \"/login\"");
  EXPECT_TRUE(policies[2].key.empty());
  EXPECT_TRUE(got.left_out.empty()) << got.yaml;
  ASSERT_EQ(got.limits.size(), 3U);
  EXPECT_EQ(got.limits[0].policy.value, "posts");
  EXPECT_EQ(got.limits[0].policy.where.line, 2U);
  EXPECT_EQ(got.limits[1].variables,
            (std::vector<std::string>{"descriptors[0]['user-id']", "user_id"}));
  EXPECT_EQ(got.limits[1].keys, (std::vector<std::string>{"user-id", "user_id"}));
  EXPECT_FALSE(got.limits[2].name);
}

/// The condition of a limit called `posts`, or why it is left out.
std::string limitador_condition(const std::string& condition) {
  const Imported got = import_limitador(
      "- {namespace: n, max_value: 5, seconds: 60, name: posts, variables: [],\n   conditions: ['" +
      condition + "']}\n");
  if (!got.left_out.empty()) return reasons(got).front();
  const auto policies = policies_of(got);
  return policies.size() == 1 && policies[0].when ? policies[0].when->value : got.yaml;
}

TEST(ImportLimitador, MeansByAConditionWhatItMeansThere) {
  EXPECT_EQ(limitador_condition("limit.name == \"posts\" && descriptors[0].a in [\"x\", \"y\"]"),
            "\"posts\" == \"posts\" && descriptor_last.a in [\"x\", \"y\"]");
  EXPECT_EQ(limitador_condition("limit.id == null"), "null == null");
  EXPECT_EQ(limitador_condition("int(descriptors[0].n) > 5"), "int(descriptor_last.n) > 5");
  // A missing value is an error in limitador: the limit does not apply, even if it is negated.
  EXPECT_EQ(limitador_condition("!(descriptors[0].a == \"x\")"),
            "has(descriptor_last.a) && !(descriptor_last.a == \"x\")");
  EXPECT_EQ(
      limitador_condition("!descriptors[0].a.startsWith(\"x\") && descriptors[0].b != \"y\""),
      "has(descriptor_last.a) && !descriptor_last.a.startsWith(\"x\") && has(descriptor_last.b) && "
      "descriptor_last.b != \"y\"");
  EXPECT_EQ(limitador_condition("!has(descriptors[0].a)"), "!has(descriptor_last.a)");
  EXPECT_EQ(limitador_condition("\"a\" in descriptors[0] && \"b-c\"  in descriptors[0]"),
            "has(descriptor_last.a) && has(descriptor_last[\"b-c\"])");
}

TEST(ImportLimitador, PushesNegationsInward) {
  for (const auto& [text, pushed] : std::vector<std::pair<std::string, std::string>>{
           {"a && b", "a && b"},
           {"!a && !has(b)", "!a && !has(b)"},
           {"!(a)", "!(a)"},
           {"!(a && b || c)", "((!(a) || !(b)) && !(c))"},
           {"!((a || b) && !c)", "((!(a) && !(b)) || !(!c))"},
           {"! ( !( a && b ) )", "( a && b )"},
           {"x || !(f(a && b) && c)", "x || (!(f(a && b)) || !(c))"},
           {"!(a == ')' && b == \"||\")", "(!(a == ')') || !(b == \"||\"))"},
           {"!(a == 'it\\'s && ' && b)", "(!(a == 'it\\'s && ') || !(b))"},
           {"!(a == r'\\' && b)", "(!(a == r'\\') || !(b))"},
           {"!(a ? b : c && d)", "!(a ? b : c && d)"},
           {"a != (b && c)", "a != (b && c)"},
           {"!(a // ) ||\n && b)", "(!(a) || !(b))"},
           {"!(a == '// ' && b) // c", "(!(a == '// ') || !(b)) "},
           {"!(a && b", "!(a && b"},
           {"!(a && b]", "!(a && b]"},
           {"", ""}})
    EXPECT_EQ(push_negations(text), pushed) << text;
  const std::string deep = push_negations(std::string(10'000, '!') + std::string(10'000, '('));
  EXPECT_EQ(deep.size(), 20'000U);
  std::string nested = "a && b";
  for (int i = 0; i < 2'000; ++i) nested = "!(" + nested + " && c)";
  EXPECT_LT(push_negations(nested).size(), 4 * nested.size());
}

TEST(ImportLimitador, AsksWhetherItIsThereWhereNullWouldFulfilACondition) {
  const auto a = std::string("has(descriptor_last.a) && "),
             b = std::string("has(descriptor_last.b) && ");
  for (const auto& [condition, expected] : std::vector<std::pair<std::string, std::string>>{
           {"\"x\" != a", a + "\"x\" != descriptor_last.a"},
           {"a == b", a + b + "descriptor_last.a == descriptor_last.b"},
           {"a == null", a + "descriptor_last.a == null"},
           {"a == \"x\" && 5 == size(b)",
            "descriptor_last.a == \"x\" && 5 == size(descriptor_last.b)"},
           {"size(a) != 2", a + "size(descriptor_last.a) != 2"},
           {"int(a) == int(b)", a + b + "int(descriptor_last.a) == int(descriptor_last.b)"},
           {"a == \"x\" || b != \"y\"",
            "(descriptor_last.a == \"x\" || " + b + "descriptor_last.b != \"y\")"},
           {"(a == \"x\" || b != \"y\") && a != \"z\"", "((descriptor_last.a == \"x\" || " + b +
                                                            "descriptor_last.b != \"y\") && " + a +
                                                            "descriptor_last.a != \"z\")"},
           {"!(a == \"x\" || b == \"y\")",
            "(" + a + "!(descriptor_last.a == \"x\") && " + b + "!(descriptor_last.b == \"y\"))"},
           {"!(a == \"x\" && b == \"y\")",
            "((" + a + "!(descriptor_last.a == \"x\") || " + b + "!(descriptor_last.b == \"y\")))"},
           {"!(has(descriptors[0].a) && a == \"x\")",
            "((!(has(descriptor_last.a)) || " + a + "!(descriptor_last.a == \"x\")))"},
           {"!has(descriptors[0].a) || a != \"x\"",
            "(!has(descriptor_last.a) || " + a + "descriptor_last.a != \"x\")"},
           {"a == \"x\" ? b != \"y\" : b == \"z\"",
            "(descriptor_last.a == \"x\" ? " + b +
                "descriptor_last.b != \"y\" : descriptor_last.b == \"z\")"}})
    EXPECT_EQ(limitador_condition(condition), expected) << condition;
}

TEST(ImportLimitador, TakesTextsAsCelSpellsThem) {
  EXPECT_EQ(limitador_condition(R"(a == "\u00e9\"")"), R"(descriptor_last.a == "\u00e9\"")");
  EXPECT_EQ(limitador_condition(R"(a.matches(r"^\d+$"))"),
            R"(descriptor_last.a.matches(r"^\d+$"))");
  EXPECT_EQ(limitador_condition(R"(a == """say "x" """)"),
            R"(descriptor_last.a == """say "x" """)");
  EXPECT_EQ(limitador_condition("a == \"x\" // it\"s"), "descriptor_last.a == \"x\" ");
}

TEST(ImportLimitador, TakesALimitOnce) {
  const Imported got = import_limitador(
      R"(- {namespace: n, max_value: 5, seconds: 60, conditions: [a == "x", b == "y", a == "x"]}
- {namespace: n, max_value: 7, seconds: 60, name: other, id: other, conditions: [b == "y", a == "x"]}
- {namespace: n, max_value: 5, seconds: 61, conditions: [a == "x", b == "y"]}
- {namespace: n, max_value: 5, seconds: 60, conditions: [a == "x", b == "y"], variables: [u]}
- {namespace: m, max_value: 5, seconds: 60, conditions: [a == "x", b == "y"]}
)");
  EXPECT_EQ(reasons(got),
            (std::vector<std::string>{"2: the limit: line 1 has the same limit, whose max_value "
                                      "counts: in limitador too"}));
  EXPECT_EQ(policies_of(got).size(), 4U);
  ASSERT_EQ(got.limits.size(), 4U);
  EXPECT_EQ(got.limits[0].conditions, (std::vector<std::string>{"a == \"x\"", "b == \"y\""}));
}

TEST(ImportHaproxy, WhatItLeavesOutDoesNotMakeTheFileUnreadable) {
  const Imported got = import_haproxy(
      "frontend web\n  stick-table type ip size 1m store conn_cur\n"
      "  tcp-request connection reject if " +
      std::string(90, '{') + " src_conn_cur gt 20 }\n");
  EXPECT_TRUE(policies_of(got).empty());
  EXPECT_EQ(got.left_out.size(), 1U) << got.yaml;
}

TEST(ImportLimitador, CountsByEachVariableOnce) {
  const auto policies = policies_of(import_limitador(
      "- {namespace: n, max_value: 5, seconds: 60, conditions: [],\n"
      "   variables: ['descriptors[0].u', 'u', 'descriptors[0][\"u-v\"]', 'descriptors[0].u']}\n"));
  ASSERT_EQ(policies.size(), 1U);
  EXPECT_EQ(policies[0].key.size(), 2U);
}

TEST(ImportLimitador, ReadsAVariableHoweverItIsSpelled) {
  for (const char* const variable :
       {"(descriptors[0].u)", "( ( u ) )", "descriptors [ 0 ] . u", "descriptors[0].u // the user",
        "descriptors[0][r'u']", "descriptors[0][\"u\"]"}) {
    const Imported got = import_limitador(
        "- namespace: n\n  max_value: 5\n  seconds: 60\n  variables:\n    - |-\n      " +
        std::string(variable) + "\n");
    const auto policies = policies_of(got);
    ASSERT_EQ(policies.size(), 1U) << got.yaml;
    EXPECT_EQ(policies[0].key.at(0).field.value, "descriptor_last.u") << variable;
    EXPECT_EQ(got.limits.at(0).keys, std::vector<std::string>{"u"});
  }
  for (const char* const computed :
       {"(descriptors[0].u) + (descriptors[0].v)", "descriptors[0]['u-v'] + descriptors[0]['w-x']",
        "'u'", "descriptors[0].u == 'a'", "()"}) {
    const Imported got =
        import_limitador("- {namespace: n, max_value: 5, seconds: 60, variables: [\"" +
                         std::string(computed) + "\"]}\n");
    EXPECT_TRUE(got.none) << computed << got.yaml;
    EXPECT_NE(got.yaml.find("a variable that is computed"), std::string::npos) << got.yaml;
  }
}

TEST(ImportLimitador, NamesWhatWeirDoesNotHave) {
  const auto why = [](const std::string& condition) {
    const std::string all = limitador_condition(condition);
    return all.substr(0, 3) + all.substr(all.rfind(": ") + 2);
  };
  EXPECT_EQ(why("descriptors[0].a.exists(d, d == \"x\")"), "2: weir has no function exists()");
  EXPECT_EQ(why("size(descriptors[0].a) > 3u"), "2: weir has no unsigned numbers");
  EXPECT_EQ(why("descriptors[0].a == b\"x\""), "2: weir has no texts with the prefix b");
  EXPECT_EQ(why("size(descriptors[0]) == 1"), "2: it asks for a descriptor as a whole");
  EXPECT_EQ(why("{\"a\": 1}.a == 1"), "2: weir has no literal maps");
  EXPECT_EQ(why("timestamp(descriptors[0].t) > timestamp(\"x\")"),
            "2: weir has no function timestamp()");
  EXPECT_EQ(why("limit.max_value > 3"), "2: a limit has a name and an id, and no max_value");
}

TEST(ImportLimitador, TellsWhatItLeavesOut) {
  const Imported got = import_limitador(R"(- namespace: n
  max_value: 5
  seconds: 60
  conditions: ["descriptors[0].a == descriptors[1].b"]
- namespace: n
  max_value: 5
  seconds: 60
  variables: ["descriptors[0].a.split('/')[0]"]
- {namespace: n, max_value: 99999999999999999999, seconds: 60}
)");
  EXPECT_EQ(
      reasons(got),
      (std::vector<std::string>{
          "4: descriptors[0].a == descriptors[1].b: it asks for two descriptors at once: each "
          "is an event of its own here",
          "8: descriptors[0].a.split('/')[0]: weir has no function split()",
          "9: max_value: it is beyond what weir counts"}));
  EXPECT_TRUE(policies_of(got).empty());
  EXPECT_TRUE(got.none);
  EXPECT_FALSE(import_limitador("[]\n").none) << "there are no limits in it";
  EXPECT_NE(import_limitador("a: b\n").error, "");
  EXPECT_NE(import_limitador("- [\n").error, "");
}

TEST(ImportLimitador, RefusesAFileThatLimitadorCannotRead) {
  const auto error = [](const std::string& limit) {
    return import_limitador("- {namespace: n, max_value: 1, seconds: 1}\n- " + limit + "\n").error;
  };
  EXPECT_EQ(error("{namespace: n, seconds: 60}"), "") << "max_value is 0";
  EXPECT_EQ(error("{namespace: n, max_value: ten, seconds: 60}"),
            "2: \"max_value\" must be a whole number, 0 or more");
  for (const char* number : {"-1", "1O0", "1.5", "'-1'", "[1]", "null", "''"})
    EXPECT_NE(error(std::string("{namespace: n, seconds: 60, max_value: ") + number + "}"), "")
        << number;
  EXPECT_EQ(error("{namespace: n, max_value: 1}"),
            "2: \"seconds\" must be a whole number, 0 or more");
  EXPECT_EQ(error("{namespac: n, max_value: 1, seconds: 60}"),
            "2: a limit needs \"namespace\", a text");
  EXPECT_EQ(error("{namespace: n, max_value: 1, seconds: 60, variables: user}"),
            "2: \"variables\" is a list of texts");
  EXPECT_EQ(error("{namespace: n, max_value: 1, seconds: 60, conditions: [{a: b}]}"),
            "2: \"conditions\" is a list of texts");
  EXPECT_EQ(error("5"), "2: a limit is a map");
}

/// A key has at most eight parts: a rule with more must not become a file that weir refuses.
TEST(Import, WritesNoKeyOfNineParts) {
  for (const int parts : {8, 9}) {
    const bool fits = parts == 8;
    std::string variables, zone, rule = "domain: d\ndescriptors:\n", indent = "  ";
    for (int i = 0; i < parts; ++i) {
      const std::string name(1, static_cast<char>('a' + i));
      variables += (i == 0 ? "" : ", ") + name;
      zone += "$arg_" + name;
      rule += indent + "- key: " + name + "\n" +
              (i + 1 < parts ? indent + "  descriptors:\n"
                             : indent + "  rate_limit: {unit: minute, requests_per_unit: 2}\n");
      indent += "  ";
    }
    const Imported limitador = import_limitador(
        "- {namespace: n, max_value: 5, seconds: 60, variables: [" + variables + "]}\n");
    EXPECT_EQ(policies_of(limitador).size(), fits ? 1U : 0U);
    EXPECT_EQ(limitador.left_out.size(), fits ? 0U : 1U);
    const Imported nginx = import_nginx("limit_req_zone " + zone +
                                        " zone=k:1m rate=1r/s;\nserver { limit_req zone=k; }\n");
    EXPECT_EQ(policies_of(nginx).size(), fits ? 1U : 0U);
    const Imported envoy = import_envoy_rate_limits({{"a.yaml", rule, true}});
    const auto of_envoy = policies_of(envoy);
    ASSERT_EQ(of_envoy.size(), 1U) << envoy.yaml;
    EXPECT_EQ(of_envoy[0].key.size(), fits ? 8U : 1U) << "the whole descriptor";
  }
}

TEST(ImportEnvoy, WritesEventsInTheOrderOfTheirEntries) {
  const Imported got = import_envoy_rate_limits({{"a.yaml", R"(
domain: shop
descriptors:
  - key: path
    value: /login
    rate_limit: {unit: minute, requests_per_unit: 2, name: login}
    descriptors:
      - {key: x-user, shadow_mode: true, rate_limit: {unit: year, requests_per_unit: 7, replaces: [{name: login}]}}
  - {key: k, value: "*", share_threshold: true, quota_mode: true, rate_limit: {unit: second, requests_per_unit: 1}}
  - {key: k, rate_limit: {unlimited: true}, detailed_metric: true}
)",
                                                  true}});
  const auto policies = policies_of(got);
  ASSERT_EQ(policies.size(), 3U) << got.yaml;
  EXPECT_EQ(policies[0].name.value, "login");
  EXPECT_TRUE(policies[0].key.empty());
  EXPECT_EQ(policies[1].window->length, std::chrono::hours{24 * 365});
  EXPECT_EQ(policies[1].mode.value, Mode::shadow);
  EXPECT_EQ(policies[1].key.size(), 1U);
  EXPECT_TRUE(policies[2].key.empty()) << "all values share";
  EXPECT_NE(got.yaml.find("{k: \"**\"}"), std::string::npos) << got.yaml;
  EXPECT_NE(got.yaml.find("{k: \"*\"}"), std::string::npos) << got.yaml;
  EXPECT_NE(got.yaml.find("replaces: [shop_path__login]"), std::string::npos) << got.yaml;
  EXPECT_NE(got.yaml.find("quota: true"), std::string::npos) << got.yaml;
  EXPECT_EQ(got.left_out.size(), 1U);
  EXPECT_EQ(
      reasons(import_envoy_rate_limits(
          {{"a.yaml", "domain: d\ndescriptors: [{key: 'a*', rate_limit: {unlimited: true}}]\n",
            true}})),
      std::vector<std::string>{
          "2: d.a*: a key with a *: it matches this key alone: write an event for each key"});
  EXPECT_NE(import_envoy_rate_limits({{"b.yaml", "descriptors: []\n", true}}).error, "");
}

}  // namespace
}  // namespace weir::config::import_test
