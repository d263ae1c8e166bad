#include "admin/server.h"

#include "admin/explainer.h"
#include "admin/json.h"
#include "admin/routes.h"
#include "net/http_fields.h"

namespace weir::admin {
namespace {

using telemetry::Metric;

bool is_json(std::string_view content_type) {
  const std::string_view type = content_type.substr(0, content_type.find(';'));
  const std::size_t end = type.find_last_not_of(" \t");
  return end != std::string_view::npos &&
         net::same_ignoring_case(type.substr(0, end + 1), "application/json");
}

// What a page of another site can make a browser send without asking first (a form, an image) has
// neither a JSON content type nor a field of its own.
std::optional<net::HttpReply> check_mutation(const Route& route, const net::HttpRequest& request) {
  if (route.method == "GET") {
    if (request.body.empty()) return std::nullopt;
    return problem(400, "a GET has no body here");
  }
  const bool json_type =
      request.count("content-type") == 1 && is_json(request.field("content-type"));
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
    : settings_(settings),
      operations_(operations),
      stores_(stores),
      explainer_(std::make_unique<Explainer>(stores_)),
      server_(io, *this, admin_limits()) {}

AdminServer::~AdminServer() = default;

Result<void> AdminServer::start() {
  if (settings_.token_file) {
    token_.emplace(*settings_.token_file);
    const auto checked = token_->check({});
    if (!checked && checked.error() == Error::unavailable) return checked;
  } else if (net::DoorGuard::needs_token(settings_.listen)) {
    return make_error_code(Error::refused);
  }
  const auto listening = server_.listen(settings_.listen);
  if (listening) guard_.emplace(server_.address(), token_ ? &*token_ : nullptr);
  return listening;
}

boost::asio::awaitable<net::HttpReply> AdminServer::handle(net::HttpRequest request) {
  stores_.metrics.control().add(Metric::admin_requests);
  net::HttpReply reply;
  if (const auto refusal = guard_->check(request)) {
    stores_.metrics.control().add(Metric::admin_refused);
    reply = problem(refusal->status, refusal->detail);
    if (refusal->status == 401) reply.fields.emplace_back("WWW-Authenticate", "Bearer");
  } else {
    reply = co_await dispatch(request);
  }
  reply.fields.emplace_back("Cache-Control", "no-store");
  reply.fields.emplace_back("X-Content-Type-Options", "nosniff");
  co_return reply;
}

boost::asio::awaitable<net::HttpReply> AdminServer::dispatch(const net::HttpRequest& request) {
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
            request,
            std::move(set),
            operations_.instant(),
            std::move(match.names),
            std::move(*query)};
  if (match.route->waiting != nullptr) co_return co_await match.route->waiting(call);
  co_return match.route->handler(call);
}

net::HttpReply AdminServer::refuse(int status, std::string_view detail) {
  net::HttpReply reply = problem(status, detail);
  reply.fields.emplace_back("Cache-Control", "no-store");
  return reply;
}

}  // namespace weir::admin
