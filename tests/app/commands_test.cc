#include <gmock/gmock.h>
#include <unistd.h>

#include "tests/app/program.h"
#include "tests/app/scratch.h"
#include "tests/support/free_port.h"
#include "tests/support/golden.h"

/// The program as people and scripts meet it: words, data and exit codes.
namespace weir::app::commands_test {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr std::string_view kGood = R"(weir: 1
proxy: {upstream: http://127.0.0.1:3000}
events:
  login: {match: POST /api/login, fields: {user: body.username}}
policies:
  - {name: per-ip, watch: login, key: ip, window: 10m, then: [{over: 5, do: flag}]}
  - {name: exact, watch: login, key: ip, window: {last: 1h, exact: true}, keep: 100, keys: 1000, then: [{over: 5, do: deny}]}
)";
constexpr std::string_view kBad = R"(weir: 1
policies:
  - name: per-ip
    watch: request
    key: ip
    windw: 10m
    then:
      - {over: 5, do: graylist}
)";
constexpr std::string_view kWarned = R"(weir: 1
proxy: {upstream: http://127.0.0.1:3000}
fields: {user: header.x_user}
policies:
  - {name: per-user, watch: request, key: user, window: 10m, then: [{over: 5, do: deny}]}
)";

struct CommandsTest : testing::Test {
  CommandsTest() {
    scratch.write("good.yaml", kGood);
    scratch.write("bad.yaml", kBad);
    scratch.write("warned.yaml", kWarned);
  }
  Outcome run(const std::vector<std::string>& arguments) {
    return run_weir(arguments, scratch.path());
  }
  static void expect_golden(const char* name, const std::string& text) {
    EXPECT_EQ(test::compare_golden(WEIR_SOURCE_DIR, name, text), "");
  }
  Scratch scratch;
};

TEST_F(CommandsTest, help_of_every_command_is_as_written_down) {
  const std::string all = run({"--help"}).out;
  expect_golden("app/help.txt", all);
  const std::vector<std::string> commands = names_of_help(all, "Subcommands");
  EXPECT_GE(commands.size(), 15U);
  for (const std::string& command : commands) {
    const Outcome help = run({command, "--help"});
    EXPECT_EQ(help.code, 0) << command;
    expect_golden(("app/help_" + command + ".txt").c_str(), help.out);
  }
}

/// The library of the command line would take `[a,b]` for a list of a and b.
TEST_F(CommandsTest, words_in_brackets_are_taken_as_they_are) {
  scratch.write("[one,two]", kGood);
  EXPECT_EQ(run({"check", "[one,two]"}).code, 0);
  EXPECT_EQ(run({"check", "--", "[one,two]"}).code, 0);
  EXPECT_THAT(run({"check", "[one]"}).out, HasSubstr("[one]: error: cannot read the file"));
  EXPECT_THAT(run({"health", "[::1]"}).err, HasSubstr("[::1]"));
  const Outcome headers = run({"explain", "-c", "good.yaml", "-H", "[a,b]", "/"});
  EXPECT_THAT(headers.err, HasSubstr("\"[a,b]\"")) << "the header without a colon";
  EXPECT_EQ((headers.out + headers.err).find('\x01'), std::string::npos);
}

TEST_F(CommandsTest, version_is_one_line) {
  const Outcome version = run({"--version"});
  EXPECT_EQ(version.code, 0);
  // The commit: of the repository, or said when it was built.
  EXPECT_THAT(version.out,
              testing::MatchesRegex("weir " WEIR_VERSION_TEXT " \\([-0-9a-zA-Z_.]+\\)\n"));
}

