#pragma once

#include <boost/json/value.hpp>
#include <functional>
#include <string>
#include <vector>

#include "app/support/command.h"
#include "app/tools/ctl/ctl_call.h"

/// `weir ctl --replicas`: one command at several processes, and their answers put together.
namespace weir::app {

/// The doors that a list means, separated by commas: HOST:PORT, unix:/path, or a name; of a name
/// with several addresses (a headless Service) each is one. Without a port it is 8481. Empty:
/// `problem` says why.
std::vector<std::string> replica_doors(const std::string& list, std::string& problem);

struct ReplicaAnswer {
  std::string replica;
  int code = 0;  ///< the command's exit code there
  boost::json::value body;
  std::string text;
};

/// For people. Equal answers are shown once; for `status`, a table shows the configuration of each
/// replica, and which replicas are behind. Pure.
std::string replicas_text(const std::vector<ReplicaAnswer>& answers);

/// GET /v1/replicas, for people: the configuration of each replica, and which are behind. Pure.
std::string fleet_text(const boost::json::value& answer);
/// `weir ctl replicas`. Exit code 1: some replica is behind or does not answer.
int run_replicas(const AdminDoor& door, const Globals& globals);

/// Runs the command at each door, one after the other, and shows the answers. The exit code
/// is the worst.
int run_on_replicas(const std::string& list, const Globals& globals,
                    const std::function<int(const std::string& door)>& run);

}  // namespace weir::app
