#pragma once

#include <boost/json/fwd.hpp>
#include <string>

#include "app/support/command.h"
#include "app/tools/ctl/ctl_call.h"

/// The commands of `weir ctl` that show the configuration in force and gather what a support case
/// needs.
namespace weir::app {

/// GET /v1/tables: as comments, the limits that were set at run time. Empty: there are none. Pure.
std::string tables_changed(const boost::json::value& answer);
/// GET /v1/config: the texts in force, secrets masked.
int run_config(const AdminDoor& door, const Globals& globals);
/// GET /v1/reloads: the last loads and what they changed.
int run_reloads(const AdminDoor& door, const Globals& globals);
/// One JSON file: versions, status, configuration, policies, lists, views, reloads, overrides,
/// tables, replicas, the end of the audit log, metrics. Secrets are masked; keys of lists and
/// counters are left out. Empty: to stdout.
int run_support_dump(const AdminDoor& door, const std::string& file, const Globals& globals);

}  // namespace weir::app
