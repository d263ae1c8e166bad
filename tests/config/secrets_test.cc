#include "config/text/secrets.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>

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
      {"n: {webhok: https://hooks.example/T1/B2}", "n: {webhok: https://hooks.example/*****}"},
      {"n: {web_hook: https://hooks.example/T1/B2}", "n: {web_hook: https://hooks.example/*****}"},
      {"n: {webhook: hooks.example/T1/B2}", "n: {webhook: hooks.example/*****}"},
      {"n: {webhook: T1-B2, log: true}", "n: {webhook: *****, log: true}"},
      {"n: {webhook: 'T1 B2'}", "n: {webhook: '*****'}"},
      {"n: {webhook:https://hooks.example/T1/B2}", "n: {webhook:https://hooks.example/*****}"},
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
}

TEST(Secrets, AreCoveredInUrlsWithQuotes) {
  const struct {
    std::string_view line, shown;
  } cases[] = {
      {"url: redis://:pa'ss@h", "url: redis://:*****@h"},
      {"url: redis://:pa\"s's<@h", "url: redis://:*******@h"},
      {"{url: redis://:pa'ss@h, x: 'a@b'}", "{url: redis://:*****@h, x: 'a@b'}"},
      {"url: \"redis://:pa'ss@h\"  # me@h", "url: \"redis://:*****@h\"  # me@h"},
      {"url: \"redis://:pa\\\"ss@h\"", "url: \"redis://:******@h\""},
      {"url: 'redis://:pa''ss@h'", "url: 'redis://:******@h'"},
      {"when: \"x == \\\"https://h/?a=b\\\" && y\"", "when: \"x == \\\"https://h/?a=*\\\" && y\""},
  };
  for (const auto& c : cases) EXPECT_EQ(without_secrets(c.line), c.shown) << c.line;
}

TEST(Secrets, AreAllTextsOfAnExpressionThatNamesOne) {
  const struct {
    std::string_view line, shown;
  } cases[] = {
      {"when: '\"x\" == header.x_api_key'", "when: '\"*\" == header.x_api_key'"},
      {"when: \"x\" == header.x_api_key", "when: \"*\" == header.x_api_key"},
      {"when: header.x_api_key.startsWith(\"x\")", "when: header.x_api_key.startsWith(\"*\")"},
      {"when: header.x-api-key.endsWith(\"x\")", "when: header.x-api-key.endsWith(\"*\")"},
      {"when: lower(header.token) == \"x\"", "when: lower(header.token) == \"*\""},
      {"when: \"lower(header.token) == \\\"x\\\"\"", "when: \"lower(header.token) == \\\"*\\\"\""},
      {"- lower(header.token || \"\") != 'x' && path == \"/c\"",
       "- lower(header.token || \"\") != '*' && path == \"/c\""},
      {"{fields: {a: \"b\", token: 'lower(body.token) == \"c\"'}, when: path == \"/d\"}",
       "{fields: {a: \"b\", token: 'lower(body.token) == \"*\"'}, when: path == \"/d\"}"},
      {"{\"when\": \"header.token == 'x'\", \"path\": \"/c\"}",
       "{\"when\": \"header.token == '*'\", \"path\": \"/c\"}"},
      {"- {name: password-reset, when: path == \"/c\"}",
       "- {name: password-reset, when: path == \"/c\"}"},
  };
  for (const auto& c : cases)
    EXPECT_EQ(without_secrets(c.line, LineKeys::names), c.shown) << c.line;
}

/// The lines of a file as others may see them.
std::string masked(std::string_view text) {
  std::string out;
  LineSections sections(text);
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    out += without_secrets(line, sections.next(line)) + "\n";
    text.remove_prefix(std::min(line.size() + 1, text.size()));
  }
  return out;
}

