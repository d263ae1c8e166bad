#include "admin/server.h"

#include <algorithm>
#include <boost/json/parse.hpp>

#include "admin/dashboard/live.h"
#include "admin/dashboard/page.h"
#include "admin/dashboard/sessions.h"
#include "admin/explainer.h"
#include "admin/json.h"
#include "admin/lists.h"
#include "admin/operator/change_limiter.h"
#include "admin/operator/peers.h"
#include "admin/operator/undo_log.h"
#include "admin/operator/undo_words.h"
#include "admin/routes.h"
#include "net/http/fields.h"

namespace weir::admin {
namespace {

using telemetry::Metric;

// A page of another site can make a browser send a request without a preflight (a form, an image).
// Such a request has neither a JSON content type nor a header field of its own.
std::optional<net::HttpReply> check_mutation(const Route& route, const net::HttpRequest& request) {
  if (route.method == "GET") {
    if (request.body.empty()) return std::nullopt;
    return problem(400, "a GET has no body here");
  }
  const bool json_type =
      request.count("content-type") == 1 &&
      net::same_ignoring_case(net::media_type(request.field("content-type")), "application/json");
  if (json_type) {
    if (route.body || request.body.empty()) return std::nullopt;
    auto empty = read_object(request.body, {});  // clients with a body for every POST send `{}`
    if (auto* refused = std::get_if<net::HttpReply>(&empty)) return std::move(*refused);
    return std::nullopt;
  }
  if (route.body) return problem(415, "the body must come as `Content-Type: application/json`");
  if (request.body.empty() && request.count("content-type") == 0 &&
      request.count("x-weir-admin") > 0)
    return std::nullopt;
  return problem(415,
                 "a change needs `Content-Type: application/json`, or without a body the field "
                 "`X-Weir-Admin: 1`");
}

constexpr std::size_t kReasonMax = 500;

/// A reason may come with every change: `?reason=`, or the field X-Weir-Reason.
void begin_entry(const Route& route, Call& call) {
  AuditEntry& entry = call.entry;
  entry.action = route.change;
  set_author(entry, call.request, call.came_by(), call.person());
  for (const std::string& name : call.names)
    entry.target += (entry.target.empty() ? "" : " ") + name;
  for (const std::string_view key : call.query.all("key")) entry.key.emplace_back(key);
  entry.reason =
      call.query.take("reason").value_or(std::string(call.request.field("x-weir-reason")));
  if (entry.reason.size() > kReasonMax) entry.reason.resize(kReasonMax);
}

void tell_of(Call& call, const net::HttpReply& reply) {
  AuditEntry& entry = call.entry;
  entry.done = reply.status / 100 == 2;
  if (!entry.done) {
    boost::system::error_code broken;
    const boost::json::value body = boost::json::parse(reply.text(), broken);
    const auto* const object = broken ? nullptr : body.if_object();
    const auto* const detail = object == nullptr ? nullptr : object->if_contains("detail");
    entry.problem = detail != nullptr && detail->is_string()
                        ? std::string(text_of(*detail))
                        : "status " + std::to_string(reply.status);
  }
  call.operations.audit(std::move(entry));
}

net::HttpServerLimits admin_limits(const AdminSettings& settings) {
  net::HttpServerLimits limits;
  limits.connections = settings.connections;
  limits.body_bytes = 64 << 10;
  return limits;
}

}  // namespace

AdminServer::AdminServer(boost::asio::io_context& io, const AdminSettings& settings,
                         Operations& operations, const Stores& stores)
    : operations_(operations),
      stores_(stores),
      explainer_(std::make_unique<Explainer>(stores_)),
      undo_(std::make_unique<UndoLog>()),
      tell_(settings.tell_others),
      changes_(std::make_unique<ChangeLimiter>()),
      sessions_(std::make_unique<Sessions>()),
      // A page that stays open is never displaced: most connections are left to short requests.
      live_(std::make_unique<Live>(
          io, operations_, stores_,
          std::clamp<std::size_t>(settings.connections / 4, 1, Live::kReadersMax))),
      peers_(std::make_unique<Peers>(io, settings.replicas, settings.token_file)),
      door_(io,
            {settings.listen, settings.token_file, admin_limits(settings), Metric::admin_requests,
             Metric::admin_refused, settings.hosts},
            *this, stores_.metrics.control()) {
  undo_->tell_to([this](const UndoChange& change, bool undone) { tell_others(change, undone); });
}

AdminServer::~AdminServer() = default;

/// The other replicas can take back the change of a list that they share: whole, or not at
/// all.
void AdminServer::tell_others(const UndoChange& change, bool undone) {
  const auto set = operations_.policies();
  const auto fleet = operations_.fleet();
  if (!tell_ || !fleet || set == nullptr || !shares_entries(*set, change.list)) return;
  if (undone) {
    tell_(undone_words(change.token));
    return;
  }
  const bool is_partial = std::find(unsent_.begin(), unsent_.end(), change.token) != unsent_.end();
  const std::vector<std::string> words =
      is_partial ? std::vector<std::string>() : undo_words(change, fleet->ahead);
  for (const std::string& piece : words) tell_(piece);
  if (!words.empty() || is_partial) return;
  tell_(undone_words(change.token));  // of pieces before this one
  unsent_.push_back(change.token);
  if (unsent_.size() > UndoLog::kChangesMax) unsent_.pop_front();
}

void AdminServer::hear(std::string_view text) {
  const auto fleet = operations_.fleet();
  if (!fleet) return;
  auto news = read_undo_words(text, fleet->ahead);
  if (!news) return;
  if (news->change) undo_->learn(std::move(*news->change), operations_.instant().now);
  if (!news->undone.empty()) undo_->drop(news->undone);
}

Result<void> AdminServer::start() {
  const auto started = door_.start();
  if (started) live_->start();
  return started;
}

boost::asio::awaitable<void> AdminServer::stop(milliseconds grace) {
  live_->stop();
  return door_.stop(grace);
}

// The page has nothing secret, and a code is a secret of its own.
bool AdminServer::lets_in(const net::HttpRequest& request) {
  if (is_page_file(request.path)) return request.method == "GET" || request.method == "HEAD";
  if (request.path == "/v1/session" && request.method == "POST") return true;
  const auto token = door_.guard().token_mark();
  return token && sessions_->find(request, *token, operations_.instant().now).has_value();
}

boost::asio::awaitable<net::HttpReply> AdminServer::answer(net::HttpRequest request) {
  if (request.method == "GET" || request.method == "HEAD") {
    if (auto file = page_file(request)) co_return std::move(*file);
  }
  // One of the addresses that this process knows replicas by is its own.
  if (request.field("x-weir-from") == peers_->id())
    co_return problem(421, "the request came from this process");
  const auto segments = net::split_path(request.path);
  Match match;
  if (segments) match = find_route(request.method, *segments);
  if (match.route == nullptr && match.allowed.empty()) {
    co_return problem(404, "there is no such path; docs/openapi.yaml has them all");
  }
  if (match.route == nullptr) {
    std::string allow;
    for (const std::string_view method : match.allowed) {
      allow.append(allow.empty() ? "" : ", ").append(method);
    }
    net::HttpReply reply = problem(405, "allowed here: " + allow);
    reply.fields.emplace_back("Allow", allow);
    co_return reply;
  }
  if (auto refusal = check_mutation(*match.route, request)) co_return std::move(*refusal);
  auto query = net::Query::parse(request.query);
  if (!query) co_return problem(400, "the query has a broken escape or too many parameters");
  auto set = operations_.policies();
  if (set == nullptr) {
    net::HttpReply reply = problem(503, "no policies are loaded yet");
    reply.fields.emplace_back("Retry-After", "1");
    co_return reply;
  }
  Call call{operations_,
            stores_,
            *explainer_,
            *undo_,
            *sessions_,
            *live_,
            *peers_,
            door_.guard(),
            request,
            std::move(set),
            operations_.instant(),
            std::move(match.names),
            std::move(*query)};
  const Route& route = *match.route;
  // A browser sends the origin of each change; the guard has checked that it is this server.
  if (route.method != "GET" && !route.is_public && call.came_by() == "session" &&
      request.count("origin") == 0)
    co_return problem(403, "a change by a session needs the `Origin` that browsers send");
  const bool changes = !route.change.empty();
  if (changes && !route.is_public && !changes_->take(call.at.now)) {
    net::HttpReply reply = problem(429, "too many changes at once; " + ChangeLimiter::words());
    reply.fields.emplace_back("Retry-After", "1");
    co_return reply;
  }
  if (changes) begin_entry(route, call);
  net::HttpReply reply;
  if (route.waiting != nullptr) {
    reply = co_await route.waiting(call);
  } else {
    reply = route.handler(call);
  }
  const bool is_told = route.is_public ? reply.status == 200 : !call.entry.action.empty();
  if (changes && is_told) tell_of(call, reply);
  co_return reply;
}

}  // namespace weir::admin
