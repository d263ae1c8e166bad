#pragma once

#include <cstddef>
#include <string>

#include "app/support/command.h"
#include "app/tools/ctl/ctl_call.h"

/// The commands of `weir ctl` that look on.
namespace weir::app {

struct WatchOptions {
  std::string interval;   ///< a duration; empty: the command's own
  std::size_t count = 0;  ///< 0: as the command says
  std::string policy;     ///< of verdicts: only those of this policy and its lists; empty: all
  std::string verdict;    ///< only these effects, separated by commas; empty: all
};

/// A table of the policies every two seconds, redrawn on a terminal; with -o json a line each time.
int watch_top(const AdminDoor& door, const WatchOptions& options, const Globals& globals);
/// Which keys are in the verdicts of an interval most often, by client, and by the keys that were
/// listed.
int watch_keys(const AdminDoor& door, const WatchOptions& options, const Globals& globals);
/// A line for each verdict; with -o json the rows of GET /v1/verdicts.
int watch_verdicts(const AdminDoor& door, const WatchOptions& options, const Globals& globals);

}  // namespace weir::app
