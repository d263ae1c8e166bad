#pragma once

#include <boost/json/fwd.hpp>
#include <string>
#include <vector>

#include "app/support/command.h"
#include "app/tools/ctl/ctl_call.h"

namespace CLI {
class App;
}

/// `weir ctl table`: thresholds that people keep.
namespace weir::app {

struct TableFlags {
  std::string name;
  std::vector<std::string> change;  ///< `get`, `set K=V`, `unset K`, `history`, `approve ID`, ...
  std::string reason, by;
};

void declare_table_flags(CLI::App& table, TableFlags& flags);
int run_table(const AdminDoor& door, const TableFlags& flags, const Globals& globals);

/// A line for each limit of GET /v1/tables/NAME: `baidu,android  3000`. Pure.
std::string table_values_text(const boost::json::value& answer);
/// A line for each change, the newest first. Pure.
std::string table_history_text(const boost::json::value& answer);

}  // namespace weir::app
