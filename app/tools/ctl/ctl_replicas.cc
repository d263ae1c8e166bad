#include "app/tools/ctl/ctl_replicas.h"

#include <netdb.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <map>
#include <memory>

#include "app/support/columns.h"
#include "app/support/exit_code.h"
#include "config/default_ports.h"
#include "core/text.h"
#include "net/socket.h"

namespace weir::app {
namespace {

namespace json = boost::json;

const std::string kDefaultPort = ":" + std::to_string(config::kAdminPort);
constexpr std::size_t kReplicasMax = 256;

// All addresses of a name, with this port after each.
bool add_addresses(const std::string& host, const std::string& port, std::vector<std::string>& out,
                   std::string& problem) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int status = ::getaddrinfo(host.c_str(), nullptr, &hints, &found);
  if (status != 0) {
    problem = "can't resolve " + host + ": " + ::gai_strerror(status);
    return false;
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found, &::freeaddrinfo);
  for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
    net::SocketAddress any;
    std::memcpy(any.raw(), each->ai_addr, each->ai_addrlen);
    const std::string text = any.address().to_string();
    const bool v6 = text.find(':') != std::string::npos;
    std::string door = (v6 ? "[" + text + "]" : text) + port;
    if (std::find(out.begin(), out.end(), door) == out.end()) out.push_back(std::move(door));
  }
  return true;
}

std::string status_table(const std::vector<ReplicaAnswer>& answers) {
  // The replica that loaded last runs the intended configuration; the others are behind it.
  std::string newest, hash;
  for (const ReplicaAnswer& answer : answers) {
    const json::value* const config = member(answer.body, "config");
    if (config == nullptr || cell(*config, "loaded") <= newest) continue;
    newest = cell(*config, "loaded");
    hash = cell(*config, "hash");
  }
  Rows rows{{"REPLICA", "VERSION", "CONFIGURATION", "LOADED", "POLICIES", "OVERRIDES", "STATE"}};
  for (const ReplicaAnswer& answer : answers) {
    const json::value* const config = member(answer.body, "config");
    if (config == nullptr) {
      rows.push_back({answer.replica, "", "", "", "", "", "does not answer"});
      continue;
    }
    std::string overrides;
    for (const json::value& each : items(answer.body, "overrides"))
      overrides +=
          (overrides.empty() ? "" : "; ") + cell(each, "policy") + " " + cell(each, "text");
    const bool behind = cell(*config, "hash") != hash;
    rows.push_back({answer.replica, cell(answer.body, "version"), cell(*config, "hash"),
                    cell(*config, "loaded"), cell(answer.body, "policies"), overrides,
                    is_true(answer.body, "draining") ? "draining"
                    : behind                         ? "behind"
                                                     : "in force"});
  }
  return columns(rows);
}

}  // namespace

std::vector<std::string> replica_doors(const std::string& list, std::string& problem) {
  std::vector<std::string> out;
  for (std::string_view rest = list; !rest.empty();) {
    const std::string word(rest.substr(0, rest.find(',')));
    rest.remove_prefix(std::min(word.size() + 1, rest.size()));
    if (word.empty()) continue;
    if (word.starts_with("unix:")) {
      out.push_back(word);
      continue;
    }
    const std::size_t colon = word.rfind(':');
    const bool bracketed = word.starts_with('[');
    const bool has_port = colon != std::string::npos && colon + 1 < word.size() &&
                          word.find_first_not_of("0123456789", colon + 1) == std::string::npos &&
                          (bracketed ? word[colon - 1] == ']' : word.find(':') == colon);
    std::string host = has_port ? word.substr(0, colon) : word;
    const std::string port = has_port ? word.substr(colon) : kDefaultPort;
    if (bracketed) host = host.substr(1, host.find(']') - 1);
    if (!add_addresses(host, port, out, problem)) return {};
  }
  if (out.empty()) problem = "--replicas names no replica";
  if (out.size() > kReplicasMax) {
    problem = "--replicas means over " + std::to_string(kReplicasMax) + " addresses";
    out.clear();
  }
  return out;
}

