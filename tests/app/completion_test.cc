#include <gmock/gmock.h>

#include <boost/json/parse.hpp>
#include <set>

#include "app/tools/help/roff.h"
#include "tests/app/program.h"

/// Completions of a command line, and the man pages: both written from the declared commands.
namespace weir::app::completion_test {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string complete(std::vector<std::string> words) {
  words.insert(words.begin(), {"__complete", "--"});
  // A door without a listener, whichever programs this machine runs.
  const Outcome outcome = run_weir(words, ".", {"WEIR_ADMIN_LISTEN=unix:/nowhere/admin.sock"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  return outcome.out;
}

TEST(Completion, offers_commands_flags_and_values) {
  struct Case {
    std::vector<std::string> words;
    std::string begins;  // the candidates
  };
  const Case kCases[] = {
      {{"repl"}, "replay\tJudge yesterday's traffic"},
      {{"ctl", "rel"}, "reloads\tThe last loads, and what they changed\nreload\tLoad"},
      {{"--outp"}, "--output\t"},
      {{"serve", "--record-sa"}, "--record-sample\t"},
      {{"ctl", "list", "--col"}, "--color\t"},  // a flag of all commands
      {{"serve", "--log-level", "de"}, "debug\n"},
      {{"serve", "--log-level=de"}, "--log-level=debug\n"},
      {{"serve", "--log-level", "=", "de"}, "debug\n"},  // as bash parts it
      {{"serve", "--log-level", "="}, "trace\ndebug\n"},
      {{"serve", "-c", ""}, ":files\n"},
      {{"serve", "--config="}, ":files\n"},
      {{"init", "--dir", ""}, ":dirs\n"},
      {{"check", "we"}, ":files\n"},
      {{"explain", "--door", ""}, "ext_authz\nratelimit\n"},
      {{"explain", "--door", "ratelimit", "ca"}, ":files\n"},
      {{"init", "logi"}, "login\t"},
      {{"dev", "3000", "--recipe", "logi"}, "login\t"},
      {{"-o", "json", "sche"}, "schema\t"},
      {{"completion", ""}, "bash\nzsh\nfish\n"},
  };
  for (const Case& c : kCases) {
    EXPECT_THAT(complete(c.words), testing::StartsWith(c.begins))
        << testing::PrintToString(c.words);
  }
}

TEST(Completion, offers_nothing_where_nothing_is_known) {
  EXPECT_EQ(complete({"nosuch", "--zzz"}), "");
  EXPECT_EQ(complete({"ctl", "policy", ""}), "");  // no door answers
  EXPECT_EQ(complete({"serve", "--listen", ""}), "");
  EXPECT_THAT(complete({"ctl", "policy", "p", ""}), Not(HasSubstr("status")));
  EXPECT_EQ(complete({}), "");
}

TEST(Completion, scripts_ask_weir) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const Outcome outcome = run_weir({"completion", shell});
    EXPECT_EQ(outcome.code, 0);
    EXPECT_THAT(outcome.out, HasSubstr("__complete -- "));
  }
  EXPECT_EQ(run_weir({"completion", "tcsh"}).code, 2);
}

/// The part of weir(1) that tells of one command.
std::string section_of(const std::string& page, const std::vector<std::string>& command) {
  std::string title = "weir";
  for (const std::string& word : command) title += " " + word;
  const std::string head = ".SS \"" + roff_text(title) + "\"\n";
  const std::size_t begin = page.find(head);
  if (begin == std::string::npos) return {};
  return page.substr(begin, page.find("\n.S", begin + 1) - begin);
}

/// The command and those below it, and how many they are.
std::size_t expect_told(const std::string& page, const std::vector<std::string>& command) {
  std::vector<std::string> asked = command;
  asked.push_back("--help");
  const std::string help = run_weir(asked).out;
  const std::string told = section_of(page, command);
  EXPECT_NE(told, "") << testing::PrintToString(command);
  for (std::string names : names_of_help(help, "Options")) {
    names = names.substr(0, names.find('='));  // `--admin ADDRESS=...`, `-h,--help`
    const std::string last = names.substr(names.rfind(',') + 1);
    EXPECT_THAT(told, HasSubstr(roff_text(last))) << testing::PrintToString(command);
  }
  std::size_t count = 1;
  for (const std::string& below : names_of_help(help, "Subcommands")) {
    std::vector<std::string> next = command;
    next.push_back(below);
    count += expect_told(page, next);
  }
  return count;
}

TEST(Man, tells_of_every_command_with_its_flags) {
  const std::string page = run_weir({"man"}).out;
  std::size_t count = 0;
  for (const std::string& command : names_of_help(run_weir({"--help"}).out, "Subcommands"))
    count += expect_told(page, {command});
  EXPECT_GE(count, 38U);
}

void collect_keys(const boost::json::value& schema, std::set<std::string>& out) {
  if (const auto* list = schema.if_array()) {
    for (const auto& each : *list) collect_keys(each, out);
  } else if (const auto* map = schema.if_object()) {
    if (const auto* keys = map->if_contains("properties"); keys != nullptr && keys->is_object()) {
      for (const auto& each : keys->get_object()) out.emplace(each.key());
    }
    for (const auto& each : *map) collect_keys(each.value(), out);
  }
}

TEST(Man, tells_of_every_key_of_the_schema) {
  const std::string page = run_weir({"man", "weir.yaml"}).out;
  std::set<std::string> keys;
  collect_keys(boost::json::parse(run_weir({"schema"}).out), keys);
  EXPECT_GE(keys.size(), 190U);
  for (const std::string& key : keys)
    EXPECT_THAT(page, HasSubstr("\\fB" + roff_text(key) + "\\fR"));
}

TEST(Man, pages_name_variables_signals_and_functions) {
  const std::string weir = run_weir({"man"}).out;
  for (const char* words : {".TH WEIR 1", "\\fB\\-c, \\-\\-config\\fR \\fIFILE\\fR",
                            "\\fBWEIR_PROXY_UPSTREAM\\fR", "\\fBSIGHUP\\fR"}) {
    EXPECT_THAT(weir, HasSubstr(words));
  }
  const std::string configuration = run_weir({"man", "weir.yaml"}).out;
  for (const char* words :
       {".TH WEIR.YAML 5", ".SH \"POLICIES\"", "\\fBwindow\\fR", "lowerAscii()\\fR"}) {
    EXPECT_THAT(configuration, HasSubstr(words));
  }
}

TEST(Man, roff_prints_markdown_as_it_reads) {
  EXPECT_EQ(roff_text(".a \\ b-c"), "\\&.a \\e b\\-c");
  EXPECT_EQ(roff_of_markdown("## Keys of `x`\n\nSee [here](a.md#b), *now*.\n"),
            ".SH \"KEYS OF \\fBX\\fR\"\n.PP\nSee here, \\fInow\\fR.\n");
  EXPECT_EQ(roff_of_markdown(
                "| key | default | |\n|---|---|---|\n| `a` | `1 \\| 2` | What. |\n| `b` | | |\n"),
            ".TP\n\\fBa\\fR\nWhat.\n.br\nDefault: \\fB1 | 2\\fR\n.TP\n\\fBb\\fR\n\\&\n");
  EXPECT_EQ(roff_of_markdown("```yaml\n.a: 1\n```\n"), ".PP\n.EX\n\\&.a: 1\n.EE\n");
}

}  // namespace
}  // namespace weir::app::completion_test
