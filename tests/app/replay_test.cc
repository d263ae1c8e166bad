#include <gmock/gmock.h>

#include "tests/app/program.h"
#include "tests/app/scratch.h"

/// `weir replay` as people and scripts meet it.
namespace weir::app::replay_test {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

constexpr std::string_view kConfig = R"(weir: 1
events:
  login: {source: {csv: [user, ts], time: {field: ts, as: seconds}}}
policies:
  - {name: per-user, watch: login, key: user, window: 1m, then: [{over: 1, do: flag}, {over: 2, do: deny}]}
)";

struct ReplayCommandTest : testing::Test {
  ReplayCommandTest() {
    scratch.write("weir.yaml", kConfig);
    scratch.write(
        "other.yaml",
        "weir: 1\nevents: {login: {source: {csv: [user, ts], time: {field: ts, as: seconds}}}}\n");
    scratch.write("logins.csv", "u,1\nu,2\nu,3\nbad\nv,3");
  }
  Outcome run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "replay");
    return run_weir(arguments, scratch.path());
  }
  Scratch scratch;
};

TEST_F(ReplayCommandTest, rows_go_to_stdout_and_bad_ones_to_stderr) {
  const Outcome out =
      run({"--event", "login=logins.csv", "-o", "ndjson", "--readings", "per-user"});
  EXPECT_EQ(out.code, 0);
  EXPECT_THAT(
      out.out,
      StartsWith(
          R"({"type":"reading","policy":"per-user","event":"login","line":1,"ts":1000,"key":["u"],"value":1})"));
  EXPECT_THAT(
      out.out,
      HasSubstr(
          R"({"type":"verdict","policy":"per-user","event":"login","line":3,"ts":3000,"key":["u"],"value":3,"do":"deny","rung":1,"limit":2})"));
  EXPECT_THAT(
      out.out,
      EndsWith(
          R"({"type":"summary","rows":4,"bad":1,"late":0,"dropped":0,"policies":{"per-user":{"events":4,"keys":2,"keys_hit":1,"verdicts":2,"rungs":[1,1]}}})"
          "\n"));
  EXPECT_EQ(out.err, "weir: logins.csv:4:4: fewer values than columns\n");
}

TEST_F(ReplayCommandTest, reports_for_people_programs_and_browsers) {
  const Outcome human = run({"--event", "login=logins.csv", "--report", "report.html"});
  EXPECT_EQ(human.code, 0);
  EXPECT_THAT(human.out, HasSubstr("per-user: count over the last 1m per user\n  4 events of 2 "
                                   "keys; 2 verdicts on 1 key\n"));
  EXPECT_THAT(human.out, HasSubstr("logins.csv:4:4: fewer values than columns"));
  EXPECT_EQ(human.err, "");
  EXPECT_THAT(scratch.read("report.html"), StartsWith("<!doctype html>"));
  const Outcome json = run({"--event", "login=logins.csv", "-o", "json"});
  EXPECT_THAT(
      json.out,
      StartsWith(
          R"({"rows":4,"bad":1,"late":0,"dropped":0,"events":4,"first":1000,"last":3000,"verdicts":{"pass":2,"flag":1,)"));
}

TEST_F(ReplayCommandTest, another_configuration_judges_beside) {
  const Outcome out = run({"--event", "login=logins.csv", "--against", "other.yaml"});
  EXPECT_EQ(out.code, 0);
  EXPECT_THAT(
      out.out,
      HasSubstr("Against other.yaml\n  verdicts: pass 4 (100.0 %)\n  per-user: only here, 2 "
                "verdicts here, 0 there"));
}

TEST_F(ReplayCommandTest, conditions_decide_the_exit_code) {
  EXPECT_EQ(run({"--event", "login=logins.csv", "--fail-if", "deny>25%"}).code, 0);
  const Outcome out =
      run({"--event", "login=logins.csv", "--fail-if", "flag>5", "--fail-if", "deny>=25%"});
  EXPECT_EQ(out.code, 1);
  EXPECT_EQ(out.err, "weir: --fail-if deny>=25%: 1 of 4 events\n");

  std::string strict(kConfig);
  strict.replace(strict.find("over: 2"), 7, "over: 1");
  scratch.write("strict.yaml", strict);
  const Outcome next =
      run({"--event", "login=logins.csv", "--against", "strict.yaml", "--fail-if", "deny>25%"});
  EXPECT_EQ(next.code, 1);
  EXPECT_EQ(next.err, "weir: --fail-if deny>25%: 2 of 4 events by strict.yaml\n");
}

