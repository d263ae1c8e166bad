#include "app/command.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "app/files.h"

namespace weir::app {

bool Globals::colours(int fd) const {
  if (colour != Colour::automatic) return colour == Colour::always;
  const char* no_colour = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  return ::isatty(fd) == 1 && (no_colour == nullptr || *no_colour == '\0') &&
         (terminal == nullptr || std::string_view(terminal) != "dumb");
}

void print(std::string_view text) { static_cast<void>(write_all(STDOUT_FILENO, text).has_value()); }

void complain(std::string_view message) {
  const std::string line = "weir: " + std::string(message) + "\n";
  static_cast<void>(write_all(STDERR_FILENO, line).has_value());
}

}  // namespace weir::app
