#include "app/support/command.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "app/support/exit_code.h"
#include "app/support/files.h"
#include "core/visible.h"

namespace weir::app {

bool Globals::colours(int fd) const {
  if (colour != Colour::automatic) return colour == Colour::always;
  const char* no_colour = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  return ::isatty(fd) == 1 && (no_colour == nullptr || *no_colour == '\0') &&
         (terminal == nullptr || std::string_view(terminal) != "dumb");
}

namespace {
boost::system::error_code lost;  // why something that was printed did not get out
}

void print(std::string_view text) {
  const Result<void> written = write_all(STDOUT_FILENO, text);
  // A reader that stops early (`| head`) is not a failure.
  if (!written && !lost && written.error().value() != EPIPE) lost = written.error();
}

void print_data(std::string_view text) {
  ::isatty(STDOUT_FILENO) == 1 ? print(escape_hidden(text)) : print(text);
}

boost::system::error_code lost_output() { return lost; }

void complain(std::string_view message) {
  const std::string line =
      "weir: " + escape_hidden(message) + "\n";  // the message may quote any text
  static_cast<void>(write_all(STDERR_FILENO, line).has_value());
}

int complain_usage(std::string_view message) {
  complain(message);
  return kUsage;
}

}  // namespace weir::app