TEST(Secrets, AreCoveredBehindASectionOfNames) {
  const std::string names = "policies:\n- name: login\n  metrics: {token: login}\n";
  for (const char* settings :
       {"\"redis\": {password: hunter2}", "'redis': {password: hunter2}",
        "? redis\n: {password: hunter2}", "!!str redis: {password: hunter2}",
        "&a redis:\n  password: hunter2", "--- {redis: {password: hunter2}}",
        "{events: {}, redis: {password: hunter2}}", "events: {}, redis: {password: hunter2}",
        "events: {a: {b: c}}, \"redis\": {password: hunter2}",
        "{\nevents: {a:\n  b}, redis: {\n  password: hunter2}\n}",
        "{events:\n  {a: b},\n  redis: {password: hunter2}\n}",
        "events: a, redis: {password: hunter2}",
        "events: {a: '},\n  b'}, redis: {password: hunter2}", "events, redis:\n  password: hunter2",
        "-redis: {password: hunter2}"}) {
    const std::string out = masked(names + settings);
    EXPECT_EQ(out.find("hunter2"), std::string::npos) << out;
    EXPECT_TRUE(out.starts_with(names)) << out;
  }
  for (const std::string text :
       {"events:\n  a: {b: \"}\", c: [d, e]}  # f, g: h\n  token: {g: h, token: i}\n",
        "policies:\n- when: path in [\"/a\", \"/b\"] && f(a, b)\n  by: {token: x}\n",
        "policies:\n# redis: {}\n\n- by: {token: abc}\n"})
    EXPECT_EQ(masked(text), text);
}

TEST(Secrets, AreCoveredInTheirOtherLines) {
  const struct {
    std::string_view text, shown;
  } cases[] = {
      {"a:\n  password: |\n    hun\n\n     ter2\n  user: x\n",
       "a:\n  password: *\n    ***\n\n     ****\n  user: x\n"},
      {"a:\n  password: \"hun\n ter2\"\n  user: x\n", "a:\n  password: \"***\n *****\n  user: x\n"},
      {"a:\n  'password': 'hun\nter''\n\n  2'\n  user: x\n",
       "a:\n  'password': '***\n*****\n\n  **\n  user: x\n"},
      {"a:\n  password: hun\n    ter2\r\n  user: x\n",
       "a:\n  password: ***\n    ****\r\n  user: x\n"},
      {"- password:\n    hun\n    ter2\n  user: x\n",
       "- password:\n    ***\n    ****\n  user: x\n"},
      {"  secret:\n  user: x\n", "  secret:\n  user: x\n"},
      {"a:\n  tokens:\n  - abc\n  - def\n  user: x\n",
       "a:\n  tokens:\n  *****\n  *****\n  user: x\n"},
      {"a: {tokens: [a, b,\n c, d], user: x}\nb: c\n",
       "a: {tokens: ******\n ***************\nb: c\n"},
      {"a: {tokens: [a, b], user: x}\n", "a: {tokens: ******, user: x}\n"},
      {"a: {password: \"hun\n ter2\", user: x}\nb: c\n",
       "a: {password: \"***\n ***************\nb: c\n"},
      {"a: {password: hun\n ter2,\n user: x}\n", "a: {password: ***\n *****\n user: x}\n"},
      {"a: {password:\n hunter2, user: x}\nb: c\n", "a: {password:\n *****************\nb: c\n"},
      {"a: {password:\n \"hun\n ter2\"}\nb: c\n", "a: {password:\n ****\n ******\nb: c\n"},
      {"a: {password: !!str \"a, b\", user: x}\n", "a: {password: !!str \"****\", user: x}\n"},
      {"a: {password: \"hun\n ter2\", token: \"a\n b\", user: x}\nb: c\n",
       "a: {password: \"***\n ****************\n ************\nb: c\n"},
      {"policies:\n- when: header.token in [\n    \"abc\",\n    \"d\"]\n  name: \"x\"\n",
       "policies:\n- when: header.token in [\n    ******\n    ****\n  name: \"x\"\n"},
      {"policies:\n- when: >\n    header.token ==\n    \"abc\"\n  name: \"x\"\n",
       "policies:\n- when: >\n    header.token ==\n    *****\n  name: \"x\"\n"},
      {"policies:\n- {when: header.token ==\n \"abc\", name: \"x\"}\n- a: \"b\"\n",
       "policies:\n- {when: header.token ==\n *****************\n- a: \"b\"\n"},
      {"policies:\n- when: lower(header.token) == path &&\n    ip == \"::1\"\n",
       "policies:\n- when: lower(header.token) == path &&\n    ip == \"::1\"\n"},
      {"a: {password: hun\nuser: x\n", "a: {password: ***\nuser: x\n"},
      {"password_file: |\n  /run/x\n", "password_file: |\n  /run/x\n"},
  };
  for (const auto& c : cases) EXPECT_EQ(masked(c.text), c.shown) << c.text;
}

