#pragma once

#include <string>
#include <vector>

#include "app/support/command.h"
#include "app/tools/ctl/ctl_call.h"

namespace CLI {
class App;
}

/// `weir ctl list`: lists and their entries.
namespace weir::app {

struct ListFlags {
  std::string name;
  std::vector<std::string> key;
  bool add = false, remove = false, forgive = false;
  bool all = false, dry_run = false, exports = false;
  std::string duration, until, why, effect, since, import_file;
  unsigned limit = 100;
};

void declare_list_flags(CLI::App& list, ListFlags& flags);
int run_list(const AdminDoor& door, const ListFlags& flags, const Globals& globals);

}  // namespace weir::app
