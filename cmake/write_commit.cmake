# cmake -DSOURCE=DIR -DOUT=FILE [-DCOMMIT=NAME] -P write_commit.cmake: a source with the commit that is built, for `weir --version`.
# Runs with every build; the file changes only if the commit does. COMMIT: for a tree without its repository.
if(NOT COMMIT)
  execute_process(COMMAND git -C "${SOURCE}" describe --always --dirty --abbrev=12 --exclude=*
    OUTPUT_VARIABLE COMMIT OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
  if(failed OR NOT COMMIT)
    set(COMMIT unknown)
  endif()
endif()
file(CONFIGURE OUTPUT "${OUT}" @ONLY CONTENT [[
#include "app/support/version.h"

namespace weir::app {
std::string_view commit() noexcept { return "@COMMIT@"; }
}  // namespace weir::app
]])