TEST_F(CommandsTest, usage_errors_are_2_and_suggest) {
  struct Case {
    std::vector<std::string> arguments;
    const char* says;
  };
  const Case kCases[] = {
      {{"chekc"},
       "weir: unknown command \"chekc\"; did you mean \"check\"?\ntry \"weir --help\"\n"},
      {{"-o", "json", "serv"}, "did you mean \"serve\"?"},
      {{"check", "--strct"},
       "weir: unknown flag --strct; did you mean \"--strict\"?\ntry \"weir check --help\"\n"},
      {{"check", "-o", "yaml"}, "must be one of csv|human|json|ndjson|raw, not \"yaml\""},
      {{"explain"},
       "URL is required: what is asked for, a path or a URL\ntry: weir explain /api/login"},
      {{"ctl"}, "try \"weir ctl --help\""},
      {{"ctl", "view", "a/b"}, "is not a view name"},
      {{"dev", "3000", "--recipe", "logn"}, "weir: no recipe \"logn\"; did you mean \"login\"?\n"},
      {{"dev", "99999"}, "weir: APP: \"http://127.0.0.1:99999\" has no port between 1 and 65535\n"},
      {{"dev", "3000", "--listen", "nowhere"}, "weir: --listen: "},
      {{"ctl", "statsu"},
       "weir: unknown command \"ctl statsu\"; did you mean \"status\"?\ntry \"weir ctl --help\"\n"},
      {{"ctl"}, "weir: ctl needs one of: status, "},
      {{"health", "ftp://x"}, "is neither an http:// URL"},
      {{"serve", "--listen", "nowhere"}, "weir: --listen: "},
      {{"serve", "--upstream", "ftp://x"}, "weir: --upstream: "},
      {{"serve", "--log-level", "loud"}, "--log-level: loud not in {trace,debug,info,warn,error}"},
      {{"explain", "-c", "good.yaml", "-X", "GE T", "/"}, "\"GE T\" is not a method"},
      {{"explain", "-c", "good.yaml", "-X", "get", "/"}, "\"get\" is not a method"},
      {{"explain", "-c", "good.yaml", "-H", "Host: a:b", "/"}, "a host with 400: \"a:b\""},
  };
  for (const Case& c : kCases) {
    const Outcome outcome = run(c.arguments);
    EXPECT_EQ(outcome.code, 2) << c.arguments.front();
    EXPECT_THAT(outcome.err, HasSubstr(c.says));
    EXPECT_EQ(outcome.out, "");
  }
}

