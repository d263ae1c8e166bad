#pragma once

#include <boost/json/fwd.hpp>
#include <string>
#include <vector>

#include "app/support/command.h"
#include "app/tools/ctl/ctl_call.h"

/// The commands of `weir ctl` that answer "why is this blocked, and how do I let it go".
namespace weir::app {

/// GET /v1/why: everything that restricts the key, and the commands that lift it. Pure.
std::string why_text(const boost::json::value& answer);
/// GET /v1/changes: the changes that can be undone. Pure.
std::string changes_table(const boost::json::value& answer);
/// POST /v1/changes/{undo}/undo. Pure.
std::string undone_text(const boost::json::value& answer);
/// GET /v1/hash. Pure.
std::string hash_text(const boost::json::value& answer);

int run_why(const AdminDoor& door, const std::vector<std::string>& key, const Globals& globals);
int run_hash(const AdminDoor& door, const std::vector<std::string>& key, const Globals& globals);
/// Without a token: the changes that can be undone.
int run_undo(const AdminDoor& door, const std::string& token, const Globals& globals);

}  // namespace weir::app