TEST(Secrets, AreCoveredWhereAnAnchorHasThem) {
  // Each form of a value, under a neutral key, and an alias that uses it as a secret.
  const std::string_view values[] = {
      "&a hunter2",
      "&a !!str hunter2",
      "!!str &a hunter2",
      "&a hunter2 and, hunter2] or } hunter2",
      "&a hunter2\n    hunter2",
      "&a\n    hunter2",
      "&a \"hunter2\"",
      "&a \"hunter2 \\\" hunter2\"",
      "&a \"hunter2\n    hunter2\"",
      "&a 'hunter2'",
      "&a 'it''s\n    hunter2'",
      "&a |\n    hunter2\n\n    hunter2",
      "&a |-\n    hunter2",
      "&a >\n    hunter2\n    hunter2",
      "&a >+2\n      hunter2",
      "&a [x, hunter2]",
      "&a [x,\n    hunter2]",
      "&a {x: hunter2}",
      "&a\n    - hunter2\n    - hunter2",
      "&a\n    x: hunter2",
      "[&a hunter2, x]",
      "{x: &a hunter2, y: z}",
      "[[&a hunter2]]",
      "{x: [&a hunter2,\n    y]}",
      "{x: &a \"hunter2\n    hunter2\", y: z}",
      "\n    &a\n    hunter2",
      "\n    &a hunter2",
      "\n    - x\n    - &a hunter2\n    - y",
      "\n    - &a |\n      hunter2\n    - y",
      "\n    - x: &a hunter2\n      y: z",
      "\n    - - &a hunter2",
      "\n    ? &a hunter2\n    : y",
      "\n    &a hunter2: y",
  };
  const std::string_view uses[] = {
      "password: *a",
      "password: *a  # here",
      "\"password\": *a",
      "tokens: [x, *a]",
      "tokens:\n    - *a",
      "tokens: {x: *a}",
      "tokens:\n    x: *a",
      "x: {password: *a, y: z}",
      "webhook: *a",
      "secret: *a\n  y: z",
      "x: {y: [{token: *a}]}",
      "password:\n    *a",
      "tokens: &b [*a]",
      "y: &b [*a]\n  token: *b",
      "x: {password:\n    *a}",
      "web_hooks: {x: 1}\n  api-key: *a",
  };
  for (const std::string section : {"x", "policies"}) {
    for (const std::string_view value : values) {
      for (const std::string_view use : uses) {
        const std::string text = section + ":\n  name: " + std::string(value) +
                                 "\n  plain: words\nredis:\n  " + std::string(use) + "\n  z: end\n";
        const std::string out = masked(text);
        EXPECT_EQ(out.find("hunter2"), std::string::npos) << text << out;
        EXPECT_NE(out.find("  z: end\n"), std::string::npos) << text << out;
        EXPECT_NE(out.find("\n  plain: words\n"), std::string::npos) << text << out;
        EXPECT_EQ(out.size(), text.size());
      }
    }
  }
}

TEST(Secrets, AreCoveredInAMapThatAMergeOrAnAliasBrings) {
  for (const char* const text : {"fields: &f {password: hunter2}\nredis: *f\n",
                                 "fields: &f {password: hunter2}\nredis:\n  <<: *f\n",
                                 "fields: &f\n  password: hunter2\nredis: {<<: [*g, *f]}\n",
                                 "policies:\n- &f\n  password: hunter2\nredis: {<<: *f, x: y}\n",
                                 "x: &f {password: hunter2}\nredis: {<<: *f}\n",
                                 "x: &f {y: &p hunter2}\nredis: {<<: *f, password: *p}\n"}) {
    EXPECT_EQ(masked(text).find("hunter2"), std::string::npos) << masked(text);
  }
}

TEST(Secrets, AreCoveredInTheUrlsOfNotifyHoweverItStandsThere) {
  for (const char* const text :
       {"notify: {ops: {url: https://h/hunter2}}\n", "\"notify\": {ops: https://h/hunter2}\n",
        "{weir: 1, notify: {ops: https://h/hunter2}}\n",
        "{weir: 1,\n notify: {ops:\n  https://h/hunter2}}\n",
        "--- {notify: {ops: https://h/hunter2}}\n", "? notify\n: {ops: https://h/hunter2}\n",
        "!!map {notify: {ops: https://h/hunter2}}\n",
        "x: &u https://h/hunter2\nnotify: {ops: *u}\n",
        "x:\n  - &u https://h/hunter2\nnotify:\n  ops: {url: *u}\n",
        "x: &m {url: https://h/hunter2}\nnotify: {ops: *m}\n",
        "x: &m {url: https://h/hunter2}\nnotify: {ops: {<<: *m}}\n",
        "x: &m {ops: https://h/hunter2}\nnotify: *m\n"}) {
    EXPECT_EQ(masked(text).find("hunter2"), std::string::npos) << masked(text);
  }
}

