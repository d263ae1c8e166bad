#include <gtest/gtest.h>

#include "config/import/imported.h"
#include "config/load.h"

/// Where limits of nginx hold, and by what they count. Each file has the zone `a` by address.
namespace weir::config::import_nginx_test {
namespace {

struct Result {
  std::vector<PolicyDef> policies;
  std::vector<std::string> notes;
  std::string yaml;

  /// The condition of the only policy; empty: everywhere.
  std::string when() const {
    if (policies.size() != 1) return std::to_string(policies.size()) + " policies in " + yaml;
    return policies[0].when ? policies[0].when->value : std::string();
  }
};

Result import(const std::string& text) {
  const Imported got =
      import_nginx("limit_req_zone $binary_remote_addr zone=a:1m rate=1r/s;\n" + text);
  EXPECT_EQ(got.error, "");
  const Loaded loaded = load_text("imported.yaml", got.yaml);
  for (const Problem& problem : loaded.problems.all()) {
    if (problem.severity == Problem::Severity::error)
      ADD_FAILURE() << problem.where.line << ": " << problem.message << "\n" << got.yaml;
  }
  Result out;
  if (loaded.model) out.policies = loaded.model->policies;
  std::erase_if(out.policies,
                [](const PolicyDef& p) { return p.name.value.starts_with("limit-override-"); });
  for (const ImportNote& note : got.left_out)
    out.notes.push_back(std::to_string(note.line) + ": " + note.what + ": " + note.why);
  out.yaml = got.yaml;
  return out;
}

std::string when(const std::string& text) {
  const Result got = import(text);
  EXPECT_TRUE(got.notes.empty()) << got.yaml;
  return got.when();
}

using Notes = std::vector<std::string>;

TEST(ImportNginxHosts, TheDefaultServerTakesWhatNoOtherNames) {
  EXPECT_EQ(when("server { server_name example.com; limit_req zone=a; }"), "");
  EXPECT_EQ(when("server { server_name example.com; limit_req zone=a; }\n"
                 "server { server_name b.example; }"),
            "!(host == \"b.example\")")
      << "the first server is the default one";
  EXPECT_EQ(when("server { server_name b.example *.c.example; }\n"
                 "server { listen 80 default_server; server_name _; limit_req zone=a; }"),
            "!(host == \"b.example\" || host.endsWith(\".c.example\"))");
  EXPECT_EQ(when("server { server_name other; }\n"
                 "server { server_name b.example; limit_req zone=a; }"),
            "host == \"b.example\"");
  EXPECT_EQ(when("server { server_name example.com; return 301 https://$host; }\n"
                 "server { listen 443 ssl; server_name example.com; limit_req zone=a; }"),
            "")
      << "each address has a default server of its own";
}

TEST(ImportNginxHosts, NamesHaveAnOrder) {
  const std::string other = "server { return 444; }\n";
  EXPECT_EQ(when(other + "server { server_name *.example.com; limit_req zone=a; }\n"
                         "server { server_name API.example.com b.example; }"),
            "(host.endsWith(\".example.com\") && !(host == \"api.example.com\"))");
  EXPECT_EQ(when(other + "server { server_name ~^w; limit_req zone=a; }\n"
                         "server { server_name .example.com; }"),
            "(host.matches(\"^w\") && !(host == \"example.com\" || "
            "host.endsWith(\".example.com\")))");
  EXPECT_EQ(when(other + "server { server_name b; server_name c; limit_req zone=a; }"),
            "(host == \"b\" || host == \"c\")");
}

TEST(ImportNginxHosts, TellsOfServersThatDifferByAddressAlone) {
  EXPECT_EQ(import("server { listen 80; server_name a; location /x { limit_req zone=a; } }\n"
                   "server { listen 81; server_name a; }")
                .notes,
            (Notes{"2: server: weir does not see at which address a request comes: its limits also "
                   "hold for the server in line 3"}));
}

TEST(ImportNginxPaths, HoldWithTheSlashAtTheEnd) {
  const auto location = [](const std::string& text) {
    return when("server { location " + text + " { limit_req zone=a; } }");
  };
  EXPECT_EQ(location("/login"), "path.startsWith(\"/login\")");
  EXPECT_EQ(location("/login/"), "uri.startsWith(\"/login/\")");
  EXPECT_EQ(location("= /login"), "path == \"/login\"");
  EXPECT_EQ(location("=/login/"), "uri == \"/login/\"");
  EXPECT_EQ(location("~ ^/login/$"), "uri.matches(\"^/login/$\")");
  EXPECT_EQ(location("~ /$"), "uri.matches(\"/$\")");
  EXPECT_EQ(location("~* \\.php$"), "path.matches(\"(?i)\\\\.php$\")");
  EXPECT_EQ(location("~ ^/x.*y"), "uri.matches(\"^/x.*y\")");
  EXPECT_EQ(location("/"), "");
  EXPECT_EQ(when("server { location = /login { } location / { limit_req zone=a; } }"),
            "!(uri == \"/login\")")
      << "a slash at the end is not a way round the limit";
  EXPECT_NE(import("server { location /login/ { limit_req zone=a; } }").yaml.find("\n  uri: "),
            std::string::npos);
}

TEST(ImportNginxPaths, AreEscapedAsInWeir) {
  const auto location = [](const std::string& text) {
    return when("server { location " + text + " { limit_req zone=a; } }");
  };
  EXPECT_EQ(location("/café"), "path.startsWith(\"/caf%C3%A9\")");
  EXPECT_EQ(location("\"/a b%\""), "path.startsWith(\"/a%20b%25\")");
  EXPECT_EQ(location("/~u/@a:b"), "path.startsWith(\"/~u/@a:b\")");
  EXPECT_EQ(location("~ \"^/caf\u00e9+ x\\?$\""),
            "path.matches(\"^/caf(?:%C3%A9)+(?:%20)x(?:%3F)$\")");
}

TEST(ImportNginxPaths, AnInnerLocationInheritsAndIsAskedInsideAlone) {
  EXPECT_EQ(when("server { location /api/ { limit_req zone=a; location /api/login { } }\n"
                 "location / { } }"),
            "(uri.startsWith(\"/api/\") && !(path.startsWith(\"/api/login\"))) || "
            "(path.startsWith(\"/api/login\"))");
  EXPECT_EQ(when("server { location /blog/ { location ~ \\.php$ { limit_req zone=a; } }\n"
                 "location / { } }"),
            "uri.startsWith(\"/blog/\") && path.matches(\"\\\\.php$\")");
  EXPECT_EQ(when("server { location /blog/ { location ~ \\.php$ { } }\n"
                 "location ~ x { limit_req zone=a; } }"),
            "path.matches(\"x\") && !(uri.startsWith(\"/blog/\") && uri.matches(\"\\\\.php$\"))")
      << "an inner pattern comes before the ones beside the location";
}

TEST(ImportNginxPaths, AFirmPrefixWinsOverPatternsWhereNoLongerOneDoes) {
  EXPECT_EQ(when("server { location ^~ /a/ { } location /a/b/ { }\n"
                 "location ~ x { limit_req zone=a; } }"),
            "path.matches(\"x\") && !(uri.startsWith(\"/a/\") && !(uri.startsWith(\"/a/b/\")))");
  EXPECT_EQ(when("server { location ^~ / { } location ~ x { limit_req zone=a; }\n"
                 "location ^~ /b { limit_req zone=a; } }"),
            "path.startsWith(\"/b\")");
}

TEST(ImportNginxPaths, WhereAllLocationsHaveALimitNoPathIsNamed) {
  EXPECT_EQ(when("server { limit_req zone=a; location /a/ { } location ~ x { } }"), "");
}

TEST(ImportNginx, SettingsHoldWhereverTheyStand) {
  const Result got = import("server { }\nlimit_req zone=a; limit_req_status 429;");
  EXPECT_EQ(got.when(), "");
  EXPECT_EQ(got.policies.at(0).then.at(0).status->value, 429);
  const Result dry = import(
      "server { limit_req_dry_run on; limit_req zone=a;\n"
      "location /login { limit_req_dry_run off; } }");
  ASSERT_EQ(dry.policies.size(), 2U) << dry.yaml;
  EXPECT_EQ(dry.policies[0].when->value, "path.startsWith(\"/login\")");
  EXPECT_EQ(dry.policies[0].mode.value, Mode::enforce);
  EXPECT_EQ(dry.policies[1].mode.value, Mode::shadow);
}

TEST(ImportNginx, TellsWhatNginxRefuses) {
  const auto told = [](const std::string& text) {
    const Result got = import(text);
    return got.notes.empty() ? std::string("nothing") : got.notes.back();
  };
  const auto of = [&](const std::string& use) {
    const Result got = import("server { " + use + "; }");
    EXPECT_TRUE(got.policies.empty()) << got.yaml;
    const std::string note = got.notes.empty() ? "" : got.notes.back();
    const std::string begin = "2: " + use + ": ", end = ": nginx refuses the file";
    if (!note.starts_with(begin) || !note.ends_with(end)) return note;
    return note.substr(begin.size(), note.size() - begin.size() - end.size());
  };
  EXPECT_EQ(of("limit_req zone=a burst=abc"), "\"abc\" is not a whole number, 1 or more");
  EXPECT_EQ(of("limit_req zone=a burst=-1"), "\"-1\" is not a whole number, 1 or more");
  EXPECT_EQ(of("limit_req zone=a burst=0"), "\"0\" is not a whole number, 1 or more");
  EXPECT_EQ(of("limit_req zone=a delay="), "\"\" is not a whole number, 1 or more");
  EXPECT_EQ(of("limit_req zone=a foo=2"), "it has no parameter foo=2");
  EXPECT_EQ(of("limit_req burst=3"), "zone= is missing");
  EXPECT_EQ(of("limit_conn a many"), "\"many\" is not a whole number, 1 or more");
  EXPECT_EQ(of("limit_conn a"), "it needs a zone and a number");
  EXPECT_EQ(told("limit_req_zone $uri zone=b:1m rate=1r/s foo;"),
            "2: limit_req_zone $uri zone=b:1m rate=1r/s foo: it has no parameter foo: nginx "
            "refuses the file");
  EXPECT_EQ(told("server {\n limit_req zone=a }"),
            "3: limit_req zone=a: it does not end with a semicolon: nginx refuses the file");
  EXPECT_EQ(told("server {\n location / {\n limit_req zone=a;\n}\n"),
            "2: server: its block does not end: nginx refuses the file");
  EXPECT_EQ(told("server { limit_req zone=a; }\n}"),
            "3: }: no block begins before it: nginx refuses the file");
  EXPECT_EQ(told("server { limit_req zone=a burst=010 delay=2; }"), "nothing");
}

TEST(ImportNginx, TellsOfConnectionsThatADelayKeepsHere) {
  const std::string zone = "limit_conn_zone $binary_remote_addr zone=c:1m;\n";
  const auto notes = [&](const std::string& servers) { return import(zone + servers).notes; };
  const Notes told = {
      "3: limit_conn c: weir counts a request from its arrival, also while limit_req delays it; "
      "nginx counts it when its turn comes: add to the limit the number of requests that may wait"};
  EXPECT_EQ(notes("server { limit_conn c 2; limit_req zone=a burst=8; }"), told);
  EXPECT_EQ(notes("server { limit_conn c 2; location /a { limit_req zone=a burst=8 delay=3; } }"),
            told);
  EXPECT_EQ(notes("server { limit_conn c 2; limit_req zone=a burst=8 nodelay; }"), Notes{});
  EXPECT_EQ(notes("server { limit_conn c 2; limit_req zone=a; }"), Notes{});
  EXPECT_EQ(notes("server { limit_req_dry_run on; limit_conn c 2; limit_req zone=a burst=8; }"),
            Notes{});
  EXPECT_EQ(
      notes("server { location /c { limit_conn c 2; } location /a { limit_req zone=a burst=8; "
            "} }"),
      Notes{});
}

TEST(ImportNginxKeys, OnlyAnEmptyKeyIsNotCounted) {
  const auto key = [](const std::string& variables) {
    const Result got = import("limit_req_zone " + variables +
                              " zone=k:1m rate=1r/s; server { limit_req zone=k; }");
    if (got.policies.size() != 1) return got.yaml;
    const PolicyDef& policy = got.policies[0];
    const std::size_t at = got.yaml.find("    missing: ");
    return std::to_string(policy.key.size()) + " " +
           (at == std::string::npos ? "" : got.yaml.substr(at + 13, 4)) + " " + got.when();
  };
  EXPECT_EQ(key("$binary_remote_addr"), "1  ");
  EXPECT_EQ(key("$binary_remote_addr$http_user_agent"), "2 same ");
  EXPECT_EQ(key("$host"), "1 same ") << "without a Host nginx takes the name of the server";
  EXPECT_EQ(key("x$arg_token"), "1 same ");
  EXPECT_EQ(key("$http_x_key"), "1  header.x_key != \"\"");
  EXPECT_EQ(key("$cookie_a$arg_b"),
            "2 same (has(cookie.a) && cookie.a != \"\" || has(query.b) && query.b != \"\")");
  EXPECT_NE(key("\"\"").find("its key is always empty: nginx counts nothing"), std::string::npos);
}

TEST(ImportNginxKeys, TheNameOfTheServerIsNoHost) {
  const Result got = import(
      "limit_req_zone $server_name zone=s:1m rate=1r/s; limit_req zone=s;\n"
      "server { server_name *.example.com; }\n"
      "server { server_name b.example; }\n"
      "server { listen 81; server_name b.example; }");
  ASSERT_EQ(got.policies.size(), 2U) << got.yaml;
  EXPECT_TRUE(got.policies[0].key.empty());
  EXPECT_EQ(got.policies[0].when->value, "!(host == \"b.example\")");
  EXPECT_EQ(import("limit_req_zone $server_name zone=s:1m rate=1r/s;\nserver { limit_req zone=s; }")
                .notes.size(),
            2U)
      << "a server without a name has an empty key, and zone a is idle";
}

TEST(ImportNginxLeads, TellOfLimitsThatNoPathLeadsTo) {
  EXPECT_EQ(import("server { location / { try_files $uri @app; }\n"
                   "location @app { limit_req zone=a; } }")
                .notes,
            (Notes{"3: limit_req zone=a in location @app: requests come there from other locations "
                   "alone (try_files, error_page, rewrite): write a policy with their paths in "
                   "`when`"}));
  EXPECT_EQ(import("server { location / { try_files $uri /index.php?$args; }\n"
                   "location ~ \\.php$ { limit_req zone=a; } }")
                .notes,
            (Notes{"2: try_files $uri /index.php?$args: it leads to a location with limits: weir "
                   "goes by the path that the client asks for, so write such paths into `when`"}));
  EXPECT_EQ(
      import("server { location /old/ { rewrite ^/old/(.*)$ /api/$1 last; }\n"
             "location /api/ { limit_req zone=a; } }")
          .notes,
      (Notes{"2: rewrite ^/old/(.*)$ /api/$1 last: nginx limits by the path after this directive, "
             "weir by the path that the client asks for: write such paths into `when`"}));
  EXPECT_EQ(import("server { location /a { limit_req zone=a; return 200; } }").notes,
            (Notes{"2: limit_req zone=a in location /a: nginx answers there before it counts (line "
                   "2): no request is limited"}));
  EXPECT_EQ(import("server { limit_req zone=a; return 301 /; }").notes,
            (Notes{"2: limit_req zone=a: nginx answers before it counts (line 2): no request is "
                   "limited"}));
  EXPECT_TRUE(import("server { limit_req zone=a; location / { try_files $uri /index.php; }\n"
                     "rewrite ^/x /y; location ~ \\.php$ { } error_page 500 /50x.html; }")
                  .notes.empty())
      << "all locations have the same limits";
}

TEST(ImportNginxPatterns, BecomeThoseOfRe2OrANote) {
  const auto pattern = [](const std::string& text) {
    const Result got = import("server { location ~ " + text + " { limit_req zone=a; } }");
    return got.notes.empty() ? got.when() : got.notes.front();
  };
  EXPECT_EQ(pattern("^/(?<tenant>[a-z]+)$"), "path.matches(\"^/([a-z]+)$\")");
  EXPECT_EQ(pattern("^/(?P<id>\\d+)$"), "path.matches(\"^/(\\\\d+)$\")");
  const auto why = [&](const std::string& text) {
    const std::string all = pattern(text);
    return all.substr(all.find(": ", 3) + 2);
  };
  EXPECT_EQ(why("^/(\\w+)/\\1$"), "RE2 has no back references: write the condition in another way");
  EXPECT_EQ(why("^/a++$"), "RE2 has no possessive quantifiers: write the condition in another way");
  EXPECT_EQ(why("^/(?!x)"),
            "RE2 has no look-ahead and no look-behind: write the condition in another way");
  EXPECT_EQ(why("^/(?>ab|a)c"), "RE2 has no (?>: write the condition in another way");
  EXPECT_EQ(import("server { server_name ~^(?!www); }\n"
                   "server { server_name ~^(?<user>.+)\\.b$; limit_req zone=a; }")
                .when(),
            "host.matches(\"^(.+)\\\\.b$\")");
  EXPECT_EQ(
      import("server { location ~ (?!x) { location /b { limit_req zone=a; } } }").notes.size(), 2U)
      << "the pattern, and the limit inside";
  const Imported refused = import_nginx(
      "limit_req_zone $host zone=a:1m rate=1r/s; server { location ~ ^/\\Z { limit_req zone=a; } }",
      [](std::string_view text) { return text == "^/\\Z" ? "no \\Z" : ""; });
  ASSERT_FALSE(refused.left_out.empty());
  EXPECT_EQ(refused.left_out[0].why,
            "RE2 does not read the pattern (no \\Z): write the condition in another way");
}

TEST(ImportNginxClient, BecomesProxyClientIp) {
  const std::string server = "server { limit_req zone=a; ";
  const Result got = import(
      "set_real_ip_from 10.0.0.0/8; set_real_ip_from 2001:db8::/32; real_ip_recursive on;\n"
      "real_ip_header X-Forwarded-For;\n" +
      server + "}");
  EXPECT_TRUE(got.notes.empty()) << got.yaml;
  EXPECT_NE(got.yaml.find("proxy:\n  client_ip: {trust: [\"10.0.0.0/8\", \"2001:db8::/32\"], "
                          "header: X-Forwarded-For}\n"),
            std::string::npos)
      << got.yaml;
  const auto notes = [&](const std::string& text) { return import(server + text).notes.size(); };
  EXPECT_EQ(notes("set_real_ip_from 10.0.0.1; }"), 0U);
  EXPECT_EQ(notes("set_real_ip_from 10.0.0.1; real_ip_header X-Forwarded-For; }"), 1U)
      << "not recursive";
  EXPECT_EQ(notes("set_real_ip_from 10.0.0.1; real_ip_header proxy_protocol; }"), 1U);
  EXPECT_EQ(notes("set_real_ip_from unix:; }"), 1U);
  EXPECT_EQ(notes("set_real_ip_from 10.0.0.1; }\nserver { server_name b; }"), 1U)
      << "another server believes nobody";
  EXPECT_EQ(notes("location /x { set_real_ip_from 10.0.0.1; } }"), 1U);
}

}  // namespace
}  // namespace weir::config::import_nginx_test
