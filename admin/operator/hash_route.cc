#include <boost/json/array.hpp>
#include <set>
#include <span>

#include "admin/json.h"
#include "admin/keys.h"
#include "admin/routes.h"
#include "core/address.h"
#include "core/key.h"
#include "telemetry/logged_key.h"

/// GET /v1/hash: the form of a key in the log, so that a line and a customer can be matched.
namespace weir::admin {
namespace {

namespace json = boost::json;

}  // namespace

net::HttpReply get_hash(Call& call) {
  if (auto refused = call.refuse_unknown({"key"})) return std::move(*refused);
  const auto key = call.query.all("key");
  if (key.empty()) return problem(400, "give the key as `key`, one for each part");
  json::array rows;
  std::set<std::string> seen;
  const auto add = [&](const char* of, std::span<const std::string_view> parts) {
    telemetry::LoggedKey logged;  // as the log cuts a key
    logged.set(parts);
    const std::string text(logged.view());
    if (!seen.insert(text).second) return;
    json::object row;
    row["of"] = of;
    row["text"] = utf8_text(text);
    row["hash"] = key_mark(call.stores.secret, text);
    rows.push_back(std::move(row));
  };
  std::vector<std::string> whole;
  for (const std::string_view part : key) {
    const auto address = Address::parse(part);
    whole.push_back(address ? address->to_string() : std::string(part));
  }
  const auto address = key.size() == 1 ? Address::parse(key.front()) : std::nullopt;
  add(address ? "the client, and a key of its address" : "a key", as_views(whole));
  if (address) {
    const std::vector<std::string> network{address->masked(32, 64).to_string()};
    add("a key of its network, as policies count IPv6", as_views(network));
  }
  return json_reply({{"hashes", std::move(rows)}});
}

}  // namespace weir::admin
