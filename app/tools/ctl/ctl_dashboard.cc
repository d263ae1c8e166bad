#include "app/tools/ctl/ctl_dashboard.h"

#include <boost/json/object.hpp>

#include "app/support/columns.h"
#include "app/support/exit_code.h"
#include "app/tools/ctl/ctl_text.h"
#include "config/default_ports.h"
#include "core/chars/percent.h"

namespace weir::app {

std::string dashboard_url(std::string_view door, std::string_view path) {
  constexpr std::string_view kScheme = "http://";
  std::string authority(door.starts_with(kScheme) ? door.substr(kScheme.size()) : door);
  while (authority.ends_with('/')) authority.pop_back();
  if (door.starts_with("unix:")) authority = "localhost:" + std::to_string(config::kAdminPort);
  if (authority.starts_with(':')) authority.insert(0, "127.0.0.1");
  return std::string(kScheme) + authority + std::string(path);
}

int run_dashboard(const AdminDoor& door, const std::string& person, const Globals& globals) {
  std::string target = "/v1/session/link";
  if (!person.empty()) append_percent_encoded(target += "?as=", person);
  AdminAnswer answer = ask_admin(door, "POST", target);
  answer.problem = said_by_flags(answer.problem, {"as"});
  if (answer.code != kOk) return complain_of(answer);
  const std::string url = dashboard_url(door.address, cell(answer.body, "path"));
  const std::string seconds = cell(answer.body, "seconds");
  std::string text = url + "\n";
  const bool once =
      member(answer.body, "code") != nullptr && !member(answer.body, "code")->is_null();
  if (once) text += "works once, within " + seconds + " seconds";
  if (once) text += (person.empty() ? "" : ", for " + cell(answer.body, "as")) + "\n";
  if (door.address.starts_with("unix:")) {
    text += "no browser opens a Unix socket: forward it first, for example by\n  ssh -L " +
            std::to_string(config::kAdminPort) + ":" + door.address.substr(5) + " HOST\n";
  }
  boost::json::object out{{"url", url}, {"seconds", *member(answer.body, "seconds")}};
  show(globals, out, text);
  return kOk;
}

}  // namespace weir::app