std::string replicas_text(const std::vector<ReplicaAnswer>& answers) {
  const bool status = std::any_of(answers.begin(), answers.end(), [](const ReplicaAnswer& answer) {
    return member(answer.body, "config") != nullptr &&
           member(answer.body, "uptime_seconds") != nullptr;
  });
  if (status) return status_table(answers);
  std::string out;
  std::vector<bool> shown(answers.size());
  for (std::size_t i = 0; i < answers.size(); ++i) {
    if (shown[i]) continue;
    std::string who;
    for (std::size_t k = i; k < answers.size(); ++k) {
      if (answers[k].text != answers[i].text || answers[k].code != answers[i].code) continue;
      shown[k] = true;
      who += (who.empty() ? "" : ", ") + answers[k].replica;
    }
    out += "== " + who + "\n";
    out += answers[i].text.empty() && answers[i].code != kOk
               ? "no answer, exit code " + std::to_string(answers[i].code) + "\n"
               : answers[i].text;
  }
  return out;
}

std::string fleet_text(const json::value& answer) {
  Rows rows{{"REPLICA", "ADMIN", "VERSION", "CONFIGURATION", "SINCE", "OVERRIDES", "STATE", ""}};
  for (const json::value& each : items(answer, "replicas")) {
    const std::string name = cell(each, "name");
    const std::string state = !is_true(each, "up")                ? "does not answer"
                              : is_true(each, "behind")           ? "behind"
                              : cell(each, "state") == "draining" ? "draining"
                                                                  : "in step";
    std::string who = name.empty() ? cell(each, "address") : name;
    if (is_true(each, "self")) who += who.empty() ? "this one" : " (this one)";
    rows.push_back({std::move(who), cell(each, "address"), cell(each, "version"),
                    cell(each, "hash"), cell(each, "loaded"), cell(each, "overrides"), state,
                    cell(each, "why")});
  }
  std::string out = columns(rows);
  const json::value* const redis = member(answer, "redis");
  if (redis != nullptr && redis->is_object()) {
    const std::string age = cell(*redis, "age_seconds");
    if (!is_true(*redis, "up")) {
      out += "Redis is away (" + cell(*redis, "why") + "): " +
             (age.empty() ? "nothing is known of other replicas yet"
                          : "what is shown is " + age + " s old") +
             "\n";
    }
    if (const std::int64_t untold = count_of(*redis, "untold"); untold > 0)
      out += counted(static_cast<std::uint64_t>(untold), "change waits", "changes wait") +
             " to be sent to the others\n";
  } else if (!is_true(answer, "configured")) {
    out += "this process knows only itself: there is neither `redis:` nor `admin.replicas`\n";
  }
  return out;
}

int run_replicas(const AdminDoor& door, const Globals& globals) {
  const AdminAnswer answer = ask_admin(door, "GET", "/v1/replicas");
  if (answer.code != kOk) return complain_of(answer);
  show(globals, answer.body, fleet_text(answer.body));
  const json::array& rows = items(answer.body, "replicas");
  const bool in_step = std::none_of(rows.begin(), rows.end(), [](const json::value& each) {
    return is_true(each, "behind") || !is_true(each, "up");
  });
  return in_step ? kOk : kNo;
}

int run_on_replicas(const std::string& list, const Globals& globals,
                    const std::function<int(const std::string& door)>& run) {
  std::string problem;
  const std::vector<std::string> doors = replica_doors(list, problem);
  if (doors.empty()) {
    complain(problem);
    return kUsage;
  }
  std::vector<ReplicaAnswer> answers;
  int worst = kOk;
  for (const std::string& door : doors) {
    ReplicaAnswer answer;
    answer.replica = door;
    {
      Gathered gathered;
      answer.code = run(door);
      answer.body = std::move(gathered.body);
      answer.text = std::move(gathered.text);
    }
    if (answer.code == kUsage) return kUsage;
    worst = std::max(worst, answer.code);
    answers.push_back(std::move(answer));
  }
  json::array rows;
  for (const ReplicaAnswer& answer : answers) {
    rows.push_back(
        json::object{{"replica", answer.replica}, {"code", answer.code}, {"answer", answer.body}});
  }
  show(globals, json::object{{"replicas", std::move(rows)}}, replicas_text(answers));
  return worst;
}

}  // namespace weir::app
