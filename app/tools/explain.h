#pragma once

#include <string>
#include <vector>

#include "app/support/command.h"
#include "app/tools/ctl/ctl_call.h"

namespace CLI {
class App;
}

/// `weir explain`, and the same of a running weir.
namespace weir::app {

/// A request as its flags describe it.
struct ExplainFlags {
  std::string config, method, body, ip = "127.0.0.1", url, door;
  std::vector<std::string> headers;
  bool live = false, ip_given = false;
  AdminDoor admin;  ///< with `live`
};

/// The flags of the request: -X, -H, -d, --ip, URL. `url_help`: of URL.
void declare_request_flags(CLI::App& app, ExplainFlags& flags, const char* url_help);
/// Asks a running weir how it would judge the request now; it counts nothing.
int explain_live(const ExplainFlags& flags, const AdminDoor& door, const Globals& globals);

}  // namespace weir::app
