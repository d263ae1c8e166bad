#include <boost/json/object.hpp>

#include "admin/dashboard/live.h"
#include "admin/dashboard/sessions.h"
#include "admin/json.h"
#include "admin/routes.h"
#include "core/visible.h"
#include "net/http/door_guard.h"

/// How a browser comes in: a one-time link, and the session that it is exchanged for.
namespace weir::admin {

namespace json = boost::json;

std::string_view Call::came_by() const {
  if (!guard.has_token()) return "local";
  return request.count("authorization") > 0 ? "token" : "session";
}

std::string Call::person() const {
  if (came_by() != "session") return {};
  const auto token = guard.token_mark();
  const auto session = token ? sessions.find(request, *token, at.now) : std::nullopt;
  return session ? session->person : std::string();
}

namespace {

constexpr std::size_t kPersonMax = 64;

json::value person_value(const std::string& person) {
  return person.empty() ? json::value() : json::value(person);
}

}  // namespace

net::HttpReply make_link(Call& call) {
  if (auto refused = call.refuse_unknown({"as"})) return std::move(*refused);
  if (call.came_by() == "session")
    return problem(403, "a session makes no links: that takes the token (weir ctl dashboard)");
  std::string person;
  if (call.query.has("as")) {
    person = utf8_text(call.query.one("as").value_or(""));
    const bool is_plain =
        !person.empty() && person.size() <= kPersonMax && escape_hidden(person) == person &&
        person.find('\n') == std::string::npos && person.front() != ' ' && person.back() != ' ';
    if (!is_plain)
      return problem(
          400, "`as` is the name of a person, of at most " + std::to_string(kPersonMax) + " bytes");
    if (!call.guard.has_token())
      return problem(409, "this door has no token: everybody comes in, and no name can be bound");
  }
  json::object body;
  body["path"] = "/";
  body["code"] = nullptr;
  body["seconds"] = nullptr;
  body["as"] = person_value(person);
  const auto token = call.guard.token_mark();
  if (token) {
    // Behind `#` it is in no log and in no Referer.
    const std::string code = call.sessions.new_code(*token, person, call.at.now);
    body["path"] = "/#login=" + code;
    body["code"] = code;
    call.entry.after = {{"as", person_value(person)}};
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
  if (!call.guard.has_token())
    return json_reply({{"by", "local"}, {"until", nullptr}, {"as", nullptr}});
  const auto token = call.guard.token_mark();
  if (!token)
    return problem(503, "the token file cannot be read or is empty: no login is possible");
  auto opened =
      call.sessions.exchange(text_of(*code), call.request.field("host"), *token, call.at.now);
  if (!opened) {
    return problem(403,
                   "the link is used up, or older than a minute: weir ctl dashboard gives another");
  }
  json::object out;
  out["by"] = "session";
  put_time(out, "until", call.at.now + Sessions::kSessionFor);
  out["as"] = person_value(opened->person);
  call.entry.who = "session" + (opened->person.empty() ? "" : " of " + opened->person);
  net::HttpReply reply = json_reply(out);
  reply.fields.emplace_back("Set-Cookie", std::move(opened->cookie));
  return reply;
}

net::HttpReply get_session(Call& call) {
  if (auto refused = call.refuse_unknown({})) return std::move(*refused);
  json::object out;
  out["by"] = call.came_by();
  const auto token = call.guard.token_mark();
  const auto session = token ? call.sessions.find(call.request, *token, call.at.now) : std::nullopt;
  out["until"] = nullptr;
  out["as"] = person_value(call.person());
  if (session && call.came_by() == "session") put_time(out, "until", session->until);
  return json_reply(out);
}

net::HttpReply end_session(Call& call) {
  if (auto refused = call.refuse_unknown({})) return std::move(*refused);
  net::HttpReply reply = json_reply({{"by", call.came_by()}, {"until", nullptr}, {"as", nullptr}});
  reply.fields.emplace_back("Set-Cookie", call.sessions.end(call.request));
  return reply;
}

net::HttpReply get_live(Call& call) {
  if (auto refused = call.refuse_unknown({})) return std::move(*refused);
  return call.live.subscribe();
}

}  // namespace weir::admin
