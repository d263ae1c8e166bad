#include <boost/json/array.hpp>
#include <cstdint>

#include "admin/routes.h"
#include "admin/views.h"
#include "policies/set/describe.h"

namespace weir::admin {
namespace {

namespace json = boost::json;

constexpr std::size_t kRowsMax = 500;

void put_text(json::object& row, std::string_view name, const std::string& text) {
  if (!text.empty()) row[name] = utf8_text(text);
}

}  // namespace

json::object verdict_view(const VerdictRow& from) {
  json::object row;
  row["kind"] = from.listed ? "listed" : "verdict";
  row["time"] = policies::time_text(from.time);
  row["effect"] = from.effect;
  row["shadow"] = from.shadow;
  if (from.listed) row["created"] = from.created;
  if (from.status != 0) row["status"] = from.status;
  put_text(row, "event", from.event);
  put_text(row, "client", from.client);
  put_text(row, "method", from.method);
  put_text(row, "path", from.path);
  put_text(row, "policy", from.policy);
  put_text(row, "list", from.list);
  if (from.listed) row["key"] = texts(from.key);
  put_text(row, "field", from.field);
  put_text(row, "why", from.why);
  put_text(row, "request_id", from.request_id);
  if (from.window.count() != 0) {
    row["value"] = number_value(from.value.finite());
    if (from.limit) row["limit"] = number_value(*from.limit);
    row["window_ms"] = from.window.count();
  }
  if (from.in_flight != 0) row["in_flight"] = from.in_flight;
  if (from.possible) row["possible"] = true;
  if (from.until != TimePoint{}) put_time(row, "until", from.until);
  return row;
}

net::HttpReply get_verdicts(Call& call) {
  if (auto refused = call.refuse_unknown({"after"})) return std::move(*refused);
  std::optional<std::uint64_t> after;
  if (call.query.has("after")) {
    std::size_t number = 0;
    if (!call.read_count("after", 0, SIZE_MAX, number))
      return problem(400, "`after` is what an answer before gave as `next`");
    after = number;
  }
  const VerdictPage page = call.operations.verdicts(after, kRowsMax);
  json::array rows;
  for (const VerdictRow& row : page.rows) rows.push_back(verdict_view(row));
  return json_reply({{"next", page.next}, {"missed", page.missed}, {"verdicts", std::move(rows)}});
}

}  // namespace weir::admin
