#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace CLI {
class App;
}

namespace weir::app {

enum class Output : std::uint8_t { human, json, ndjson, raw, csv };
enum class Colour : std::uint8_t { automatic, always, never };

/// Options that every command accepts.
struct Globals {
  Output output = Output::human;
  Colour colour = Colour::automatic;
  /// Whether to colour what goes to this descriptor: a terminal, unless NO_COLOR or a dumb one.
  bool colours(int fd) const;
};

/// A subcommand: its name below, a row of the table in main.cc, and a source file or a folder.
struct Command {
  std::string_view name;
  std::string_view help;      ///< one line
  std::string_view examples;  ///< below its options
  /// Declares the options of the command, and returns the function that runs once they are parsed.
  /// `globals` outlives both.
  std::function<int()> (*declare)(CLI::App& app, const Globals& globals);
};

extern const Command kServe, kDev, kInit, kCheck, kTest, kExplain, kReplay, kSchema, kHealth,
    kDoctor, kCtl;
extern const Command kInject, kMan, kCompletion, kImport;

/// The first word by which the completion scripts of shells ask: `weir __complete -- WORD...`.
inline constexpr std::string_view kCompleteWord = "__complete";
/// The possible completions of the last of these words, a line each: the word, a tab, and its
/// meaning.
std::string completions(const CLI::App& root, const std::vector<std::string>& words);

/// Prints to stdout; a reader that has left (`weir check | head`) is not an error.
void print(std::string_view text);
/// The same of data that is meant for a file, and holds texts of clients: exact there and in
/// a pipe; on a terminal hidden characters are escaped, for they could command it.
void print_data(std::string_view text);
/// Why something that was printed could not be written, if so: a full disk. main() says so.
boost::system::error_code lost_output();
/// `weir: message`, on stderr.
void complain(std::string_view message);
/// The same of a command line that makes no sense. Returns kUsage.
int complain_usage(std::string_view message);

inline constexpr std::string_view kVersion = WEIR_VERSION;

}  // namespace weir::app