TEST_F(CommandsTest, WordsAtTheWrongPlaceAreToldWithTheLineThatIsMeant) {
  scratch.write("settings", kGood);
  scratch.write("access.log",
                "203.0.113.7 - - [05/Jan/2026:10:00:05 +0000] \"GET / HTTP/1.1\" 200 1\n");
  struct Case {
    std::vector<std::string> arguments;
    const char* says;
  };
  const Case kCases[] = {
      {{"good.yaml"},
       "weir: \"good.yaml\" is not a command\ntry: weir serve -c good.yaml, or weir check "
       "good.yaml\n"},
      {{"serve", "good.yaml"},
       "weir: \"good.yaml\": a file is named by -c\ntry: weir serve -c good.yaml\n"},
      {{"serve", "--log-level", "info", "settings", "3000"},
       "try: weir serve --log-level info -c settings --upstream http://127.0.0.1:3000\n"},
      {{"serve", "http://127.0.0.1:3000"},
       "weir: \"http://127.0.0.1:3000\": the app is named by --upstream\n"
       "try: weir serve --upstream http://127.0.0.1:3000\n"},
      {{"serve", "nothing"}, "The following argument was not expected: nothing\ntry \"weir serve "},
      {{"serve", "-c", "good.yaml", "--json"},
       "weir: --json is written -o json\ntry: weir serve -c good.yaml -o json\n"},
      {{"dev", "-c", "good.yaml"},
       "weir: dev reads no file; serve does\n"
       "try: weir serve -c good.yaml --upstream http://127.0.0.1:3000\n"},
      {{"dev", "localhost:4000", "--config=my policies.yaml", "--listen", ":9000"},
       "try: weir serve --listen :9000 -c 'my policies.yaml' --upstream http://localhost:4000\n"},
      {{"dev", "-c", "good.yaml", "--recipe", "login"},
       "weir: dev reads no file\ntry: weir dev --help\n"},
      {{"dev"},
       "weir: APP is required: the app, a port on this machine or a URL\ntry: weir dev 3000\n"},
      {{"dev", "abc"},
       "weir: APP: \"abc\" has no port\ntry: weir dev 3000 (a port on this machine), weir dev "
       "abc:3000 or weir dev http://abc (port 80)\n"},
      {{"dev", "login"},
       "weir: APP: \"login\" is a recipe, and no app\ntry: weir dev 3000 --recipe login\n"},
      {{"dev", "good.yaml"}, "try: weir serve -c good.yaml --upstream http://127.0.0.1:3000\n"},
      {{"replay", "access.log"},
       "weir: \"access.log\": a file is named by --event, with what its rows are\n"
       "try: weir replay -c weir.yaml --event request=access.log\n"},
      {{"replay", "-c", "good.yaml", "access.log", "--flush"},
       "try: weir replay -c good.yaml --flush --event request=access.log\n"},
      {{"replay", "good.yaml", "access.log", "--json"},
       "weir: \"good.yaml\": the policies are named by -c; --json is written -o json\n"
       "try: weir replay -o json -c good.yaml --event request=access.log\n"},
      {{"replay", "-c", "access.log"},
       "weir: -c names the policies; is \"access.log\" a log?\n"
       "try: weir replay -c weir.yaml --event request=access.log\n"},
      {{"replay", "-c", "access.log", "--event", "request=access.log"},
       "weir: -c names the policies; is \"access.log\" a log?\n"},
      {{"replay", "-c", "good.yaml"},
       "weir: nothing to replay: name a file, such as --event request=access.log\n"},
      {{"replay", "--event", "access.log"},
       "not \"access.log\"; write --event request=access.log if its rows are HTTP requests\n"},
      {{"explain", "--json"},
       "weir: --json is written -o json\ntry: weir explain -o json /api/login\n"},
      {{"explain", "POST", "/login?a=1", "--ip", "::1"},
       "weir: \"POST\": the method is named by -X\ntry: weir explain --ip ::1 -X POST "
       "'/login?a=1'\n"},
      {{"explain", "good.yaml", "/login"},
       "weir: \"good.yaml\": a file is named by -c\ntry: weir explain -c good.yaml /login\n"},
      {{"explain", "-c", "good.yaml", "shop/api/login"},
       "weir: \"shop/api/login\" is neither a path nor a URL: write /shop/api/login, or "
       "http://shop/api/login if it begins with a host\n"},
      {{"check", "-c", "good.yaml"},
       "weir: \"good.yaml\": a configuration needs no flag here\ntry: weir check good.yaml\n"},
      {{"check", "--strict", "--json", "good.yaml"},
       "try: weir check --strict -o json good.yaml\n"},
      {{"doctor", "--config", "good.yaml"}, "try: weir doctor good.yaml\n"},
      {{"ctl", "status", "--json"},
       "weir: --json is written -o json\ntry: weir ctl status -o json\n"},
      {{"ctl", "list", "add", "vip", "-c", "good.yaml"},
       "weir: ctl reads no configuration\ntry: weir ctl list --help\n"},
      {{"ctl", "-c", "good.yaml", "status"},
       "weir: ctl reads no configuration\ntry: weir ctl status --help\n"},
      {{"explain", "--ip"},
       "weir: --ip: 1 required ADDRESS missing\ntry \"weir explain --help\"\n"},
      {{"ctl", "status", "--csv"}, "weir: unknown flag --csv"},
  };
  for (const Case& c : kCases) {
    const Outcome outcome = run(c.arguments);
    EXPECT_EQ(outcome.code, 2) << c.arguments.front();
    EXPECT_THAT(outcome.err, HasSubstr(c.says));
    EXPECT_EQ(outcome.out, "");
  }
}

TEST_F(CommandsTest, check_says_what_is_wrong_and_what_fits) {
  const Outcome good = run({"check", "-v", "good.yaml"});
  EXPECT_EQ(good.code, 0);
  expect_golden("app/check_good.txt", good.out);
  const Outcome bad = run({"check", "bad.yaml"});
  EXPECT_EQ(bad.code, 1);
  expect_golden("app/check_bad.txt", bad.out);
  EXPECT_EQ(run({"check", "warned.yaml"}).code, 0);
  EXPECT_EQ(run({"check", "warned.yaml", "--strict"}).code, 3);
  EXPECT_EQ(run({"check", "warned.yaml", "bad.yaml", "--strict"}).code, 1);
  EXPECT_EQ(run({"check", "missing.yaml"}).code, 1);
}

