#include <boost/json/object.hpp>

#include "admin/dashboard/live.h"
#include "admin/dashboard/sessions.h"
#include "admin/json.h"
#include "admin/routes.h"
#include "net/http/door_guard.h"

/// How a browser comes in: a one-time link, and the session that it is exchanged for.
namespace weir::admin {

namespace json = boost::json;

std::string_view Call::came_by() const {
  if (!guard.has_token()) return "local";
  return request.count("authorization") > 0 ? "token" : "session";
}

net::HttpReply make_link(Call& call) {
  if (auto refused = call.refuse_unknown({})) return std::move(*refused);
  if (call.came_by() == "session")
    return problem(403, "a session makes no links: that takes the token (weir ctl dashboard)");
  json::object body;
  body["path"] = "/";
  body["code"] = nullptr;
  body["seconds"] = nullptr;
  const auto token = call.guard.token_mark();
  if (token) {
    // Behind `#` it is in no log and in no Referer.
    const std::string code = call.sessions.new_code(*token, call.at.now);
    body["path"] = "/#login=" + code;
    body["code"] = code;
    body["seconds"] = Sessions::kLinkFor.count() / 1000;
  }
  return json_reply(body, 201);
}

net::HttpReply open_session(Call& call) {
  if (auto refused = call.refuse_unknown({})) return std::move(*refused);
  auto body = read_object(call.request.body, {"code"});
  if (auto* refused = std::get_if<net::HttpReply>(&body)) return std::move(*refused);
  const json::value* const code = std::get<json::object>(body).if_contains("code");
  if (code == nullptr || !code->is_string()) return problem(400, "`code` is what the link has");
  if (!call.guard.has_token()) return json_reply({{"by", "local"}, {"until", nullptr}});
  const auto token = call.guard.token_mark();
  if (!token)
    return problem(503, "the token file cannot be read or is empty: nobody can be let in");
  auto cookie =
      call.sessions.exchange(text_of(*code), call.request.field("host"), *token, call.at.now);
  if (!cookie) {
    return problem(403,
                   "the link is used up, or older than a minute: weir ctl dashboard gives another");
  }
  json::object out;
  out["by"] = "session";
  put_time(out, "until", call.at.now + Sessions::kSessionFor);
  net::HttpReply reply = json_reply(out);
  reply.fields.emplace_back("Set-Cookie", std::move(*cookie));
  return reply;
}

net::HttpReply get_session(Call& call) {
  if (auto refused = call.refuse_unknown({})) return std::move(*refused);
  json::object out;
  out["by"] = call.came_by();
  const auto token = call.guard.token_mark();
  const auto until = token ? call.sessions.find(call.request, *token, call.at.now) : std::nullopt;
  out["until"] = nullptr;
  if (until && call.came_by() == "session") put_time(out, "until", *until);
  return json_reply(out);
}

net::HttpReply end_session(Call& call) {
  if (auto refused = call.refuse_unknown({})) return std::move(*refused);
  net::HttpReply reply = json_reply({{"by", call.came_by()}, {"until", nullptr}});
  reply.fields.emplace_back("Set-Cookie", call.sessions.end(call.request));
  return reply;
}

net::HttpReply get_live(Call& call) {
  if (auto refused = call.refuse_unknown({})) return std::move(*refused);
  return call.live.subscribe();
}

}  // namespace weir::admin
