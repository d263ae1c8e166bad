#include <boost/json/array.hpp>

#include "admin/json.h"
#include "admin/metrics_page.h"
#include "admin/routes.h"

/// The data for a support case: the configuration in force with its secrets masked, its history,
/// the metrics.
namespace weir::admin {

namespace json = boost::json;

net::HttpReply get_config(Call& call) {
  if (auto refused = call.refuse_unknown({})) return std::move(*refused);
  json::array files;
  for (const ConfigText& text : call.operations.configuration())
    files.push_back(json::object{{"name", utf8_text(text.name)}, {"text", utf8_text(text.text)}});
  return json_reply({{"hash", call.set->source_hash}, {"files", std::move(files)}});
}

net::HttpReply get_reloads(Call& call) {
  if (auto refused = call.refuse_unknown({})) return std::move(*refused);
  json::array rows;
  for (const LoadRecord& record : call.operations.loads()) {
    json::array diffs;
    for (const ConfigText& diff : record.diffs)
      diffs.push_back(json::object{{"file", utf8_text(diff.name)}, {"diff", utf8_text(diff.text)}});
    json::object row;
    put_time(row, "at", record.at);
    row["cause"] = record.cause;
    row["ok"] = record.ok;
    row["hash"] = record.hash;
    row["problem_count"] = record.problem_count;
    row["first_problem"] = utf8_text(record.first_problem);
    row["diffs"] = std::move(diffs);
    rows.push_back(std::move(row));
  }
  return json_reply({{"reloads", std::move(rows)}});
}

net::HttpReply get_metrics(Call& call) {
  if (auto refused = call.refuse_unknown({})) return std::move(*refused);
  net::HttpReply reply;
  reply.content_type = "text/plain; version=0.0.4; charset=utf-8";
  reply.body = metrics_page(call.operations, call.stores);
  return reply;
}

}  // namespace weir::admin
