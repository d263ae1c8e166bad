#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>

#include "admin/operator/peers.h"
#include "admin/operator/replicas.h"
#include "admin/routes.h"

/// GET /v1/replicas: which configuration each replica runs, and who is behind.
namespace weir::admin {
namespace {

namespace json = boost::json;

json::object row_of(std::string address, bool self) {
  json::object row;
  row["address"] = std::move(address);
  row["self"] = self;
  row["up"] = self;
  row["why"] = "";
  for (const char* name : {"version", "hash", "loaded", "started", "overrides"})
    row[name] = nullptr;
  row["behind"] = nullptr;
  return row;
}

// What GET /v1/status of another replica says; a replica of another version may say less.
void take_status(json::object& row, const std::string& body) {
  boost::system::error_code broken;
  const json::value told = json::parse(body, broken);
  if (broken || !told.is_object()) {
    row["why"] = "it is no weir";
    return;
  }
  const auto text = [&](const json::object& from, const char* name, const char* as) {
    const json::value* const value = from.if_contains(name);
    if (value != nullptr && value->is_string()) row[as] = *value;
  };
  const json::object& status = told.get_object();
  row["up"] = true;
  text(status, "version", "version");
  text(status, "started", "started");
  if (const auto* config = status.if_contains("config"); config != nullptr && config->is_object()) {
    text(config->get_object(), "hash", "hash");
    text(config->get_object(), "loaded", "loaded");
  }
  const auto* const overrides = status.if_contains("overrides");
  if (overrides != nullptr && overrides->is_array())
    row["overrides"] = overrides->get_array().size();
}

// Who was loaded last runs what is meant; those with another configuration are behind.
void mark_behind(json::array& rows) {
  const json::object* newest = nullptr;
  for (const json::value& each : rows) {
    const json::object& row = each.get_object();
    if (!row.at("loaded").is_string()) continue;
    if (newest == nullptr || row.at("loaded").get_string() > newest->at("loaded").get_string())
      newest = &row;
  }
  if (newest == nullptr) return;
  const json::value hash = newest->at("hash");
  for (json::value& each : rows) {
    json::object& row = each.get_object();
    if (row.at("up").get_bool()) row["behind"] = row.at("hash") != hash;
  }
}

}  // namespace

boost::asio::awaitable<net::HttpReply> get_replicas(Call& call) {
  if (auto refused = call.refuse_unknown({})) co_return std::move(*refused);
  json::array rows;
  json::object own = row_of("", true);
  const StatusFacts status = call.operations.status();
  own["version"] = status.version;
  own["hash"] = status.config_hash;
  put_time(own, "loaded", status.config_loaded);
  put_time(own, "started", status.started);
  own["overrides"] = call.operations.overrides().size();
  if (call.peers.configured()) {
    for (Peers::Answer& answer : co_await call.peers.ask("GET", "/v1/status", {})) {
      if (answer.self) {
        own["address"] = answer.address;
        continue;
      }
      json::object row = row_of(answer.address, false);
      if (answer.status == 200)
        take_status(row, answer.body);
      else
        row["why"] = answer.why.empty() ? "status " + std::to_string(answer.status) : answer.why;
      rows.push_back(std::move(row));
    }
  }
  rows.insert(rows.begin(), std::move(own));
  mark_behind(rows);
  co_return json_reply({{"configured", call.peers.configured()}, {"replicas", std::move(rows)}});
}

std::variant<bool, net::HttpReply> wants_replicas(const Call& call) {
  if (!call.query.has("replicas")) return false;
  if (call.query.one("replicas") != "all") return problem(400, "`replicas` is all, or left out");
  if (!call.peers.configured())
    return problem(400, "`admin.replicas` names no replicas: there is this one alone");
  return true;
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
