#pragma once

#include <boost/json/fwd.hpp>
#include <string>
#include <vector>

#include "app/support/command.h"
#include "app/tools/ctl/ctl_call.h"

namespace CLI {
class App;
}

/// `weir ctl policy`: policies, and their temporary overrides by operators.
namespace weir::app {

struct PolicyFlags {
  std::string name;
  std::vector<std::string> change;  ///< `shadow`; `set over=20`; `restore`
  std::string duration, until, reason;
  bool here = false;  ///< on this replica alone
};

void declare_policy_flags(CLI::App& policy, PolicyFlags& flags);
int run_policy(const AdminDoor& door, const PolicyFlags& flags, const Globals& globals);

/// GET /v1/overrides, and the `overrides` of other answers: a line for each; empty: there are none.
/// Pure.
std::string overrides_text(const boost::json::value& answer);

}  // namespace weir::app
