#include <gtest/gtest.h>

#include "config/import/imported.h"
#include "config/load.h"

/// The environment of envoyproxy/ratelimit as settings of weir.
namespace weir::config::import_environment_test {
namespace {

Server server_of(const Imported& imported) {
  EXPECT_EQ(imported.error, "");
  const Loaded loaded = load_text("imported.yaml", imported.yaml);
  for (const Problem& problem : loaded.problems.all()) {
    if (problem.severity == Problem::Severity::error)
      ADD_FAILURE() << problem.where.line << ": " << problem.message << "\n" << imported.yaml;
  }
  return loaded.model ? loaded.model->server : Server{};
}

std::vector<std::string> names(const Imported& imported) {
  std::vector<std::string> out;
  EXPECT_EQ(imported.yaml.find(" ...\n"), std::string::npos) << "a note is cut off";
  for (const ImportNote& note : imported.left_out)
    out.push_back(std::to_string(note.line) + ": " + note.what);
  return out;
}

std::string why(const Imported& imported, std::string_view name) {
  for (const ImportNote& note : imported.left_out) {
    if (note.what == name) return note.why;
  }
  return {};
}

bool has(const Imported& imported, std::string_view text) {
  return imported.yaml.find(text) != std::string::npos;
}

TEST(ImportEnvironment, TakesWhatItsExampleSets) {
  const Imported got = import_envoy_environment(R"(
# as docker-compose has it
USE_STATSD=false
LOG_LEVEL=debug
REDIS_SOCKET_TYPE=tcp
REDIS_URL=redis:6379
RUNTIME_ROOT=/data
RUNTIME_SUBDIRECTORY=ratelimit
RUNTIME_WATCH_ROOT=false
CONFIG_TYPE=FILE
PATH=/usr/bin
)");
  const Server server = server_of(got);
  EXPECT_EQ(server.grpc.listen->value.host, "0.0.0.0");
  EXPECT_EQ(server.grpc.listen->value.port, 8081);
  EXPECT_EQ(server.api.listen->value.port, 8080);
  ASSERT_EQ(server.ratelimit.files.size(), 1U);
  EXPECT_EQ(server.ratelimit.files[0].value, "/data/ratelimit/config/*");
  EXPECT_TRUE(has(got, "url: \"redis://redis:6379\"") || has(got, "url: redis://redis:6379"))
      << got.yaml;
  EXPECT_TRUE(has(got, "redis_keys: envoyproxy"));
  EXPECT_TRUE(has(got, "level: debug"));
  EXPECT_TRUE(has(got, "# Not needed here: RUNTIME_WATCH_ROOT, USE_STATSD."));
  EXPECT_EQ(names(got), std::vector<std::string>{"0: HOST"}) << "no line, for it was not set";
}

TEST(ImportEnvironment, TakesEverySettingThatWeirHas) {
  const Imported got = import_envoy_environment(R"(
export GRPC_UDS='/run/rl.sock'
GRPC_MAX_CONNECTION_AGE=5m
GRPC_SERVER_USE_TLS=true
GRPC_SERVER_TLS_CERT=/c.pem
GRPC_SERVER_TLS_KEY=/k.pem
GRPC_CLIENT_TLS_CACERT=/ca.pem
HOST=127.0.0.1
PORT=9000
LOG_LEVEL=WARNING
LOG_FORMAT=json
REDIS_SOCKET_TYPE=unix
REDIS_URL=/run/redis.sock
CACHE_KEY_PREFIX="pre:fix"
LIMIT_RESPONSE_HEADERS_ENABLED=1
LIMIT_RESET_HEADER=X-Reset
SHADOW_MODE=T
QUOTA_MODE=true
MERGE_DOMAIN_CONFIG=true
RESPONSE_DYNAMIC_METADATA=true
NEAR_LIMIT_RATIO=0.9
RUNTIME_ROOT=/srv/
RUNTIME_APPDIRECTORY=limits
)");
  const Server server = server_of(got);
  EXPECT_EQ(names(got), std::vector<std::string>{});
  EXPECT_EQ(server.grpc.listen->value.path, "/run/rl.sock");
  EXPECT_EQ(server.grpc.connection_age, milliseconds{300'000});
  EXPECT_TRUE(server.grpc.tls);
  EXPECT_EQ(server.api.listen->value.port, 9000);
  EXPECT_EQ(server.ratelimit.files.at(0).value, "/srv/limits/*");
  EXPECT_TRUE(server.ratelimit.shadow && server.ratelimit.quota && server.ratelimit.metadata);
  EXPECT_TRUE(has(got, "client_ca: /ca.pem") || has(got, "client_ca: \"/ca.pem\"")) << got.yaml;
  for (const char* line : {"near: ", "merge_domains: true", "reset: X-Reset", "level: warn",
                           "format: json", "redis_prefix: \"pre:fix\""}) {
    EXPECT_TRUE(has(got, line)) << line << "\n" << got.yaml;
  }
}

TEST(ImportEnvironment, KnowsSentinelsClustersAndTls) {
  const Imported sentinel = import_envoy_environment(
      "REDIS_TYPE=SENTINEL\nREDIS_SOCKET_TYPE=tcp\nREDIS_URL=main,a:26379,b:26379\n");
  server_of(sentinel);
  EXPECT_TRUE(has(sentinel, "sentinel: {name: main, nodes: [")) << sentinel.yaml;
  const Imported cluster = import_envoy_environment(
      "REDIS_TYPE=cluster\nREDIS_SOCKET_TYPE=tcp\nREDIS_URL=a:7000, b:7001\n");
  server_of(cluster);
  EXPECT_TRUE(has(cluster, "cluster: [")) << cluster.yaml;
  const Imported tls = import_envoy_environment(
      "REDIS_SOCKET_TYPE=tcp\nREDIS_URL=redis://u:secret@r:6380\nREDIS_TLS=true\n"
      "REDIS_TLS_CACERT=/ca.pem\nREDIS_TLS_SKIP_HOSTNAME_VERIFICATION=true\n"
      "REDIS_AUTH=ann:secret\n");
  server_of(tls);
  EXPECT_TRUE(has(tls, "rediss://r:6380")) << tls.yaml;
  EXPECT_TRUE(has(tls, "user: ann"));
  EXPECT_FALSE(has(tls, "secret")) << "what is secret is not printed";
  EXPECT_EQ(names(tls),
            (std::vector<std::string>{"0: HOST", "2: REDIS_URL",
                                      "5: REDIS_TLS_SKIP_HOSTNAME_VERIFICATION", "6: REDIS_AUTH"}));
}

TEST(ImportEnvironment, SaysThatThereIsOneRedisForAllLimits) {
  const Imported got = import_envoy_environment(
      "HOST=localhost\nREDIS_SOCKET_TYPE=tcp\nREDIS_URL=a:1\nREDIS_PERSECOND=true\n"
      "REDIS_PERSECOND_URL=b:1\nREDIS_PERSECOND_TYPE=CLUSTER\n");
  server_of(got);
  EXPECT_EQ(names(got), std::vector<std::string>{"4: REDIS_PERSECOND"});
  EXPECT_NE(why(got, "REDIS_PERSECOND").find("weir has one Redis"), std::string::npos);
  EXPECT_FALSE(has(got, "b:1"));
  const Imported off =
      import_envoy_environment("HOST=localhost\nREDIS_PERSECOND=false\nREDIS_PERSECOND_URL=b:1\n");
  EXPECT_EQ(names(off), std::vector<std::string>{}) << "it was not in use";
}

TEST(ImportEnvironment, SaysWhatWeirDoesNotHave) {
  const Imported got = import_envoy_environment(
      "HOST=::1\nBACKEND_TYPE=memcache\nMEMCACHE_HOST_PORT=m:11211\nCONFIG_TYPE=GRPC_XDS_SOTW\n"
      "TRACING_ENABLED=true\nGRPC_CLIENT_TLS_SAN=a\nSHADOW_MODE=perhaps\nNEAR_LIMIT_RATIO=7\n"
      "GRPC_MAX_CONNECTION_AGE=0.5h\nPORT=http\nLOG_LEVEL=loud\n");
  server_of(got);
  EXPECT_EQ(names(got),
            (std::vector<std::string>{"2: BACKEND_TYPE", "3: MEMCACHE_HOST_PORT", "4: CONFIG_TYPE",
                                      "5: TRACING_ENABLED", "6: GRPC_CLIENT_TLS_SAN",
                                      "7: SHADOW_MODE", "8: NEAR_LIMIT_RATIO",
                                      "9: GRPC_MAX_CONNECTION_AGE", "10: PORT", "11: LOG_LEVEL"}));
  EXPECT_FALSE(has(got, "redis"));
}

TEST(ImportEnvironment, PutsIpv6IntoBrackets) {
  for (const char* host : {"::1", "[::1]"}) {
    const Imported got =
        import_envoy_environment("HOST=::1\nGRPC_HOST=" + std::string(host) + "\n");
    EXPECT_EQ(names(got), std::vector<std::string>{});
    EXPECT_TRUE(has(got, "[::1]:8081")) << got.yaml;
    EXPECT_TRUE(has(got, "[::1]:8080")) << got.yaml;
    server_of(got);
  }
}

TEST(ImportEnvironment, ReadsTheEnvironmentOfAProcess) {
  const std::string_view text("HOME=/root\0HOST=127.0.0.1\0GRPC_PORT=9999\0", 42);
  const Imported got = import_envoy_environment(text);
  EXPECT_EQ(server_of(got).grpc.listen->value.port, 9999);
}

TEST(ImportEnvironment, WhatSetsNothingIsAnError) {
  for (const char* text : {"", "PATH=/usr/bin\n", "GRPC_PORT\n", "domain: shop\n"}) {
    const Imported got = import_envoy_environment(text);
    EXPECT_NE(got.error, "") << text;
    EXPECT_EQ(got.yaml, "");
  }
}

}  // namespace
}  // namespace weir::config::import_environment_test
