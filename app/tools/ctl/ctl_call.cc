#include "app/tools/ctl/ctl_call.h"

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <optional>

#include "app/support/columns.h"
#include "app/support/configuration.h"
#include "app/support/exit_code.h"
#include "app/support/files.h"
#include "app/support/http_client.h"
#include "app/support/webhook.h"
#include "config/default_ports.h"
#include "config/text/problem.h"
#include "core/address.h"
#include "core/chars/ascii.h"
#include "core/chars/network_text.h"
#include "core/chars/percent.h"
#include "core/json_numbers.h"
#include "core/text.h"
#include "core/visible.h"

namespace weir::app {
namespace {

constexpr milliseconds kBusyPause{200};
constexpr std::size_t kNamesToldMax = 10;
constexpr int kTriesMax = 20;  // of a door that takes changes no faster

struct Found {
  net::SocketAddress address;
  std::string authority;
};

std::optional<Found> find_door(std::string given, std::string& problem) {
  if (given.starts_with("unix:")) {
    const auto address = net::SocketAddress::unix_path(given.substr(5));
    if (address) return Found{*address, "localhost"};
    problem = "\"" + given + "\": " + address.error().message();
    return std::nullopt;
  }
  if (given.starts_with(':')) given.insert(0, "127.0.0.1");
  const auto url = Url::parse(given.find("://") == std::string::npos ? "http://" + given : given);
  if (!url || url->tls) {
    problem = "\"" + given + "\" is neither HOST:PORT nor unix:/path";
    return std::nullopt;
  }
  std::string why;
  const auto address = resolve(url->host, url->port_number(), &why);
  if (!address) {
    problem = "can't resolve " + url->host + ": " + (why.empty() ? address.error().message() : why);
    return std::nullopt;
  }
  return Found{*address, url->authority()};
}

/// A field is one line.
std::string reason_line(std::string reason) {
  std::replace_if(reason.begin(), reason.end(), ascii::is_control, ' ');
  return "X-Weir-Reason: " + reason + "\r\n";
}

AdminAnswer failed(ExitCode code, std::string problem) {
  AdminAnswer out;
  out.code = code;
  out.problem = std::move(problem);
  return out;
}

}  // namespace

void wait_for(milliseconds time) {
  boost::asio::io_context io;
  boost::asio::steady_timer(io, time).wait();
}

AdminDoor default_door() {
  const config::Environment environment = process_environment();
  const auto from = [&](const char* name, const std::string& otherwise) {
    const auto found = environment.find(name);
    return found == environment.end() || found->second.empty() ? otherwise : found->second;
  };
  return {from("WEIR_ADMIN_LISTEN", "127.0.0.1:" + std::to_string(config::kAdminPort)),
          from("WEIR_ADMIN_TOKEN_FILE", ""),
          {}};
}

AdminAnswer ask_admin(const AdminDoor& door, std::string_view method, const std::string& target,
                      const std::string& body, milliseconds limit) {
  std::string problem;
  const auto found = find_door(door.address, problem);
  if (!found) return failed(kUsage, problem);
  std::string lines;
  if (!door.token_file.empty()) {
    const auto token = read_file(door.token_file, 4096);
    if (!token) return failed(kUnreachable, door.token_file + ": " + token.error().message());
    lines.append("Authorization: Bearer ").append(ascii::trimmed(*token, " \t\r\n")).append("\r\n");
  }
  if (!door.accept.empty()) lines += "Accept: " + door.accept + "\r\n";
  // The admin door wants it of every change, with a body or without.
  if (method != "GET") lines += "Content-Type: application/json\r\n";
  if (method != "GET" && !door.reason.empty()) lines += reason_line(door.reason);
  const auto ask = [&] {
    return http_request(found->address, method, target, found->authority, lines, body, limit);
  };
  auto answer = ask();
  for (int i = 1; answer && answer->status == 429 && i < kTriesMax; ++i) {
    wait_for(kBusyPause);
    answer = ask();
  }
  if (!answer) {
    const char* const hint =
        door.is_named ? "" : " (--admin or WEIR_ADMIN_LISTEN name the admin door of weir)";
    return failed(kUnreachable,
                  door.address + " does not answer: " + answer.error().message() + hint);
  }
  AdminAnswer out;
  out.status = answer->status;
  boost::system::error_code broken;
  out.body = boost::json::parse(answer->body, broken);
  if (broken) {
    out.body = nullptr;
    out.text = answer->body;
  }
  if (out.status / 100 == 2 && (!broken || !door.accept.empty() || target == "/v1/metrics"))
    return out;
  out.code = kNo;
  if (out.status == 401 || out.status == 403) out.code = kRefused;
  if (out.status == 504) out.code = kUnreachable;  // weir is there, and its own peer is not
  for (const char* name : {"detail", "title"}) {
    if (out.problem.empty()) out.problem = cell(out.body, name);
  }
  if (out.problem.empty()) out.problem = "status " + std::to_string(out.status);
  if (out.status == 401) out.problem += " (--token-file or WEIR_ADMIN_TOKEN_FILE name the token)";
  return out;
}

int complain_of(const AdminAnswer& answer) {
  if (answer.code != kOk) complain(answer.problem);
  return answer.code;
}

int complain_of_name(const AdminDoor& door, AdminAnswer answer, const std::string& name,
                     const char* target, const char* list) {
  if (answer.status == 404 && !name.empty()) {
    const AdminAnswer all = ask_admin(door, "GET", target);
    answer.problem += name_hint(name, names_in(all.body, list));
  }
  return complain_of(answer);
}

std::vector<std::string> names_in(const boost::json::value& answer, const char* list) {
  std::vector<std::string> out;
  for (const boost::json::value& each : items(answer, list)) {
    const std::string name = cell(each, "name");
    out.push_back(name);
    for (const boost::json::value& metric : items(each, "metrics"))
      out.push_back(cell(metric, "name"));
    const std::size_t colon = name.find(':');
    if (colon != std::string::npos) out.push_back(name.substr(0, colon));
  }
  for (const boost::json::value& name : items(answer, "disabled")) out.push_back(plain(name));
  return out;
}

std::string name_hint(const std::string& name, const std::vector<std::string>& names) {
  if (std::find(names.begin(), names.end(), name) != names.end()) return {};
  const std::string_view near = config::nearest(name, {names.begin(), names.end()});
  if (!near.empty()) return "; did you mean \"" + std::string(near) + "\"?";
  if (names.empty() || names.size() > kNamesToldMax) return {};
  std::string out = names.size() == 1 ? "; there is " : "; there are ";
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i != 0) out += i + 1 == names.size() ? " and " : ", ";
    out += names[i];
  }
  return out;
}

