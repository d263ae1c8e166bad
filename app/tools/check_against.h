#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/tools/ctl/ctl_call.h"
#include "policies/set/lineage.h"

/// `weir check --against URL|FILE`: the counts that a reload of the checked file would empty.
namespace weir::app {

/// The running configuration: of the admin API of a weir (`http://HOST:PORT`, `unix:/path`), or
/// another configuration file. Empty: unavailable; `problem` says why, and `code` is the exit code.
struct Against {
  std::optional<std::vector<policies::Lineage>> running;
  std::vector<std::string> closed;  ///< counters that the process still holds (predict_reload)
  std::string problem;
  int code = 0;
};
Against find_running(const std::string& given, const std::string& token_file);

/// One line for each change; empty: none. `emptied`: how many of them start empty or go.
std::string against_text(const std::vector<policies::ReloadEffect>& changes, bool colours);
std::string against_json(const std::vector<policies::ReloadEffect>& changes);
std::size_t emptied(const std::vector<policies::ReloadEffect>& changes);

}  // namespace weir::app
