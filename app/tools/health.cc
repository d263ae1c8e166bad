#include <CLI/CLI.hpp>
#include <algorithm>
#include <variant>

#include "app/support/command.h"
#include "app/support/exit_code.h"
#include "app/support/http_client.h"
#include "app/support/webhook.h"
#include "config/default_ports.h"
#include "core/visible.h"

namespace weir::app {
namespace {

constexpr milliseconds kHealthTimeout{1'000};

constexpr std::string_view kHealthExamples =
    "Examples:\n"
    "  weir health\n"
    "  weir health http://127.0.0.1:8482/livez\n"
    "  weir health unix:/run/weir/health.sock\n"
    "\n"
    "Exit codes: 0 ready, 1 not ready, 4 no answer within a second.";

/// The request and its address.
struct Door {
  net::SocketAddress address;
  std::string name, target = "/readyz";
};

/// The requested door; else the exit code, after a message.
std::variant<Door, int> door_of(const std::string& given) {
  if (given.starts_with("unix:")) {
    const auto address = net::SocketAddress::unix_path(given.substr(5));
    if (address) return Door{*address, given};
    complain("\"" + given + "\" is not a socket path");
    return kUsage;
  }
  std::string text = given.find("://") == std::string::npos ? "http://" + given : given;
  auto url = Url::parse(text);
  if (!url || url->tls) {
    complain("\"" + given + "\" is neither an http:// URL nor unix:/path");
    return kUsage;
  }
  std::string why;
  const auto address = resolve(url->host, url->port_number(), &why);
  if (!address) {
    complain("can't resolve " + url->host + ": " + (why.empty() ? address.error().message() : why));
    return kUnreachable;
  }
  Door door{*address, url->authority()};
  if (url->target != "/") door.target = url->target;
  return door;
}

int health(const std::string& given) {
  const auto found = door_of(given);
  if (const int* code = std::get_if<int>(&found)) return *code;
  const Door& door = std::get<Door>(found);
  const std::string host = given.starts_with("unix:") ? "localhost" : door.name;
  const auto answer = http_request(door.address, "GET", door.target, host, {}, {}, kHealthTimeout);
  if (!answer) {
    complain(door.name + " does not answer: " + answer.error().message());
    return kUnreachable;
  }
  std::string line = answer->body;
  while (line.ends_with('\n')) line.pop_back();
  std::replace(line.begin(), line.end(), '\n', ';');
  line = escape_hidden(line);
  print(std::to_string(answer->status) + (line.empty() ? "" : " " + line) + "\n");
  return answer->status >= 200 && answer->status < 400 ? kOk : kNo;
}

std::function<int()> declare_health(CLI::App& app, const Globals&) {
  auto url = std::make_shared<std::string>(
      "http://127.0.0.1:" + std::to_string(config::kHealthPort) + "/readyz");
  app.add_option("URL", *url, "The health door; /readyz unless it has a path")
      ->capture_default_str();
  return [url] { return health(*url); };
}

}  // namespace

const Command kHealth{"health", "Ask a running weir whether it is ready", kHealthExamples,
                      declare_health};

}  // namespace weir::app
