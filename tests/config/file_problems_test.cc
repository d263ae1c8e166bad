#include "core/text.h"
#include "tests/config/example.h"
#include "tests/config/golden_problems.h"

namespace weir::config::file_problems_test {
namespace {

using namespace golden_problems;

TEST(Problems, of_the_server) {
  expect_golden(
      "server.txt",
      {
          {"endpoints",
           "proxy: {listen: 8480, upstream: 127.0.0.1:3000}\nadmin: {listen: "
           "example.com:80}\nhealth: {listen: \"0.0.0.0:99999\"}\n"},
          {"upstreams", "proxy: {upstream: https://x}\n"},
          {"upstream path", "proxy: {upstream: http://x/y}\n"},
          {"unix path", "admin: {listen: unix:run/x}\n"},
          {"hosts of doors",
           "admin: {hosts: [weir:8481, Weir.Example]}\napi: {hosts: http://weir}\n"},
          {"several proxies", "proxy: [{listen: :1}, {listen: :2}]\n"},
          {"client ip", "proxy: {client_ip: {trust: [10.0.0.1/8, x], header: X Y}}\n"},
          {"timeouts", "proxy: {timeouts: {connect: 0s, head: 10, body: 2h, anser: 1s}}\n"},
          {"limits", "limits: {memory: 256MB, body: 64, head: 1B, keys: many, connections: 0}\n"},
          {"state, drain, reserve",
           "state: {dir: }\ndrain: {delay: 5}\nreserve: {wait: 5m, sums: true}\n"},
          {"challenge", "challenge: {status: 302}\n"},
          {"challenge redirect", "challenge: {status: 403, redirect: \"/a\\nb\"}\n"},
          {"challenge redirect status", "challenge: {status: 403, redirect: /a}\n"},
          {"log", "log: {level: warning, format: xml, keys: plain}\nthreads: 0\n"},
      });
}

TEST(Problems, across_files) {
  const Loaded loaded = load_texts({
      {"weir.yaml",
       "weir: 1\nfields: {user: ip}\nevents: {a: {match: GET /}}\nlists: {l: {of: ip, kind: gray}, "
       "p: {of: ip, kind: gray}, ok: {of: ip, kind: allow}}\n"},
      {"policies/a.yaml",
       "fields: {user: path}\nevents: {a: {match: GET /a}}\nlists: {l: {of: ip, kind: "
       "deny}}\ntables: "
       "{t: {by: os, values: {\"*\": 1}}}\nproxy: {}\ninclude: x\n"},
      {"policies/b.yaml",
       "tables: {t: {by: os, values: {\"*\": 2}}}\nnotify: {n: {log: true}}\npolicies:\n"
       "  - {name: p, watch: a, window: 1m, then: [{over: 1, do: graylist, for: 1m}]}\n"
       "  - {name: q, watch: a, window: 1m, then: [{over: 1, do: graylist, for: 1m, list: ok}]}\n"},
      {"policies/c.yaml",
       "notify: {n: {log: true, per_minute: 5}}\npolicies:\n  - {name: p, watch: a, window: 1m, "
       "then: [{over: 1, "
       "do: flag}]}\n"},
  });
  EXPECT_EQ(test::compare_golden(WEIR_SOURCE_DIR, "config/across_files.txt", shown(loaded)), "");
}

TEST(Problems, a_broken_file_does_not_make_names_of_the_others_unknown) {
  const Loaded loaded = load_texts(
      {{"weir.yaml",
        "weir: 1\npolicies: [{name: p, watch: e, window: 1m, then: [{over: 1, do: flag}]}]\n"},
       {"events.yaml", "events: {e: {match: GET /}\n"}});
  EXPECT_EQ(loaded.problems.errors(), 1u) << shown(loaded);
}

// A character that only looks like one of YAML's is reported alone if it is the cause. Beside a
// mistake of another kind it is a warning.
TEST(Problems, a_look_alike_hides_no_mistake_of_another_kind) {
  const auto errors = [](const std::string& text) {
    std::vector<std::string> out;
    const Loaded loaded = load_text("weir.yaml", "weir: 1\n" + text);
    for (const Problem& problem : loaded.problems.all()) {
      if (problem.severity == Problem::Severity::error)
        out.push_back(std::to_string(problem.where.line) + " " + problem.message);
    }
    return out;
  };
  const std::string look_alike = ": YAML reads it as an ordinary character";
  const std::vector<std::string> colon = errors("log\xef\xbc\x9a\n  level: info\n");
  ASSERT_EQ(colon.size(), 1U);
  EXPECT_EQ(colon[0], "2 this is a full-width colon (U+FF1A)" + look_alike);
  // Two values on a line, behind a value with a no-break space in it.
  const std::vector<std::string> two =
      errors("log: {level: info}\n# x\nstate: x\xc2\xa0y\nthreads: 2: 3\n");
  ASSERT_FALSE(two.empty());
  EXPECT_EQ(two[0].substr(0, 2), "5 ") << two[0];
  for (const std::string& error : two)
    EXPECT_EQ(error.find(look_alike), std::string::npos) << error;
}

TEST(Problems, of_the_environment_name_the_variable) {
  const Loaded loaded =
      load_texts({{"weir.yaml", "weir: 1\n"}}, {{"WEIR_PROXY_LISTEN", "nowhere"},
                                                {"WEIR_LIMITS_MEMRY", "1GiB"},
                                                {"WEIR_THREADS", "x"},
                                                {"WEIR_PROXY_TIMEOUTS_HEAD", "10"},
                                                {"WEIR_SERVICE_HOST", "10.0.0.1"},
                                                {"WEIR_PORT_8480_TCP", "x"},
                                                {"HOME", "/"}});
  EXPECT_EQ(test::compare_golden(WEIR_SOURCE_DIR, "config/environment.txt", shown(loaded)), "");
}

TEST(Problems, words_of_later_versions_are_refused_in_the_full_example) {
  std::string text(kExample);
  text.replace(text.find("kind: gray}"), 11, "kind: gray, share: redis}");
  text.replace(text.find("    metric: distinct(user)\n"), 0, "    share: redis\n");
  EXPECT_EQ(test::compare_golden(WEIR_SOURCE_DIR, "config/later.txt",
                                 shown(load_text("weir.yaml", text))),
            "");
}

TEST(Render, json_holds_the_same) {
  const Loaded loaded = load_text("a\"b.yaml", "weir: 1\nwindw: \"x\"\n");
  std::string hint;
  append_json(hint, loaded.problems.all()[0].hint);
  EXPECT_EQ(render_json(loaded.problems, loaded.views()),
            "[\n  "
            "{\"file\":\"a\\\"b.yaml\",\"line\":2,\"column\":1,\"length\":5,\"severity\":\"error\","
            "\"message\":\"unknown key \\\"windw\\\" in the main "
            "file\",\"hint\":" +
                hint + "}\n]\n");
  EXPECT_EQ(render_json(Problems{}, {}), "[]\n");
}

TEST(Render, tabs_long_lines_wide_and_control_characters) {
  Problems problems;
  std::string text = "a\tb\x1b[31mc\n" + std::string(400, 'x') + "HERE" + std::string(400, 'y') +
                     "\n\xc3\xa4\xc3\xa4 z\n";
  problems.error({0, 1, 3, 1}, "after a tab", "hint");
  problems.error({0, 1, 9, 1}, "after an escape \x1b[0m");
  problems.error({0, 2, 401, 4}, "far to the right");
  problems.error({0, 3, 6, 1}, "after two umlauts");
  problems.error({0, 9, 1, 1}, "past the end", "hint");
  problems.warning({0, 3, 1, 100}, "longer than its line");
  problems.error({7, 1, 1, 1}, "in no file");
  EXPECT_EQ(test::compare_golden(WEIR_SOURCE_DIR, "config/render.txt",
                                 render_human(problems, {{"f.yaml", text}}, false)),
            "");
  EXPECT_NE(render_human(problems, {{"f.yaml", text}}, true).find("\x1b[31merror"),
            std::string::npos);
}

TEST(Problems, suggestions) {
  EXPECT_EQ(suggest("windw", {"window", "when"}), "did you mean \"window\"?");
  EXPECT_EQ(suggest("Window", {"window"}), "did you mean \"window\"?");
  EXPECT_EQ(suggest("zzz", {"a", "b", "c"}), "allowed are a, b and c");
  EXPECT_EQ(suggest("zzz", {"a"}), "allowed is a");
  EXPECT_EQ(suggest("zzz", {}), "");
  EXPECT_EQ(nearest(std::string(10000, 'a'), {"a"}), "");
}

}  // namespace
}  // namespace weir::config::file_problems_test
