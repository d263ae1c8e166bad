#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

/// The possible next words of a command line, for the completion scripts of shells. All of them
/// come from the declared commands, so that a new flag completes without a change here.
namespace weir::app {

/// Names that only a running weir knows.
enum class AdminNames : std::uint8_t { policies, lists, views };
/// Their names; empty if weir does not answer. `door`, `token_file`: as on the command line, or
/// empty.
using AskNames = std::function<std::vector<std::string>(AdminNames, const std::string& door,
                                                        const std::string& token_file)>;

struct Candidate {
  std::string word;   ///< `:files` and `:dirs` mean paths, which the shell completes
  std::string about;  ///< one line; may be empty
};

/// For the words after `weir`; the last word is incomplete, and may be empty. Omits candidates that
/// do not begin with it.
std::vector<Candidate> complete(const CLI::App& root, const std::vector<std::string>& words,
                                const AskNames& ask);

/// Asks the admin door, for half a second at most.
std::vector<std::string> ask_names(AdminNames what, const std::string& door,
                                   const std::string& token_file);

}  // namespace weir::app
