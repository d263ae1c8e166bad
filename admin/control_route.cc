#include "admin/routes.h"
#include "admin/views.h"

namespace weir::admin {

namespace json = boost::json;

boost::asio::awaitable<net::HttpReply> reload_config(Call& call) {
  if (auto refused = call.refuse_unknown({})) co_return std::move(*refused);
  call.entry.before = {{"config", call.operations.status().config_hash}};
  const LoadReport report = co_await call.operations.reload();
  call.entry.after = {{"config", call.operations.status().config_hash}};
  json::object body = load_view(report);
  if (report.ok) co_return json_reply(body);
  co_return problem(422, "the configuration has errors; the one before it stays in force", body);
}

net::HttpReply begin_drain(Call& call) {
  if (auto refused = call.refuse_unknown({})) return std::move(*refused);
  auto body = read_object(call.request.body, {"begin"});
  if (auto* refused = std::get_if<net::HttpReply>(&body)) return std::move(*refused);
  const json::value* const begin = std::get<json::object>(body).if_contains("begin");
  if (begin == nullptr || !begin->is_bool()) return problem(400, "`begin` is true or false");
  call.entry.action += begin->get_bool() ? ".begin" : ".end";
  call.entry.before = {{"draining", call.operations.status().draining}};
  const bool draining = call.operations.drain(begin->get_bool());
  call.entry.after = {{"draining", draining}};
  return json_reply({{"draining", draining}});
}

}  // namespace weir::admin
