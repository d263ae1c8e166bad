// Doors at which other proxies ask.
#include <gtest/gtest.h>

#include "config/load.h"

namespace weir::config::doors_test {
namespace {

std::string shown(const Loaded& loaded) {
  return render_human(loaded.problems, loaded.views(), false);
}
Loaded load(const std::string& text) { return load_text("weir.yaml", "weir: 1\n" + text); }

TEST(Doors, none_are_open_unless_the_file_says_so) {
  const Loaded loaded = load("api: {listen: 127.0.0.1:8484}\n");
  EXPECT_FALSE(loaded.model->server.api.ext_authz);
  EXPECT_TRUE(loaded.model->server.api.forward_auth.empty());
}

TEST(Doors, all_that_can_be_said) {
  const Loaded loaded = load(R"(
api:
  ext_authz: {prefix: /checks/envoy}
  forward_auth:
    - traefik
    - nginx: {deny_status_map: {429: 403, 302: 401}}
authz: {client_ip: {header: X-Real-IP, hops: 2}, error_response: true, settle: 30s}
)");
  EXPECT_EQ(shown(loaded), "");
  const Server& server = loaded.model->server;
  EXPECT_EQ(server.api.ext_authz->value, "/checks/envoy");
  ASSERT_EQ(server.api.forward_auth.size(), 2u);
  EXPECT_EQ(server.api.forward_auth[0].caller.value, "traefik");
  EXPECT_EQ(server.api.forward_auth[1].caller.value, "nginx");
  EXPECT_EQ(server.api.forward_auth[1].deny_status,
            (std::vector<std::pair<int, int>>{{429, 403}, {302, 401}}));
  EXPECT_EQ(server.authz.client_header, "x-real-ip");
  EXPECT_EQ(server.authz.hops, 2u);
  EXPECT_TRUE(server.authz.error_response);
  EXPECT_EQ(server.authz.settle, milliseconds(30'000));
}

TEST(Doors, forms_of_forward_auth) {
  for (const char* text :
       {"api: {forward_auth: nginx}\n", "api: {forward_auth: [nginx]}\n",
        "api: {forward_auth: {nginx: }}\n", "api: {forward_auth: [nginx: {}]}\n"}) {
    const Loaded loaded = load(text);
    EXPECT_EQ(shown(loaded), "") << text;
    ASSERT_EQ(loaded.model->server.api.forward_auth.size(), 1u) << text;
    EXPECT_EQ(loaded.model->server.api.forward_auth[0].caller.value, "nginx") << text;
  }
}

TEST(Doors, the_prefix_has_a_default) {
  for (const char* text : {"api: {ext_authz: {}}\n", "api: {ext_authz: }\n"}) {
    const Loaded loaded = load(text);
    EXPECT_EQ(shown(loaded), "") << text;
    EXPECT_EQ(loaded.model->server.api.ext_authz->value, "/ext_authz") << text;
  }
}

TEST(Doors, the_environment_may_say_them) {
  const Loaded loaded = load_texts({{"weir.yaml", "weir: 1\n"}},
                                   {{"WEIR_API_EXT_AUTHZ_PREFIX", "/envoy"},
                                    {"WEIR_API_FORWARD_AUTH", "caddy"},
                                    {"WEIR_AUTHZ_CLIENT_IP_TRUST", "10.0.0.0/8, 192.0.2.1"}});
  EXPECT_EQ(shown(loaded), "");
  EXPECT_EQ(loaded.model->server.api.ext_authz->value, "/envoy");
  EXPECT_EQ(loaded.model->server.api.forward_auth.front().caller.value, "caddy");
  EXPECT_EQ(loaded.model->server.authz.trust.size(), 2u);
}

TEST(Doors, what_is_wrong_is_told_where_it_stands) {
  EXPECT_EQ(shown(load("api: {forward_auth: [ngnix, caddy, caddy]}\n")),
            R"(weir.yaml:2:22: error: unknown proxy "ngnix"
  2 | api: {forward_auth: [ngnix, caddy, caddy]}
    |                      ^~~~~ did you mean "nginx"?
weir.yaml:2:36: error: "caddy" is given twice
  2 | api: {forward_auth: [ngnix, caddy, caddy]}
    |                                    ^~~~~
2 errors in 1 file
)");
  for (const char* prefix :
       {"ext_authz", "/", "/a/", "/v1", "/v1/x", "/forward_auth/nginx", "/a?b", "/a b"}) {
    const std::string text =
        shown(load("api: {ext_authz: {prefix: '" + std::string(prefix) + "'}}\n"));
    EXPECT_NE(text.find("can't be the prefix of the checks"), std::string::npos) << prefix << text;
  }
  EXPECT_NE(shown(load("api: {forward_auth: {nginx: {deny_status_map: {200: 403}}}}\n"))
                .find("not a status of a refusal"),
            std::string::npos);
  EXPECT_NE(shown(load("authz: {client_ip: {hops: 1, trust: [10.0.0.0/8]}}\n"))
                .find("two ways to say the same"),
            std::string::npos);
}

}  // namespace
}  // namespace weir::config::doors_test
