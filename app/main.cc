#include <signal.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <boost/system/system_error.hpp>
#include <exception>
#include <map>
#include <system_error>

#include "app/support/command.h"
#include "app/support/exit_code.h"
#include "app/support/usage/literal_words.h"
#include "app/support/usage/usage.h"
#include "app/support/version.h"

namespace weir::app {
namespace {

const std::array kCommands{&kServe,   &kDev,    &kInit,   &kCheck,  &kTest,
                           &kExplain, &kReplay, &kImport, &kSchema, &kHealth,
                           &kDoctor,  &kCtl,    &kInject, &kMan,    &kCompletion};

constexpr std::string_view kAbout =
    "weir runs in front of an app, counts what its callers do, and flags, gray-lists, delays, "
    "challenges\n"
    "or refuses them by policies of a few lines of YAML.";

constexpr std::string_view kExamples =
    "First steps:\n"
    "  weir dev 3000 --recipe login     before an app on port 3000; no file needed\n"
    "  weir init login                  policies to start from, with their cases\n"
    "  weir check weir.yaml             what is wrong with a configuration\n"
    "  weir serve --config weir.yaml    run it\n"
    "  weir COMMAND --help              more, with examples\n"
    "\n"
    "Exit codes: 0 ok, 1 the answer is no, 2 usage, 3 warnings under --strict, 4 can't reach,\n"
    "5 refused, 70 a bug in weir.";

void declare_globals(CLI::App& app, Globals& globals) {
  static const std::map<std::string, Output> kOutputs{{"human", Output::human},
                                                      {"json", Output::json},
                                                      {"ndjson", Output::ndjson},
                                                      {"raw", Output::raw},
                                                      {"csv", Output::csv}};
  static const std::map<std::string, Colour> kColours{
      {"auto", Colour::automatic}, {"always", Colour::always}, {"never", Colour::never}};
  const auto choice = [](const auto& words) {
    std::string allowed;
    for (const auto& [word, value] : words) allowed += (allowed.empty() ? "" : "|") + word;
    return [words, allowed](const std::string& given) {
      return words.count(given) != 0 ? std::string()
                                     : "must be one of " + allowed + ", not \"" + given + "\"";
    };
  };
  app.add_option_function<std::string>(
         "-o,--output", [&globals](const std::string& word) { globals.output = kOutputs.at(word); },
         "human, json, raw; of replay also ndjson and csv")
      ->check(CLI::Validator(choice(kOutputs), ""))
      ->type_name("FORMAT");
  app.add_option_function<std::string>(
         "--color", [&globals](const std::string& word) { globals.colour = kColours.at(word); },
         "auto, always or never")
      ->check(CLI::Validator(choice(kColours), ""))
      ->type_name("WHEN");
}

// The first word that is neither a flag nor a command. (-o and --color take a value.)
const char* unknown_command(int argc, char** argv, const std::vector<std::string>& names) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "-o" || word == "--output" || word == "--color") {
      ++i;
    } else if (!word.starts_with('-')) {
      return std::find(names.begin(), names.end(), word) == names.end() ? argv[i] : nullptr;
    }
  }
  return nullptr;
}

int run(int argc, char** argv) {
  ::signal(SIGPIPE, SIG_IGN);  // a peer that has left is an error code, not the end
  CLI::App app{std::string(kAbout), "weir"};
  Globals globals;
  app.set_version_flag("--version", version_text());
  app.set_help_flag("-h,--help", "Print this help, or that of a command");
  app.footer(std::string(kExamples));
  app.fallthrough();
  app.get_formatter()->column_width(28);
  declare_globals(app, globals);
  std::vector<std::string> names;
  std::vector<std::pair<CLI::App*, std::function<int()>>> commands;
  for (const Command* command : kCommands) {
    names.emplace_back(command->name);
    CLI::App* sub = app.add_subcommand(names.back(), std::string(command->help));
    sub->footer(std::string(command->examples));
    sub->set_help_flag("-h,--help", "Print this help");
    commands.emplace_back(sub, command->declare(*sub, globals));
  }
  if (argc > 2 && argv[1] == kCompleteWord) {  // the scripts of shells ask: __complete -- WORD...
    print(completions(app, {argv + 3, argv + argc}));
    return kOk;
  }
  if (const char* word = unknown_command(argc, argv, names)) {
    return explain_unknown_command(word, names);
  }
  try {
    parse_literally(app, argc, argv);
  } catch (const CLI::CallForHelp&) {
    print(app.help());  // of the command that was asked for, if there is one
    return kOk;
  } catch (const CLI::CallForVersion& version) {
    print(std::string(version.what()) + "\n");
    return kOk;
  } catch (const CLI::ParseError& error) {
    return explain_usage(app, error, {argv + 1, argv + argc});
  }
  for (const auto& [sub, command] : commands) {
    if (!sub->parsed()) continue;
    const bool rows = globals.output == Output::ndjson || globals.output == Output::csv;
    if (rows && sub->get_name() != kReplay.name) {
      return usage(std::string("-o ") + (globals.output == Output::csv ? "csv" : "ndjson") +
                       " is for replay",
                   "weir " + sub->get_name());
    }
    const int code = command();
    if (const auto lost = lost_output(); lost) {
      complain("the output can't be written: " + lost.message());
      return code == kOk ? kUnreachable : code;
    }
    return code;
  }
  print(app.help());
  return argc == 1 ? kOk : kUsage;
}

/// Reports an unexpected exception, and returns the exit status.
int failed(const std::error_code& why, const char* what) {
  if (why == std::errc::too_many_files_open || why == std::errc::too_many_files_open_in_system) {
    complain(std::string("too few open files; raise the limit of \"ulimit -n\": ") + what);
    return kRefused;
  }
  complain(std::string("a bug in weir; please report it: ") + what);
  return kBug;
}

}  // namespace
}  // namespace weir::app

int main(int argc, char** argv) {
  // Any exception that reaches this place is a bug of weir: expected errors are a Result or a
  // Problem.
  try {
    return weir::app::run(argc, argv);
  } catch (const std::bad_alloc&) {
    weir::app::complain("out of memory");
  } catch (const std::system_error& error) {
    return weir::app::failed(error.code(), error.what());
  } catch (const boost::system::system_error& error) {
    return weir::app::failed(error.code(), error.what());
  } catch (const std::exception& error) {
    return weir::app::failed({}, error.what());
  }
  return weir::app::kBug;
}
