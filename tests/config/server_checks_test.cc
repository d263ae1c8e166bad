#include <gtest/gtest.h>

#include "config/load.h"

namespace weir::config::server_checks_test {
namespace {

std::string shown(const Loaded& loaded) {
  return render_human(loaded.problems, loaded.views(), false);
}

TEST(ServerChecks, a_door_that_others_can_reach_needs_a_token_at_its_line) {
  EXPECT_EQ(
      shown(load_text("weir.yaml",
                      "weir: 1\nadmin: {listen: 0.0.0.0:8481}\n"
                      "api:\n  listen: \"[2001:db8::1]:8484\"\n")),
      R"(weir.yaml:2:17: error: admin.listen can be reached from other machines: it needs "admin.token_file"
  2 | admin: {listen: 0.0.0.0:8481}
    |                 ^~~~~~~~~~~~ or listen on 127.0.0.1 or a Unix socket
weir.yaml:4:11: error: api.listen can be reached from other machines: it needs "api.token_file"
  4 |   listen: "[2001:db8::1]:8484"
    |           ^~~~~~~~~~~~~~~~~~~~ or listen on 127.0.0.1 or a Unix socket
2 errors in 1 file
)");
}

TEST(ServerChecks, each_door_has_a_place_of_its_own) {
  EXPECT_EQ(shown(load_text("weir.yaml",
                            "weir: 1\nproxy: {listen: :8481, upstream: \"http://127.0.0.1:3000\"}\n"
                            "grpc: {listen: \"unix:/run/a.sock\"}\n"
                            "api:\n  listen: unix:/run/a.sock\n")),
            R"(weir.yaml:2:17: error: admin.listen and proxy.listen are the same address
  2 | proxy: {listen: :8481, upstream: "http://127.0.0.1:3000"}
    |                 ^~~~~ give each door a port of its own
weir.yaml:3:16: error: grpc.listen and api.listen are the same address
  3 | grpc: {listen: "unix:/run/a.sock"}
    |                ^~~~~~~~~~~~~~~~~~ give each door a port of its own
2 errors in 1 file
)");
  for (const char* good : {"admin: {listen: 127.0.0.1:9000}\nhealth: {listen: 127.0.0.2:9000}\n",
                           "proxy: {listen: :8480, upstream: \"http://10.0.0.7:8480\"}\n",
                           "grpc: {listen: none}\napi: {listen: none}\n",
                           "health: {listen: :8480}\n"}) {  // no app: no proxy listens there
    EXPECT_EQ(shown(load_text("weir.yaml", std::string("weir: 1\n") + good)), "") << good;
  }
}

TEST(ServerChecks, weir_is_not_the_app_behind_itself) {
  for (const char* proxy : {"{listen: 127.0.0.1:8480, upstream: \"http://127.0.0.1:8480\"}",
                            "{listen: :8480, upstream: \"http://localhost:8480\"}",
                            "{listen: \"[::1]:8480\", upstream: \"http://[::1]:8480\"}",
                            "{listen: 10.0.0.7:8480, upstream: \"http://10.0.0.7:8480\"}",
                            "{listen: \"unix:/run/a.sock\", upstream: \"unix:/run/a.sock\"}"}) {
    const std::string said =
        shown(load_text("weir.yaml", "weir: 1\nproxy: " + std::string(proxy) + "\n"));
    EXPECT_NE(said.find("error: proxy.upstream is proxy.listen"), std::string::npos)
        << proxy << "\n"
        << said;
  }
}

TEST(ServerChecks, the_environment_is_checked_like_the_file) {
  const Loaded bad = load_texts({{"weir.yaml", "weir: 1\n"}}, {{"WEIR_ADMIN_LISTEN", ":8481"}});
  EXPECT_NE(shown(bad).find("admin.listen can be reached"), std::string::npos) << shown(bad);
  const Loaded good =
      load_texts({{"weir.yaml", "weir: 1\nadmin: {listen: 10.0.0.7:8481}\n"}},
                 {{"WEIR_ADMIN_TOKEN_FILE", "/run/weir/token"}, {"WEIR_API_LISTEN", "none"}});
  EXPECT_EQ(shown(good), "");
}

TEST(ServerChecks, names_of_doors_are_lower_case_and_a_list) {
  const Loaded loaded =
      load_texts({{"weir.yaml", "weir: 1\nadmin: {hosts: [Weir.Example, weir]}\n"}},
                 {{"WEIR_API_HOSTS", "events, weir"}});
  EXPECT_EQ(shown(loaded), "");
  EXPECT_EQ(loaded.model->server.admin.hosts, (std::vector<std::string>{"weir.example", "weir"}));
  EXPECT_EQ(loaded.model->server.api.hosts, (std::vector<std::string>{"events", "weir"}));
}

TEST(ServerChecks, replicas_are_hosts_with_a_port_or_without) {
  const Loaded loaded = load_text(
      "weir.yaml",
      "weir: 1\nadmin: {replicas: [weir-admin.shop.svc, '10.0.0.7:9000', '[fd00::7]:8481']}\n");
  EXPECT_EQ(shown(loaded), "");
  EXPECT_EQ(loaded.model->server.admin.replicas.size(), 3U);
  for (const char* bad : {"http://weir:8481", "':8481'", "'weir:'", "'a b'"}) {
    const Loaded wrong =
        load_text("weir.yaml", "weir: 1\nadmin: {replicas: " + std::string(bad) + "}\n");
    EXPECT_NE(shown(wrong).find("neither HOST nor HOST:PORT"), std::string::npos) << bad;
  }
}

TEST(ServerChecks, loopback_unix_sockets_and_doors_with_a_token_are_well) {
  for (const char* text :
       {"admin: {listen: 127.0.0.1:8481}\n", "admin: {listen: localhost:8481}\n",
        "admin: {listen: 127.8.8.8:8481}\n", "admin: {listen: \"[::1]:8481\"}\n",
        "admin: {listen: unix:/run/weir/admin.sock}\n", "api: {listen: none}\n", "admin: {}\n",
        "api: {listen: :8484, token_file: /run/weir/token}\n", "health: {listen: :8482}\n",
        "admin: {listen: \"[::ffff:127.0.0.1]:8481\"}\n"}) {
    EXPECT_EQ(shown(load_text("weir.yaml", "weir: 1\n" + std::string(text))), "") << text;
  }
}

TEST(ServerChecks, variables_of_the_environment_add_up_to_one_redis) {
  const auto loaded = load_texts({{"weir.yaml", "weir: 1\nproxy: {upstream: 'http://app:80'}\n"}},
                                 {{"WEIR_REDIS_URL", "redis://redis:6379/2"},
                                  {"WEIR_REDIS_PASSWORD_FILE", "/run/password"},
                                  {"WEIR_REDIS_SECRET_FILE", "/run/secret"},
                                  {"WEIR_REDIS_BUDGET", "20ms"}});
  EXPECT_EQ(shown(loaded), "");
  ASSERT_TRUE(loaded.model && loaded.model->server.redis);
  const Server::Redis& redis = *loaded.model->server.redis;
  EXPECT_EQ(redis.url->value, "redis://redis:6379/2");
  EXPECT_EQ(redis.password_file->value, "/run/password");
  EXPECT_EQ(redis.secret_file->value, "/run/secret");
  EXPECT_EQ(redis.budget, milliseconds(20));
}

TEST(ServerChecks, a_variable_of_the_environment_takes_the_place_of_one_key_of_redis) {
  const auto loaded = load_texts(
      {{"weir.yaml", "weir: 1\nredis: {url: 'redis://file:6379', secret_file: /run/secret}\n"}},
      {{"WEIR_REDIS_URL", "redis://environment:6379"}});
  EXPECT_EQ(shown(loaded), "");
  ASSERT_TRUE(loaded.model && loaded.model->server.redis);
  EXPECT_EQ(loaded.model->server.redis->url->value, "redis://environment:6379");
  EXPECT_EQ(loaded.model->server.redis->secret_file->value, "/run/secret");
}

TEST(ServerChecks, the_certificates_of_the_grpc_door_may_stand_in_the_file_and_the_environment) {
  const auto tls = [](const char* file, const Environment& environment) {
    return load_texts({{"weir.yaml", std::string("weir: 1\n") + file}}, environment);
  };
  const auto both = tls("grpc: {tls: {cert: c.pem}}\n", {{"WEIR_GRPC_TLS_KEY", "k.pem"}});
  EXPECT_EQ(shown(both), "");
  ASSERT_TRUE(both.model && both.model->server.grpc.tls);
  EXPECT_EQ(both.model->server.grpc.tls->cert.value, "c.pem");
  EXPECT_EQ(both.model->server.grpc.tls->key.value, "k.pem");
  EXPECT_EQ(shown(tls("", {{"WEIR_GRPC_TLS_CERT", "c.pem"}, {"WEIR_GRPC_TLS_KEY", "k.pem"}})), "");
  for (const auto& half :
       {tls("grpc: {tls: {cert: c.pem}}\n", {}), tls("grpc: {tls: {client_ca: ca.pem}}\n", {}),
        tls("", {{"WEIR_GRPC_TLS_KEY", "k.pem"}})}) {
    EXPECT_NE(shown(half).find("\"grpc.tls\" needs \"cert\" and \"key\""), std::string::npos);
  }
}

TEST(ServerChecks, what_the_environment_says_of_redis_must_say_where_it_is) {
  const auto loaded = load_texts({{"weir.yaml", "weir: 1\n"}}, {{"WEIR_REDIS_BUDGET", "20ms"}});
  EXPECT_NE(shown(loaded).find("does not say where it is"), std::string::npos);
}

TEST(ServerChecks, limits_of_connections_and_of_requests_that_wait_are_read_within_bounds) {
  const Loaded none = load_text("weir.yaml", "weir: 1\n");
  ASSERT_TRUE(none.model);
  EXPECT_EQ(none.model->server.limits.connections_per_ip, std::nullopt);
  EXPECT_EQ(none.model->server.limits.buffers, std::nullopt);
  EXPECT_EQ(none.model->server.limits.waiting, 1024U);
  const Loaded good =
      load_text("weir.yaml",
                "weir: 1\nlimits: {connections_per_ip: 7, buffers: 8MiB, held: 0, waiting: 9}\n");
  EXPECT_EQ(shown(good), "");
  ASSERT_TRUE(good.model);
  EXPECT_EQ(good.model->server.limits.connections_per_ip, 7U);
  EXPECT_EQ(good.model->server.limits.buffers, std::uint64_t{8} << 20);
  EXPECT_EQ(good.model->server.limits.held, 0U);
  EXPECT_EQ(good.model->server.limits.waiting, 9U);
  for (const char* bad :
       {"connections_per_ip: 0", "connections_per_ip: 1000001", "buffers: 1023KiB",
        "buffers: 65GiB", "waiting: -1", "waiting: 1000001"}) {
    const Loaded loaded = load_text("weir.yaml", "weir: 1\nlimits: {" + std::string(bad) + "}\n");
    EXPECT_NE(shown(loaded).find("1 error in 1 file"), std::string::npos) << bad << shown(loaded);
  }
}

TEST(ServerChecks, escapes_in_paths_are_refused_unless_the_file_keeps_them) {
  const auto path_of = [](const std::string& path) {
    const Loaded loaded = load_text("weir.yaml", "weir: 1\nproxy: {path: {" + path + "}}\n");
    EXPECT_EQ(shown(loaded), "") << path;
    return loaded.model ? loaded.model->server.proxy.path : PathRules{};
  };
  EXPECT_FALSE(path_of("").keep_encoded_slash);
  EXPECT_FALSE(path_of("").keep_other_escapes);
  EXPECT_TRUE(path_of("encoded_slash: keep").keep_encoded_slash);
  EXPECT_FALSE(path_of("encoded_slash: keep").keep_other_escapes);
  EXPECT_FALSE(path_of("encoded_slash: refuse").keep_encoded_slash);
  EXPECT_TRUE(path_of("other_escapes: keep").keep_other_escapes);
  EXPECT_FALSE(path_of("other_escapes: refuse, case: fold").keep_other_escapes);
  EXPECT_NE(shown(load_text("weir.yaml", "weir: 1\nproxy: {path: {encoded_slash: fold}}\n"))
                .find("1 error in 1 file"),
            std::string::npos);
}

}  // namespace
}  // namespace weir::config::server_checks_test