std::string key_word(const std::string& word) {
  constexpr const char* kBlanks = " \t\r\n";
  const std::size_t first = word.find_first_not_of(kBlanks);
  if (first == std::string::npos) return word;
  const std::string bare = word.substr(first, word.find_last_not_of(kBlanks) + 1 - first);
  return Address::parse(bare) || is_network(bare) ? bare : word;
}

std::string admin_target(std::string_view path, std::string_view part,
                         const std::vector<std::string>& keys) {
  std::string out(path);
  const std::size_t hole = out.find("{}");
  const std::string rest = hole == std::string::npos ? std::string() : out.substr(hole + 2);
  if (hole != std::string::npos) out.resize(hole);
  append_percent_encoded(out, part);
  out += rest;
  char mark = '?';
  for (const std::string& key : keys) {
    out += mark;
    out += "key=";
    append_percent_encoded(out, key);
    mark = '&';
  }
  return out;
}

namespace {

Gathered* gathered = nullptr;

}  // namespace

Gathered::Gathered() { gathered = this; }
Gathered::~Gathered() { gathered = nullptr; }

void show(const Globals& globals, const boost::json::value& body, const std::string& text) {
  if (gathered != nullptr) {
    gathered->body = body;
    gathered->text += text;
    return;
  }
  print(globals.output == Output::human
            ? text
            : escape_hidden(plain_numbers(boost::json::serialize(body))) + "\n");
}

}  // namespace weir::app