TEST(Secrets, AreCoveredInAUrlThatGoesOnInTheNextLine) {
  for (const std::string section :
       {"notify:\n  ops: {url: ", "notify:\n  ops:\n    url: ", "redis:\n  url: ", "redis: {url: ",
        "policies:\n- url: ", "lists:\n  x:\n    url:\n      "}) {
    for (const std::string url :
         {"\"https://hunter:hunter2\\\n      hunter3@h/hunter4\"",
          "\"https://hunter:\\\n      hunter2\\\n      hunter3@h/\"",
          "'https://hunter:hunter2\n      hunter3@h/hunter4'",
          "\"https://h/hunter1\\\n      /hunter2\"", "\"https://h/\\\n      ?key=hunter2\""}) {
      const bool flow = section.find('{') != std::string::npos;
      const std::string text = section + url + (flow ? "}" : "") + "\nplain: words\n";
      EXPECT_EQ(masked(text).find("hunter"), std::string::npos) << text << masked(text);
      EXPECT_NE(masked(text).find("\nplain: words\n"), std::string::npos) << text << masked(text);
    }
  }
}

TEST(Secrets, TheQuoteBehindAKeyOfAQueryStays) {
  EXPECT_EQ(masked("a: {url: {url: 'https://h/x?api_key=hunter2'}}\nb: 'c'\n"),
            "a: {url: {url: 'https://h/x?api_key=*******'}}\nb: 'c'\n");
  EXPECT_EQ(masked("a:\n  url: \"https://h/x?token=it's&b=c\"  # x\n"),
            "a:\n  url: \"https://h/x?token=********\"  # x\n");
}

TEST(Secrets, AreCoveredInSpellingsThatFewPeopleUse) {
  for (const char* const text :
       {"redis:\n  url: \"redis:\\/\\/u:hunter2@host\"\n",
        "redis: {url: \"redis\\x3a//u:hunter2@host\"}\n",
        "redis:\n  url: \"redis://u:hunter2\\x40host\"\n",
        "redis:\n  url: \"redis://u:a hunter2@host\"\n",
        "redis:\n  url: \"redis:/\\\n    /u:hunter2@host\"\n",
        "redis: {\"pass\\x77ord\": hunter2}\n", "redis:\n  \"\\u0070assword\": hunter2\n",
        "redis:\n  password:\n# c\n    hunter2\n",
        "redis:\n  password:\n  # c\n    hunter2\n# c\n\n    hunter2\n",
        "notify:\n  ops: {\"web\\x68ook\": \"https:\\/\\/h/hunter2\"}\n",
        "lists: {x: {url: \"https:\\/\\/h/a?tok=hunter2\"}}\n",
        "policies:\n- when: 'header[\"x-api-key\"] == \"hunter2\"'\n",
        "policies:\n- when: \"header[\\\"x-api-key\\\"] == \\\"hunter2\\\"\"\n"}) {
    const std::string whole = std::string(text) + "weir: 1\nviews: []\n";
    EXPECT_EQ(masked(whole).find("hunter2"), std::string::npos) << masked(whole);
    EXPECT_NE(masked(whole).find("\nviews: []\n"), std::string::npos) << masked(whole);
  }
  for (const std::string text :
       {"policies:\n- when: 'path.matches(\"^\\/a\\x41\") && header[\"x-os\"] == \"ios\"'\n",
        "redis:\n  password_file: /run/x\n# c\n  url: redis://h\n"}) {
    EXPECT_EQ(masked(text), text);
  }
}

TEST(Secrets, AnchorsOfOtherThingsStayVisible) {
  for (const std::string text :
       {"x: &a hello\npolicies:\n- name: *a\nredis: {password_file: *a}\n",
        "policies:\n- then: &a [{over: 5, do: deny}]\n- then: *a\n", "x: &a hello  # see *a\n",
        "a: b & c * d\npolicies:\n- by: {token: *a}\n"}) {
    EXPECT_EQ(masked(text), text);
  }
  EXPECT_EQ(
      masked("x: &a hello, you] there\ny: {z: &b one, w: two}\nredis: {password: *a, token: *b}\n"),
      "x: &a *****************\ny: {z: &b ***, w: two}\nredis: {password: **, token: **}\n");
}