TEST_F(ReplayCommandTest, a_sweep_takes_a_threshold_by_its_name) {
  scratch.write("weir.yaml", R"(weir: 1
events:
  login: {source: {csv: [user, ts], time: {field: ts, as: seconds}}}
policies:
  - {name: per-user, watch: login, key: user, window: 1m, charge: always, then: [{over: 1, do: flag}, {over: 2, do: deny}, {over: 9, do: deny}]}
  - {name: once, sequence: [login, login], within: 5s, key: user, then: [{do: flag}]}
  - {name: quiet, mode: disabled, watch: login, key: user, window: 1m, then: [{over: 1, do: flag}]}
)");
  const auto sweep = [this](const std::string& what) {
    return run({"--event", "login=logins.csv", "--sweep", what, "-o", "csv"});
  };
  // u comes three times: over 1 refuses two of them, over 2 one.
  constexpr std::string_view kRefused =
      "limit,verdicts,keys_hit,events,refused\n1,2,1,4,2\n2,2,1,4,1\n";
  for (const char* name : {"per-user:2.over=1,2", "per-user:1=1,2"}) {
    const Outcome out = sweep(name);
    EXPECT_EQ(out.code, 0) << out.err;
    EXPECT_EQ(out.out, kRefused) << name;
  }
  EXPECT_EQ(sweep("per-user:flag.over=0,2").out, sweep("per-user=0,2").out);
  struct Case {
    const char *what, *says;
  };
  constexpr Case kCases[] = {
      {"per-user:deny.over=1",
       "weir: --sweep: policy \"per-user\": \"deny.over\" means several rungs of this policy: say "
       "which one: 1.over=1 (flag), 2.over=2 (deny), 3.over=9 (deny)\n"},
      {"per-user:deny.under=1",
       "\"deny.under\" means no rung of this policy; there are 1.over=1 (flag), 2.over=2 (deny), "},
      {"per-user:4.over=1", "whose first rung is 1 here; there are 1.over=1 (flag), "},
      {"per-user:7=1",
       "policy \"per-user\" has no rung 7 with a threshold (the first one is 0 here); by name "
       "there "
       "are 1.over=1 (flag), "},
      {"per-user:=1", "write POLICY=5,10,20"},
      {"per-user.over=1",
       "weir: --sweep: write a colon before the name of a threshold: per-user:over=5,10\n"},
      {"once=1", "policy \"once\" has no rung with a number"},
      {"once:over=1", "policy \"once\": no rung of this policy has a threshold"},
      {"quiet=1", "policy \"quiet\" is disabled: it judges nothing"},
      {"quiet:over=1", "policy \"quiet\" is disabled: it judges nothing"},
  };
  for (const Case& c : kCases) {
    const Outcome out = sweep(c.what);
    EXPECT_EQ(out.code, 2) << c.what;
    EXPECT_THAT(out.err, HasSubstr(c.says)) << c.what;
  }
  EXPECT_THAT(run({"--event", "login=logins.csv", "-o", "ndjson", "--readings", "quiet"}).err,
              HasSubstr("policy \"quiet\" is disabled"));
}

TEST_F(ReplayCommandTest, what_would_do_nothing_is_a_mistake) {
  const Outcome nothing = run({});
  EXPECT_EQ(nothing.code, 2);
  EXPECT_THAT(nothing.err, StartsWith("weir: nothing to replay: name a file, such as --event "));
  const Outcome unseen = run({"--event", "login=logins.csv", "--readings", "per-user"});
  EXPECT_EQ(unseen.code, 2);
  EXPECT_THAT(unseen.err, StartsWith("weir: --readings are rows of -o ndjson"));
}

TEST_F(ReplayCommandTest, a_configuration_is_not_taken_for_a_log) {
  std::filesystem::create_directories(scratch / "directory");
  scratch.write("sections", "# ours\npolicies: []\n");
  scratch.write("wrong.conf", "weir: 1\npolicies: [{nam: x}]\n");
  scratch.write("wrong.json", "{\"weir\": 1, \"policies\": [{\"nam\": 1}]}\n");
  scratch.write("access.log",
                "203.0.113.7 - - [05/Jan/2026:10:00:00 +0000] \"GET / HTTP/1.1\" 200 5\n");
  scratch.write("app.ndjson", "{\"ts\":1,\"path\":\"weir:\"}\n{\"ts\":2}\n");
  struct Case {
    const char* config;
    int code;
    const char* says;
  };
  const Case kCases[] = {
      {"directory", 1, "directory: error: cannot read the file: it is a directory"},
      {"absent", 1, "absent: error: cannot read the file: No such file"},
      {"sections", 1, "sections:2:1: error: the main file must begin with \"weir: 1\""},
      {"wrong.conf", 1, "unknown key \"nam\""},
      {"wrong.json", 1, "unknown key \"nam\""},
      {"access.log", 2, "-c names the policies; is \"access.log\" a log?"},
      {"app.ndjson", 2, "-c names the policies; is \"app.ndjson\" a log?"},
  };
  for (const Case& c : kCases) {
    for (const bool events : {true, false}) {
      std::vector<std::string> arguments{"-c", c.config};
      if (events) arguments.insert(arguments.end(), {"--event", "login=logins.csv"});
      const Outcome out = run(arguments);
      EXPECT_EQ(out.code, c.code) << c.config << out.err;
      EXPECT_THAT(out.err, HasSubstr(c.says)) << c.config;
    }
  }
  const Outcome no_event = run({"-c", "weir.yaml"});
  EXPECT_EQ(no_event.code, 2);
  EXPECT_THAT(no_event.err, StartsWith("weir: nothing to replay: name a file, such as --event "
                                       "login=FILE\n"));
}

