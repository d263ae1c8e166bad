#include <CLI/CLI.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "app/command.h"
#include "app/configuration.h"
#include "app/ctl_view.h"
#include "app/exit_code.h"
#include "app/files.h"
#include "app/http_client.h"
#include "app/outline.h"
#include "app/webhook.h"
#include "config/units.h"
#include "core/text.h"

namespace weir::app {
namespace {

constexpr milliseconds kLimit{10'000};

constexpr std::string_view kExamples =
    "Examples:\n"
    "  weir ctl status\n"
    "  weir ctl view hot-pages\n"
    "  weir ctl reload\n"
    "  weir ctl drain --begin           not ready any more, but still serving; --end takes it "
    "back\n"
    "  weir ctl --admin unix:/run/weir/admin.sock status\n"
    "\n"
    "Exit codes: 0 done, 1 weir says no, 4 nobody answers, 5 not permitted.";

struct Flags {
  std::string admin, token_file;
  bool begin = false, end = false;
  std::string view;  // empty: all of them
  unsigned windows = 12;
};

/// The admin door, as $WEIR_ADMIN_LISTEN or --admin name it.
struct Door {
  net::SocketAddress address;
  std::string authority;
};

std::optional<Door> find_door(const std::string& given) {
  if (given.starts_with("unix:")) {
    const auto address = net::SocketAddress::unix_path(given.substr(5));
    if (address) return Door{*address, "localhost"};
    complain("\"" + given + "\": " + address.error().message());
    return std::nullopt;
  }
  const auto url = Url::parse(given.find("://") == std::string::npos ? "http://" + given : given);
  if (!url || url->tls) {
    complain("\"" + given + "\" is neither HOST:PORT nor unix:/path");
    return std::nullopt;
  }
  std::string why;
  const auto address = resolve(url->host, url->port_number(), &why);
  if (!address) {
    complain("can't resolve " + url->host + ": " + (why.empty() ? address.error().message() : why));
    return std::nullopt;
  }
  return Door{*address, url->authority()};
}

/// One request; prints what is wrong and gives an exit code unless the answer is 2xx.
int call(const Flags& flags, const char* method, const char* target, const std::string& body,
         boost::json::value& out) {
  const auto door = find_door(flags.admin);
  if (!door) return kUsage;
  std::string lines;
  if (!flags.token_file.empty()) {
    auto token = read_file(flags.token_file, 4096);
    if (!token) {
      complain(flags.token_file + ": " + token.error().message());
      return kUnreachable;
    }
    while (!token->empty() && static_cast<unsigned char>(token->back()) <= ' ') token->pop_back();
    lines += "Authorization: Bearer " + *token + "\r\n";
  }
  // The admin door wants it of every change, with a body or without.
  if (std::string_view(method) != "GET") lines += "Content-Type: application/json\r\n";
  const auto answer =
      http_request(door->address, method, target, door->authority, lines, body, kLimit);
  if (!answer) {
    complain(flags.admin + " does not answer: " + answer.error().message());
    return kUnreachable;
  }
  boost::system::error_code broken;
  out = boost::json::parse(answer->body, broken);
  if (answer->status / 100 == 2 && !broken) return kOk;
  std::string why = "status " + std::to_string(answer->status);
  if (!broken && out.is_object()) {
    for (const char* name : {"detail", "title"}) {
      const auto* text = out.as_object().if_contains(name);
      if (text == nullptr || !text->is_string()) continue;
      why = text->as_string().c_str();
      break;
    }
    if (const auto* problems = out.as_object().if_contains("problems")) {
      if (problems->is_array()) {
        for (const auto& problem : problems->as_array())
          why += "\n  " + boost::json::serialize(problem);
      }
    }
  }
  std::string safe;
  for (std::size_t from = 0; from <= why.size();) {
    const std::size_t line_end = std::min(why.find('\n', from), why.size());
    append_plain(safe, std::string_view(why).substr(from, line_end - from));
    if (line_end < why.size()) safe += '\n';
    from = line_end + 1;
  }
  complain(safe);
  return answer->status == 401 || answer->status == 403 ? kRefused : kNo;
}

void show(const boost::json::value& value, Output output) {
  print(output == Output::human ? outline(value) : boost::json::serialize(value) + "\n");
}

int run(const Flags& flags, const Globals& globals, const char* method, const char* target,
        const std::string& body) {
  boost::json::value answer;
  const int code = call(flags, method, target, body, answer);
  if (code == kOk) show(answer, globals.output);
  return code;
}

int show_view(const Flags& flags, const Globals& globals) {
  boost::json::value answer;
  std::string target = "/v1/views";
  if (!flags.view.empty()) target += "/" + flags.view + "?windows=" + std::to_string(flags.windows);
  const int code = call(flags, "GET", target.c_str(), {}, answer);
  if (code != kOk) return code;
  if (globals.output != Output::human) {
    show(answer, globals.output);
  } else {
    print(flags.view.empty() ? views_table(answer) : view_windows(answer));
  }
  return kOk;
}

std::function<int()> declare(CLI::App& app, const Globals& globals) {
  auto flags = std::make_shared<Flags>();
  const config::Environment environment = process_environment();
  const auto from = [&](const char* name, const char* otherwise) {
    const auto found = environment.find(name);
    return found == environment.end() || found->second.empty() ? std::string(otherwise)
                                                               : found->second;
  };
  flags->admin = from("WEIR_ADMIN_LISTEN", "127.0.0.1:8481");
  flags->token_file = from("WEIR_ADMIN_TOKEN_FILE", "");
  app.add_option("--admin", flags->admin, "The admin door; else $WEIR_ADMIN_LISTEN")
      ->type_name("ADDRESS")
      ->capture_default_str();
  app.add_option("--token-file", flags->token_file, "Its token; else $WEIR_ADMIN_TOKEN_FILE")
      ->type_name("FILE");
  app.require_subcommand(1);
  app.fallthrough();
  CLI::App* status =
      app.add_subcommand("status", "What is running: configuration, workers, memory");
  CLI::App* view =
      app.add_subcommand("view", "What views have counted: all, or the windows of one");
  view->add_option("name", flags->view, "The view")
      ->type_name("NAME")
      ->check([](const std::string& s) {
        const bool name = config::is_name(s, true);
        return name ? std::string() : "\"" + s + "\" is no name of a view";
      });
  view->add_option("--windows", flags->windows, "So many complete windows at most")
      ->type_name("N")
      ->check(CLI::Range(0, 100))
      ->capture_default_str();
  CLI::App* reload = app.add_subcommand("reload", "Load the configuration again, now");
  CLI::App* drain =
      app.add_subcommand("drain", "Leave the load balancer's list, but go on serving");
  auto* begin = drain->add_flag("--begin", flags->begin, "Not ready any more (for a preStop hook)");
  auto* end = drain->add_flag("--end", flags->end, "Ready again");
  begin->excludes(end);
  return [=, &globals] {
    if (status->parsed()) return run(*flags, globals, "GET", "/v1/status", {});
    if (view->parsed()) return show_view(*flags, globals);
    if (reload->parsed()) return run(*flags, globals, "POST", "/v1/reload", {});
    if (drain->parsed() && flags->begin == flags->end) {
      complain("drain needs --begin or --end");
      return int{kUsage};
    }
    return run(*flags, globals, "POST", "/v1/drain",
               flags->begin ? R"({"begin":true})" : R"({"begin":false})");
  };
}

}  // namespace

const Command kCtl{"ctl", "Ask and steer a running weir", kExamples, declare};

}  // namespace weir::app
