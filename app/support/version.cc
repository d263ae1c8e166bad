#include "app/support/version.h"

#include "app/support/command.h"

namespace weir::app {

std::string version_text() {
  return "weir " + std::string(kVersion) + " (" + std::string(commit()) + ")";
}

}  // namespace weir::app