TEST_F(CommandsTest, says_where_a_configuration_was_looked_for) {
  ASSERT_NE(::access("/etc/weir/weir.yaml", F_OK), 0) << "this machine has one: move it away";
  const Scratch empty;
  const std::string flag = "(--config FILE)";
  struct Case {
    std::vector<std::string> arguments;
    std::string how;  // this command takes a file
  };
  for (const Case& c : {Case{{"check"}, "(weir check FILE)"},
                        {{"doctor"}, "(weir doctor FILE)"},
                        {{"serve"}, flag},
                        {{"explain", "/"}, flag},
                        {{"replay", "--event", "request=x.log"}, flag}}) {
    const Outcome outcome = run_weir(c.arguments, empty.path());
    EXPECT_EQ(outcome.code, 1) << c.arguments.front();
    EXPECT_THAT(outcome.err, HasSubstr("neither ./weir.yaml nor /etc/weir/weir.yaml"));
    EXPECT_THAT(outcome.err, HasSubstr("name a file " + c.how));
    EXPECT_EQ(outcome.out, "");
  }
}

TEST_F(CommandsTest, check_says_the_same_as_data) {
  const Outcome outcome = run({"check", "-o", "json", "good.yaml", "bad.yaml"});
  EXPECT_EQ(outcome.code, 1);
  expect_golden("app/check.json", outcome.out);
}