TEST(Secrets, ALongChainOfAliasesEnds) {
  std::string text = "x0: &a0 hunter2\n";
  constexpr int kChain = 2'000;
  for (int i = 1; i < kChain; ++i)
    text += "x" + std::to_string(i) + ": &a" + std::to_string(i) + " [*a" + std::to_string(i - 1) +
            "]\n";
  text += "redis: {password: *a" + std::to_string(kChain - 1) + "}\n";
  EXPECT_EQ(masked(text).find("hunter2"), std::string::npos);
}

TEST(Secrets, APlainTextGoesOnBehindCommasAndBrackets) {
  EXPECT_EQ(masked("a:\n  password: hun}ter2, x] # y\n  user: x, y\n"),
            "a:\n  password: ************ # y\n  user: x, y\n");
  EXPECT_EQ(masked("a: {password: abc, user: x}\nb: {\n password: abc, user: x}\n"),
            "a: {password: ***, user: x}\nb: {\n password: ***, user: x}\n");
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
       "      api_key: 'header.x_api_key == \"***\" ? \"*\" : \"*\"'"},
      {"", ""},
      {"# token: abc", "# token: abc"},
      {"redis:  # token", "redis:  # token"},
      {"  password: abc", "  password: ***"},
      {"policies:", "policies:"},
      {"- name: login", "- name: login"},
      {"  metrics: {token: {watch: login}}", "  metrics: {token: {watch: login}}"},
      {"lists: {x: {url: https://h/x, token: abc}}", "lists: {x: {url: https://h/x, token: ***}}"},
      {"notify: https://hooks.example/T1/B2", "notify: https://hooks.example/*****"},
      {"notify: {a: {url: https://hooks.example/T1/B2, log: true}}",
       "notify: {a: {url: https://hooks.example/*****, log: true}}"},
      {"'notify':", "'notify':"},
      {"  a: {slack: \"https://hooks.example/T1/B2\", per_minute: 5}",
       "  a: {slack: \"https://hooks.example/*****\", per_minute: 5}"},
      {"  b:", "  b:"},
      {"    url: >-", "    url: >-"},
      {"      https://hooks.example/T1/B2", "      https://hooks.example/*****"},
      {"lists: {x: {url: https://h/x/y}}", "lists: {x: {url: https://h/x/y}}"},
  };
  LineSections sections;
  for (const auto& c : cases) EXPECT_EQ(without_secrets(c.line, sections.next(c.line)), c.shown);
}

TEST(Secrets, AreCoveredInAMessage) {
  const struct {
    std::string_view text, shown;
  } cases[] = {
      {"cannot include \"https://h/x?token=abc\": no",
       "cannot include \"https://h/x?token=***\": no"},
      {"unknown key \"password:abc\" in \"redis\"", "unknown key \"password:***\" in \"redis\""},
      {"unknown key \"webhook:https://h/T1/B2\" in \"notify\"",
       "unknown key \"webhook:https://h/*****\" in \"notify\""},
      {"unknown key \"webhook:T1/B2\" in \"notify\"",
       "unknown key \"webhook:T1/**\" in \"notify\""},
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
                "api: {tokne: hunter2}\n"
                "notify: {a: {webhook: hooks.example/hunter2}, b: {webhook: hunter2}, "
                "c: {url: https://hooks.example/hunter2}, d: {webhook:https://h/hunter2}}\n"
                "acess_log: {path: &path hunter2}\n"
                "stat: {dir: *path, token: *path}\n");
  EXPECT_TRUE(loaded.problems.has_errors());
  for (const std::string& text : {render_human(loaded.problems, loaded.views(), false),
                                  render_json(loaded.problems, loaded.views())}) {
    EXPECT_EQ(text.find("hunter2"), std::string::npos) << text;
  }
}

TEST(Secrets, AreCoveredInAWholeTextLineByLine) {
  EXPECT_EQ(
      text_without_secrets("a: 'it''s'\nredis: {password: abc}\nwhen: query.token == \"abc\"\n"
                           "key: 'ip'\n\nname: \"x\""),
      "a: 'it''s'\nredis: {password: ***}\nwhen: query.token == \"***\"\n"
      "key: 'ip'\n\nname: \"x\"");
  EXPECT_EQ(text_without_secrets(""), "");
}

}  // namespace
}  // namespace weir::config::secrets_test
