#include "admin/audit.h"

#include <boost/json/array.hpp>
#include <cstdint>

#include "admin/routes.h"
#include "admin/views.h"
#include "policies/set/describe.h"

namespace weir::admin {

namespace json = boost::json;

namespace {
constexpr std::size_t kEntriesShown = 100;
}  // namespace

json::object audit_view(const AuditEntry& entry) {
  json::object out;
  out["time"] = policies::time_text(entry.time);
  out["number"] = entry.number;
  out["action"] = entry.action;
  out["done"] = entry.done;
  out["who"] = utf8_text(entry.who);
  out["from"] = utf8_text(entry.from);
  if (!entry.target.empty()) out["target"] = utf8_text(entry.target);
  if (!entry.key.empty()) out["key"] = texts(entry.key);
  if (!entry.before.is_null()) out["before"] = entry.before;
  if (!entry.after.is_null()) out["after"] = entry.after;
  if (!entry.reason.empty()) out["reason"] = utf8_text(entry.reason);
  if (!entry.problem.empty()) out["problem"] = utf8_text(entry.problem);
  return out;
}

void set_author(AuditEntry& entry, const net::HttpRequest& request, std::string_view came_by,
                std::string_view person) {
  const net::HttpPeer& peer = request.peer;
  if (peer.uid) {
    entry.from = "unix socket";
    if (peer.pid) entry.from += ", pid " + std::to_string(*peer.pid);
  } else {
    entry.from = peer.address == Address{} ? "unknown" : peer.address.to_string();
  }
  if (came_by == "session") {
    entry.who = "session";  // of the dashboard
    if (!person.empty()) entry.who.append(" of ").append(person);
  } else if (!request.token.empty()) {
    entry.who = "token " + request.token;
  } else {
    entry.who = peer.uid ? "uid " + std::to_string(*peer.uid) : entry.from;
  }
}

net::HttpReply get_audit(Call& call) {
  if (auto refused = call.refuse_unknown({"limit"})) return std::move(*refused);
  std::size_t most = kEntriesShown;
  if (!call.read_count("limit", 1, SIZE_MAX, most))
    return problem(400, "`limit` is a number of entries, 1 or more");
  const AuditPage page = call.operations.audit_entries(most);
  json::array rows;
  for (const AuditEntry& entry : page.entries) rows.push_back(audit_view(entry));
  return json_reply({{"lost", page.lost}, {"entries", std::move(rows)}});
}

}  // namespace weir::admin
