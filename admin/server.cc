#include "admin/server.h"

#include "admin/explainer.h"
#include "admin/json.h"
#include "admin/operator/undo_log.h"
#include "admin/routes.h"
#include "net/http/fields.h"

namespace weir::admin {
namespace {

using telemetry::Metric;

// What a page of another site can make a browser send without asking first (a form, an image) has
// neither a JSON content type nor a field of its own.
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

net::HttpServerLimits admin_limits() {
  net::HttpServerLimits limits;
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
      door_(io,
            {settings.listen, settings.token_file, admin_limits(), Metric::admin_requests,
             Metric::admin_refused, settings.hosts},
            *this, stores_.metrics.control()) {}

AdminServer::~AdminServer() = default;

boost::asio::awaitable<net::HttpReply> AdminServer::answer(net::HttpRequest request) {
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
  Call call{operations_,      stores_,        *explainer_,           *undo_,
            request,          std::move(set), operations_.instant(), std::move(match.names),
            std::move(*query)};
  if (match.route->waiting != nullptr) co_return co_await match.route->waiting(call);
  co_return match.route->handler(call);
}

}  // namespace weir::admin
