#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace weir::app {

/// Says on stderr why `error` refuses a command line, and which command line is meant where the
/// words of the user show it. `words`: all of it, without the program's name. Returns kUsage.
int explain_usage(const CLI::App& root, const CLI::ParseError& error,
                  std::vector<std::string> words);

/// The same of a first word that is no command.
int explain_unknown_command(const std::string& word, const std::vector<std::string>& names);

/// `message`, and where help is: `try "weir check --help"`. Returns kUsage.
int usage(const std::string& message, const std::string& see);

}  // namespace weir::app
