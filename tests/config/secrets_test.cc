#include "config/text/secrets.h"

#include <gtest/gtest.h>

#include "config/load.h"

namespace weir::config::secrets_test {
namespace {

TEST(Secrets, AreCoveredInALine) {
  const struct {
    std::string_view line, shown;
  } cases[] = {
      {"redis: {url: redis://ann:s3c@h:0}", "redis: {url: redis://ann:***@h:0}"},
      {"  url: \"rediss://:s3/c@h/1\"  # x", "  url: \"rediss://:****@h/1\"  # x"},
      {"  url: redis://h:6379", "  url: redis://h:6379"},
      {"redis: {password: abc, secret: 'd e', timeout: 9}",
       "redis: {password: ***, secret: '***', timeout: 9}"},
      {"  secret: a b c # why", "  secret: ***** # why"},
      {"  password_file: /run/x", "  password_file: /run/x"},
      {"  token_file: /run/x, token: y", "  token_file: /run/x, token: *"},
      {"n: {webhook: https://hooks.example/T1/B2}", "n: {webhook: https://hooks.example/*****}"},
      {"\"Password\" : x}", "\"Password\" : *}"},
      {"redis: {url: redis://h, passwrd: abc, timeout: 9}",
       "redis: {url: redis://h, passwrd: ***, timeout: 9}"},
      {"  pasword: abc", "  pasword: ***"},
      {"  secrt: abc", "  secrt: ***"},
      {"  redis_passwort: abc", "  redis_passwort: ***"},
      {"  tokne: abc", "  tokne: ***"},
      {"  authorisation: abc", "  authorisation: ***"},
      {"  reset: abc, listen: abc, passes: abc, tokens_of: x",
       "  reset: abc, listen: abc, passes: abc, tokens_of: *"},
      {"  redis_pass: abc", "  redis_pass: ***"},
      {"- https://h/x.yaml?v=1&sig=ab/c", "- https://h/x.yaml?v=*&sig=****"},
      {"when: 'query.token == \"a\" || header.x_api_key != \"b\"'",
       "when: 'query.token == \"*\" || header.x_api_key != \"*\"'"},
      {"when: header.authorization in [\"a\", \"b\"] && path in [\"/c\"]",
       "when: header.authorization in [********] && path in [\"/c\"]"},
      {"when: header.x-api-key != null", "when: header.x-api-key != null"},
      {"when: header.x_api_key != null && header.token == cookie.token && path == \"/c\"",
       "when: header.x_api_key != null && header.token == cookie.token && path == \"/c\""},
      {"when: \"query.token == \\\"abc\\\" && ip == '::1'\"",
       "when: \"query.token == \\\"***\\\" && ip == '::1'\""},
      {"when: 'query.token != ''abc'' && true'", "when: 'query.token != ''***'' && true'"},
      {"policies: [{name: password-reset, over: 5}]",
       "policies: [{name: password-reset, over: 5}]"},
  };
  for (const auto& c : cases) EXPECT_EQ(without_secrets(c.line), c.shown) << c.line;
  EXPECT_EQ(without_secrets("    abc", "  secret: |"), "    ***");
  EXPECT_EQ(without_secrets("  user: x", "  secret:"), "  user: x");
}

TEST(Secrets, AreNotWhatIsCounted) {
  const struct {
    std::string_view line, shown;
  } cases[] = {
      {"weir: 1", "weir: 1"},
      {"fields: {token: body.token, password: sha256(body.password)}",
       "fields: {token: body.token, password: sha256(body.password)}"},
      {"events:", "events:"},
      {"  login:", "  login:"},
      {"    fields:", "    fields:"},
      {"      token:", "      token:"},
      {"        header.x_token", "        header.x_token"},
      {"      api_key: 'header.x_api_key == \"abc\" ? \"a\" : \"b\"'",
       "      api_key: 'header.x_api_key == \"***\" ? \"a\" : \"b\"'"},
      {"", ""},
      {"# token: abc", "# token: abc"},
      {"redis:  # token", "redis:  # token"},
      {"  password: abc", "  password: ***"},
      {"policies:", "policies:"},
      {"- name: login", "- name: login"},
      {"  metrics: {token: {watch: login}}", "  metrics: {token: {watch: login}}"},
      {"lists: {x: {url: https://h/x, token: abc}}", "lists: {x: {url: https://h/x, token: ***}}"},
  };
  LineSections sections;
  std::string_view before;
  for (const auto& c : cases) {
    EXPECT_EQ(without_secrets(c.line, before, sections.next(c.line)), c.shown);
    before = c.line;
  }
}

TEST(Secrets, AreCoveredInAMessage) {
  const struct {
    std::string_view text, shown;
  } cases[] = {
      {"cannot include \"https://h/x?token=abc\": no",
       "cannot include \"https://h/x?token=***\": no"},
      {"unknown key \"password:abc\" in \"redis\"", "unknown key \"password:***\" in \"redis\""},
      {"unknown key \"pasword\" in \"redis\"", "unknown key \"pasword\" in \"redis\""},
      {"unknown key \"name:abc\" in a list", "unknown key \"name:abc\" in a list"},
  };
  for (const auto& c : cases) EXPECT_EQ(without_secrets_of_message(c.text), c.shown) << c.text;
}

TEST(Secrets, DoNotStandInProblems) {
  const Loaded loaded =
      load_text("weir.yaml",
                "weir: 1\n"
                "redis: {url: \"redis://ann:hunter2@h:0\", secret: hunter2, x: 1}\n"
                "proxy: {upstream: \"http://ann:hunter2@h/x\"}\n"
                "redi: {password: hunter2}\n"
                "admin: {toke_n: hunter2, password:hunter2}\n"
                "api: {tokne: hunter2}\n");
  EXPECT_TRUE(loaded.problems.has_errors());
  for (const std::string& text : {render_human(loaded.problems, loaded.views(), false),
                                  render_json(loaded.problems, loaded.views())}) {
    EXPECT_EQ(text.find("hunter2"), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace weir::config::secrets_test