TEST_F(ReplayCommandTest, what_is_wrong_is_told_by_its_exit_code) {
  scratch.write("broken.yaml", "weir: 1\npolicies: [{nam: x}]\n");
  scratch.write("damaged.gz", "\x1f\x8b\x08 nothing of the kind");
  struct Case {
    std::vector<std::string> arguments;
    int code;
    const char* says;
  };
  const Case kCases[] = {
      {{"--event", "logn=logins.csv"}, 2, "there is no event \"logn\"; did you mean \"login\"?"},
      {{"--event", "login"}, 2, "--event looks like NAME=FILE, not \"login\""},
      {{"--event", "login=logins.csv", "-o", "ndjson", "--readings", "per-usr"},
       2,
       "there is no policy \"per-usr\"; did you mean \"per-user\"?"},
      {{"--event", "login=logins.csv", "--lateness", "5"}, 2, "--lateness: "},
      {{"--event", "login=logins.csv", "--order", "time"}, 2, "--order must be arrival"},
      {{"--event", "login=logins.csv", "--from", "yesterday"}, 2, "--from must be a time such as"},
      {{"--event", "login=logins.csv", "--from", ""}, 2, "it is empty"},
      {{"--event", "login=logins.csv", "--from", "2026-11-22", "--to", "2026-11-21"},
       2,
       "--from is not before --to"},
      {{"--event", "login=logins.csv", "--lateness", "5s", "--order", "arrival"}, 2, "excludes"},
      {{"--event", "login=-", "--event", "login=-"}, 2, "one event's only"},
      {{"--event", "login=logins.csv", "--against", "weir.yaml", "-o", "ndjson"},
       2,
       "--against shows in reports only"},
      {{"--event", "login=logins.csv", "--fail-if", "refuse>1"},
       2,
       "--fail-if: \"refuse\" is not an action"},
      {{"--event", "login=logins.csv", "--log", "combined"}, 2, "and no --event is one"},
      {{"--event", "login=logins.csv", "-o", "yaml"},
       2,
       "must be one of csv|human|json|ndjson|raw"},
      {{"--event", "login=logins.csv", "-c", "broken.yaml"}, 1, "unknown key \"nam\""},
      {{"--event", "login=logins.csv", "--against", "broken.yaml"}, 1, "unknown key \"nam\""},
      {{"--event", "login=absent.csv"}, 4, "absent.csv: No such file or directory"},
      {{"--event", "login=damaged.gz"}, 4, "damaged.gz: "},
      {{"--event", "login=logins.csv", "--report", "no/such/directory.html"},
       4,
       "no/such/directory.html: can't be written"},
  };
  for (const Case& c : kCases) {
    const Outcome out = run(c.arguments);
    EXPECT_EQ(out.code, c.code) << c.says << "\n" << out.err;
    EXPECT_THAT(out.err, HasSubstr(c.says));
  }
  EXPECT_EQ(run_weir({"check", "-o", "ndjson", "weir.yaml"}, scratch.path()).err,
            "weir: -o ndjson is for replay\ntry \"weir check --help\"\n");
}

TEST_F(ReplayCommandTest, a_report_goes_into_what_is_no_file) {
  const std::string line = "cd " + scratch.path() + "; mkfifo pipe; cat pipe >got & " +
                           std::string(WEIR_BINARY) +
                           " replay -c weir.yaml --event login=logins.csv --report pipe >text; "
                           "code=$?; wait; exit $code";
  EXPECT_EQ(WEXITSTATUS(std::system(line.c_str())), 0);
  EXPECT_THAT(scratch.read("got"), HasSubstr("</html>"));
  EXPECT_TRUE(std::filesystem::is_fifo(scratch / "pipe"));
}

TEST_F(ReplayCommandTest, from_and_to_take_times) {
  const Outcome out = run({"--event", "login=logins.csv", "--from", "1970-01-01T00:00:02Z", "--to",
                           "3000", "-o", "ndjson"});
  EXPECT_EQ(out.code, 0);
  EXPECT_THAT(out.out, StartsWith(R"({"type":"summary","rows":1,)"));
}

}  // namespace
}  // namespace weir::app::replay_test
