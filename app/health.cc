#include <CLI/CLI.hpp>

#include "app/command.h"
#include "app/exit_code.h"
#include "app/http_client.h"
#include "app/webhook.h"

namespace weir::app {
namespace {

constexpr milliseconds kLimit{1'000};

constexpr std::string_view kExamples =
    "Examples:\n"
    "  weir health\n"
    "  weir health http://127.0.0.1:8482/livez\n"
    "\n"
    "Exit codes: 0 ready, 1 not ready, 4 nobody answers within a second.";

int health(const std::string& given) {
  std::string text = given.find("://") == std::string::npos ? "http://" + given : given;
  auto url = Url::parse(text);
  if (!url || url->tls) {
    complain("\"" + given + "\" is no http:// URL");
    return kUsage;
  }
  if (url->target == "/") url->target = "/readyz";
  std::string why;
  const auto address = resolve(url->host, url->port_number(), &why);
  if (!address) {
    complain("can't resolve " + url->host + ": " + (why.empty() ? address.error().message() : why));
    return kUnreachable;
  }
  const auto answer = http_request(*address, "GET", url->target, url->authority(), {}, {}, kLimit);
  if (!answer) {
    complain(url->authority() + " does not answer: " + answer.error().message());
    return kUnreachable;
  }
  std::string line = answer->body;
  while (line.ends_with('\n')) line.pop_back();
  for (char& c : line) {
    if (c == '\n') c = ';';
    if (static_cast<unsigned char>(c) < ' ' || c == 0x7f) c = '?';
  }
  print(std::to_string(answer->status) + (line.empty() ? "" : " " + line) + "\n");
  return answer->status >= 200 && answer->status < 400 ? kOk : kNo;
}

std::function<int()> declare(CLI::App& app, const Globals&) {
  auto url = std::make_shared<std::string>("http://127.0.0.1:8482/readyz");
  app.add_option("URL", *url, "The health door; /readyz unless it has a path")
      ->capture_default_str();
  return [url] { return health(*url); };
}

}  // namespace

const Command kHealth{"health", "Ask a running weir whether it is ready", kExamples, declare};

}  // namespace weir::app
