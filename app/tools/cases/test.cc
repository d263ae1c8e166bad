#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>

#include "app/support/command.h"
#include "app/support/exit_code.h"
#include "app/tools/cases/case_files.h"

namespace weir::app {
namespace {

constexpr std::string_view kTestExamples =
    "Examples:\n"
    "  weir test                        the *_test.yaml files beside the configuration\n"
    "  weir test policies/              those of a directory\n"
    "  weir test login_test.yaml        one file; it tests login.yaml unless it says otherwise\n"
    "  weir test -c weir.yaml --case captcha -v\n"
    "\n"
    "A case file holds requests and events with times and answers, and what is expected of them\n"
    "(docs/testing.md). Time is simulated: a week takes no real time. Exit codes: 0 all pass,\n"
    "1 some fail, or none has run.";

struct TestFlags {
  std::vector<std::string> paths;
  std::string config, filter;
  bool each = false;
};

bool is_directory(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

int test(const TestFlags& flags, const Globals& globals) {
  const config::Environment environment = process_environment();
  std::vector<std::string> paths;
  std::string fallback = flags.config;  // the configuration of files that name none
  if (flags.paths.empty()) {
    if (fallback.empty()) fallback = default_config_path(environment);
    const config::Loaded loaded = config::load_file(fallback, environment);
    paths = case_files_in(loaded.inputs.directories());
    if (paths.empty() && flags.config.empty()) {
      // Without a configuration (`weir init` writes recipes only) the cases that are here name
      // theirs, or are of the file beside them.
      paths = case_files_in({"."});
      if (!paths.empty()) fallback.clear();
    }
    if (paths.empty()) {
      complain("no *_test.yaml files " + (flags.config.empty() ? "here, nor " : std::string()) +
               "beside " + fallback + "; name them, or see \"weir init\"");
      return kNo;
    }
  }
  for (const std::string& path : flags.paths) {
    if (!is_directory(path)) {
      paths.push_back(path);
      continue;
    }
    std::string directory = path;
    while (directory.size() > 1 && directory.ends_with('/')) directory.pop_back();
    for (std::string& found : case_files_in({directory})) paths.push_back(std::move(found));
  }
  if (paths.empty()) {
    complain("no *_test.yaml files there");
    return kNo;
  }
  const bool json = globals.output == Output::json;
  const bool colour = !json && globals.colours(STDOUT_FILENO);
  std::vector<CaseFileResult> results;
  bool failed = false;
  std::size_t ran = 0;
  for (const std::string& path : paths) {
    results.push_back(run_case_file(path, fallback, flags.filter, environment, colour));
    failed = failed || results.back().failed() != 0;
    ran += results.back().cases.size();
  }
  print(json ? cases_to_json(results) : cases_to_text(results, flags.each, colour));
  // A misspelt name would else be a test that passes forever.
  if (!failed && ran == 0) {
    complain(flags.filter.empty() ? std::string("there are no cases in these files")
                                  : "no case has \"" + flags.filter + "\" in its name");
    return kNo;
  }
  return failed ? kNo : kOk;
}

std::function<int()> declare_test(CLI::App& app, const Globals& globals) {
  auto flags = std::make_shared<TestFlags>();
  app.add_option("PATH", flags->paths, "Case files, or directories with *_test.yaml files");
  app.add_option("-c,--config", flags->config,
                 "The main file for case files that name none; else the file without _test")
      ->type_name("FILE");
  app.add_option("--case", flags->filter, "Only cases with this text in their names")
      ->type_name("TEXT");
  app.add_flag("-v,--verbose", flags->each, "Each case, not only the failing ones");
  return [flags, &globals] { return test(*flags, globals); };
}

}  // namespace

const Command kTest{"test", "Run cases: events with times, and the verdicts expected of them",
                    kTestExamples, declare_test};

}  // namespace weir::app
