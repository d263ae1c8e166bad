#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}  // namespace CLI

namespace weir::app {

/// Parses a command line whose words are taken as they are. CLI11 alone takes `[a,b]` for a list of
/// a and b where several values may be, so that the host `[::1]` would lose its brackets. Throws
/// what CLI::App::parse() throws.
void parse_literally(CLI::App& app, int argc, const char* const* argv);

/// A message of such an exception, as the user wrote the words in it.
std::string literal_message(std::string message);

}  // namespace weir::app