TEST_F(CommandsTest, check_refuses_tables_that_do_not_fit) {
  scratch.write(
      "big.yaml",
      "weir: 1\nlimits: {memory: 16MiB}\npolicies:\n  - {name: p, watch: request, key: ip, "
      "window: 1m, keys: 10000000, then: [{over: 5, do: flag}]}\n");
  const Outcome outcome = run({"check", "big.yaml"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.out, HasSubstr("the tables do not fit"));
}

TEST_F(CommandsTest, explain_judges_a_request_that_is_never_sent) {
  const Outcome outcome = run({"explain", "-c", "good.yaml", "-d", R"({"username":"alice"})",
                               "--ip", "203.0.113.7", "/api/login"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  expect_golden("app/explain.txt", outcome.out);
  scratch.write("deny.yaml",
                "weir: 1\npolicies:\n  - {name: closed, watch: request, then: [{if: 'path == "
                "\"/x\"', do: deny}]}\n");
  EXPECT_EQ(run({"explain", "-c", "deny.yaml", "/x"}).code, 1);
  EXPECT_EQ(run({"explain", "-c", "deny.yaml", "http://h/y"}).code, 0);
  const Outcome doubtful = run({"explain", "-c", "deny.yaml", "/a%2fb"});
  EXPECT_EQ(doubtful.code, 1);
  EXPECT_THAT(doubtful.out, HasSubstr("it refuses the request: path (servers read its escapes"));
  for (const std::vector<std::string>& bad : {std::vector<std::string>{"/a b"},
                                              {"ftp://x/"},
                                              {"--ip", "x", "/"},
                                              {"-H", "nonsense", "/"},
                                              {"-d", "@missing", "/"}}) {
    std::vector<std::string> arguments{"explain", "-c", "deny.yaml"};
    arguments.insert(arguments.end(), bad.begin(), bad.end());
    EXPECT_EQ(run(arguments).code, 2) << bad.front();
  }
}

TEST_F(CommandsTest, explain_takes_the_host_from_the_url_or_the_field) {
  scratch.write("shop.yaml",
                "weir: 1\npolicies:\n  - {name: shop, watch: request, then: [{if: 'host == "
                "\"shop.example\"', do: deny}]}\n");
  EXPECT_EQ(run({"explain", "-c", "shop.yaml", "-H", "Host: Shop.Example:80", "/"}).code, 1);
  EXPECT_EQ(run({"explain", "-c", "shop.yaml", "http://shop.example/"}).code, 1);
  EXPECT_EQ(
      run({"explain", "-c", "shop.yaml", "-H", "Host: shop.example", "http://other.example/"}).code,
      0);
}

TEST_F(CommandsTest, output_that_can_not_be_written_is_4) {
  const auto shell = [&](const std::string& line) {
    return WEXITSTATUS(std::system(("cd " + scratch.path() + "; " + line).c_str()));
  };
  const std::string schema = std::string(WEIR_BINARY) + " schema";
  EXPECT_EQ(shell(schema + " >/dev/full 2>said"), 4);
  EXPECT_THAT(scratch.read("said"), HasSubstr("the output can't be written: No space left"));
  EXPECT_EQ(shell("{ " + schema + "; echo $? >code; } | head -c 1 >first"), 0);
  EXPECT_EQ(scratch.read("code"), "0\n") << "who has seen enough is not a failure";
}

TEST_F(CommandsTest, schema_is_json_and_has_a_reference) {
  EXPECT_THAT(run({"schema"}).out, HasSubstr("\"$schema\""));
  EXPECT_THAT(run({"schema", "--reference"}).out, HasSubstr("`window`"));
}

TEST_F(CommandsTest, health_is_4_when_nobody_answers) {
  const Outcome outcome = run({"health", "127.0.0.1:" + std::to_string(test::free_port())});
  EXPECT_EQ(outcome.code, 4);
  EXPECT_THAT(outcome.err, HasSubstr("does not answer"));
  EXPECT_EQ(
      run({"ctl", "--admin", "127.0.0.1:" + std::to_string(test::free_port()), "status"}).code, 4);
}

TEST_F(CommandsTest, check_warns_of_a_state_directory_that_can_not_be_written) {
  scratch.write("file", "");
  scratch.write("weir.yaml", "weir: 1\nproxy: {upstream: http://127.0.0.1:1}\nstate: {dir: " +
                                 (scratch / "file") + "}\n");
  const Outcome outcome = run({"check"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("state.dir: it is not a directory"));
  EXPECT_EQ(run({"check", "--strict"}).code, 3);
}

TEST_F(CommandsTest, limits_of_limitador_that_can_not_be_compiled_are_left_out_with_their_lines) {
  std::string limits = "- {namespace: n, max_value: 2, seconds: 60, variables: ['user']}\n";
  const std::vector<std::string> conditions = {"descriptors[0].n == 5", "descriptors[0].n == true",
                                               "has(limit.name)",       "'name' in limit",
                                               "descriptors[0].x",      "a.matches('a(?!b)')"};
  for (const std::string& condition : conditions) {
    limits += "- {namespace: n, max_value: 2, seconds: 60, name: \"it's\", conditions: [\"" +
              condition + "\"]}\n";
  }
  scratch.write("l.yaml", limits);
  scratch.write("weir.yaml",
                "weir: 1\nproxy: {upstream: http://127.0.0.1:1}\nratelimit: {limitador: l.yaml}\n");
  const Outcome outcome = run({"check"});
  EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
  for (std::size_t line = 2; line < conditions.size() + 2; ++line)
    EXPECT_THAT(outcome.out, HasSubstr("l.yaml:" + std::to_string(line) + ": "));
  EXPECT_THAT(outcome.out, HasSubstr("is left out"));
  EXPECT_THAT(outcome.out, Not(HasSubstr("l.yaml:1: ")));
  EXPECT_THAT(outcome.out, Not(HasSubstr("(as policies)")));
  EXPECT_EQ(run({"check", "--strict"}).code, 3);

  scratch.write("l.yaml",
                "[{namespace: n, max_value: 2, seconds: 60, variables: [user]}, "
                "{namespace: n, max_value: 3, seconds: 60, conditions: ['has(limit.name)']}, "
                "{namespace: m, max_value: 4, seconds: 60}]\n");
  const Outcome in_one_line = run({"check"});
  EXPECT_THAT(in_one_line.out, HasSubstr("ok: 2 policies")) << "the others of that line are loaded";
  EXPECT_THAT(in_one_line.out, HasSubstr("l.yaml:1: "));

  // limitador does not load what is no expression.
  scratch.write(
      "l.yaml",
      limits + "- {namespace: n, max_value: 1, seconds: 60, conditions: [\"x = 'a'\"]}\n");
  const Outcome broken = run({"check"});
  EXPECT_EQ(broken.code, 1);
  EXPECT_THAT(broken.out + broken.err, HasSubstr("line 8: \"=\" is not an operator"));
}

TEST_F(CommandsTest, serve_says_why_it_can_not_start) {
  struct Case {
    const char* text;
    int code;
    const char* says;
  };
  const Case kCases[] = {
      {"weir: 1\nwindw: 1\n", 1, "unknown key \"windw\""},
      {"weir: 1\n", 1, "proxy.upstream is missing"},
      {"weir: 1\nproxy: {upstream: http://127.0.0.1:1}\nhealth: {listen: 192.0.2.1:1}\n", 4,
       "health: can't listen on 192.0.2.1:1"},
  };
  for (const Case& c : kCases) {
    scratch.write("weir.yaml", c.text);
    const Outcome outcome = run({"serve"});
    EXPECT_EQ(outcome.code, c.code) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr(c.says));
  }
}

}  // namespace
}  // namespace weir::app::commands_test
