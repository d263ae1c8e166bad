#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>

#include "admin/operator/peers.h"
#include "admin/operator/replicas.h"
#include "admin/routes.h"

/// GET /v1/replicas: the configuration of each replica, and which are behind.
namespace weir::admin {
namespace {

namespace json = boost::json;

json::object row_of(std::string address, bool self) {
  json::object row;
  row["address"] = std::move(address);
  row["self"] = self;
  row["up"] = self;
  row["why"] = "";
  for (const char* name :
       {"name", "version", "hash", "loaded", "started", "overrides", "state", "silent_seconds"})
    row[name] = nullptr;
  row["behind"] = nullptr;
  return row;
}

// Reads the answer of another replica to GET /v1/status. A replica of another version may send
// fewer members.
void take_status(json::object& row, const std::string& body) {
  boost::system::error_code broken;
  const json::value told = json::parse(body, broken);
  if (broken || !told.is_object()) {
    row["why"] = "it is not weir";
    return;
  }
  const auto text = [&](const json::object& from, const char* name, const char* as) {
    const json::value* const value = from.if_contains(name);
    if (value != nullptr && value->is_string()) row[as] = *value;
  };
  const json::object& status = told.get_object();
  row["up"] = true;
  text(status, "replica", "name");
  text(status, "version", "version");
  text(status, "started", "started");
  if (const auto* config = status.if_contains("config"); config != nullptr && config->is_object()) {
    text(config->get_object(), "hash", "hash");
    text(config->get_object(), "loaded", "loaded");
  }
  const json::value* const draining = status.if_contains("draining");
  if (draining != nullptr && draining->is_bool())
    row["state"] = draining->get_bool() ? "draining" : "serving";
  const auto* const overrides = status.if_contains("overrides");
  if (overrides != nullptr && overrides->is_array())
    row["overrides"] = overrides->get_array().size();
}

json::object row_of(const ReplicaFacts& facts) {
  json::object row = row_of(utf8_text(facts.admin), facts.self);
  row["up"] = facts.up;
  row["why"] = utf8_text(facts.problem);
  row["name"] = utf8_text(facts.name);
  row["version"] = utf8_text(facts.version);
  row["hash"] = utf8_text(facts.hash);
  put_time(row, "loaded", facts.loaded);
  put_time(row, "started", facts.started);
  row["overrides"] = facts.overrides;
  row["state"] = utf8_text(facts.state);
  row["silent_seconds"] = static_cast<double>(facts.silent.count()) / 1000;
  return row;
}

// The replica that was loaded last has the intended configuration; replicas with another one are
// behind.
void mark_behind(json::array& rows, const std::string& newest_known) {
  json::value hash;
  if (!newest_known.empty()) hash = newest_known;
  const json::object* newest = nullptr;
  for (const json::value& each : rows) {
    const json::object& row = each.get_object();
    if (!row.at("loaded").is_string()) continue;
    if (newest == nullptr || row.at("loaded").get_string() > newest->at("loaded").get_string())
      newest = &row;
  }
  if (hash.is_null() && newest != nullptr) hash = newest->at("hash");
  for (json::value& each : rows) {
    json::object& row = each.get_object();
    if (row.at("hash").is_string()) row["behind"] = row.at("hash") != hash;
  }
}

json::object* named(json::array& rows, const json::value& name) {
  for (json::value& each : rows) {
    if (name.is_string() && each.get_object().at("name") == name) return &each.get_object();
  }
  return nullptr;
}

json::object own_row(const Call& call) {
  json::object own = row_of("", true);
  const StatusFacts status = call.operations.status();
  own["version"] = status.version;
  own["hash"] = status.config_hash;
  put_time(own, "loaded", status.config_loaded);
  put_time(own, "started", status.started);
  own["overrides"] = call.operations.overrides().size();
  own["state"] = status.draining ? "draining" : "serving";
  own["silent_seconds"] = 0.0;
  return own;
}

boost::asio::awaitable<void> add_peers(Call& call, json::array& rows) {
  for (Peers::Answer& answer : co_await call.peers.ask("GET", "/v1/status", {})) {
    if (answer.self) {
      rows.front().get_object()["address"] = answer.address;
      continue;
    }
    json::object row = row_of(answer.address, false);
    if (answer.status == 200)
      take_status(row, answer.body);
    else
      row["why"] = answer.why.empty() ? "status " + std::to_string(answer.status) : answer.why;
    json::object* const known = named(rows, row.at("name"));
    if (known == nullptr)
      rows.push_back(std::move(row));
    else
      (*known)["address"] = answer.address;  // where it was reached
  }
}

std::string away_text(const FleetFacts& fleet) {
  return "Redis is away (" + fleet.why +
         "): it holds here, and the other replicas get it when Redis is back";
}

}  // namespace

boost::asio::awaitable<net::HttpReply> get_replicas(Call& call) {
  if (auto refused = call.refuse_unknown({})) co_return std::move(*refused);
  json::array rows{own_row(call)};
  json::object reply;
  const auto fleet = call.operations.fleet();
  reply["configured"] = call.peers.configured();
  reply["redis"] = nullptr;
  if (fleet) {
    json::object board;
    board["up"] = fleet->up;
    board["why"] = utf8_text(fleet->why);
    board["age_seconds"] =
        fleet->age ? json::value(static_cast<double>(fleet->age->count()) / 1000) : json::value();
    board["untold"] = fleet->unsent;
    reply["redis"] = std::move(board);
    rows.front().get_object()["name"] = utf8_text(fleet->name);
    for (const ReplicaFacts& facts : fleet->replicas) {
      if (facts.self)
        rows.front() = row_of(facts);
      else
        rows.push_back(row_of(facts));
    }
  }
  if (call.peers.configured()) co_await add_peers(call, rows);
  mark_behind(rows, fleet ? fleet->newest : std::string());
  reply["replicas"] = std::move(rows);
  co_return json_reply(reply);
}

std::variant<Scope, net::HttpReply> scope_of(const Call& call) {
  const auto fleet = call.operations.fleet();
  Scope out;
  out.board = fleet.has_value();
  if (!call.query.has("replicas")) return out;
  const auto text = call.query.one("replicas");
  if (text == "here") {
    out.here = true;
    out.board = false;
    return out;
  }
  if (text != "all") return problem(400, "`replicas` is all or here, or left out");
  if (!fleet && !call.peers.configured())
    return problem(400,
                   "there is this replica alone: `admin.replicas` names no others, and there is no "
                   "`redis` to share");
  // If Redis answers, one message through it reaches all replicas.
  out.peers = call.peers.configured() && !(fleet && fleet->up);
  return out;
}

void put_away_note(const Call& call, json::object& reply) {
  const bool changes = call.entry.shared && !call.entry.action.empty();
  const auto fleet = changes ? call.operations.fleet() : std::nullopt;
  reply["note"] = utf8_text(fleet && !fleet->up ? away_text(*fleet) : std::string());
}

std::string scope_note(const Call& call, const Scope& scope) {
  const auto fleet = call.operations.fleet();
  if (!fleet) return {};
  if (!scope.board) return "; on this replica alone";
  if (!fleet->up) return "; " + away_text(*fleet);
  const auto others = std::count_if(fleet->replicas.begin(), fleet->replicas.end(),
                                    [](const ReplicaFacts& each) { return each.up && !each.self; });
  if (others == 0) return "; no other replica shares this Redis now";
  return "; it holds on " + std::to_string(others) + " other replica" + (others == 1 ? "" : "s") +
         " within about two seconds";
}

boost::asio::awaitable<json::array> on_other_replicas(const Call& call) {
  json::array rows;
  for (const Peers::Answer& answer :
       co_await call.peers.ask(call.request.method, call.request.path, call.request.body)) {
    if (answer.self) continue;
    std::string detail = answer.why;
    boost::system::error_code broken;
    const json::value told = json::parse(answer.body, broken);
    if (!broken && told.is_object() && told.get_object().contains("detail") &&
        told.at("detail").is_string())
      detail = text_of(told.at("detail"));
    rows.push_back(json::object{{"address", answer.address},
                                {"ok", answer.status / 100 == 2},
                                {"detail", utf8_text(detail)}});
  }
  co_return rows;
}

}  // namespace weir::admin
