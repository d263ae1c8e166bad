#include "net/http/guarded_door.h"

#include "net/http/json_reply.h"

namespace weir::net {
namespace {

void mark(HttpReply& reply) {
  reply.fields.emplace_back("Cache-Control", "no-store");
  reply.fields.emplace_back("X-Content-Type-Options", "nosniff");
}

}  // namespace

GuardedDoor::GuardedDoor(boost::asio::io_context& io, GuardedDoorSettings settings, DoorRoom& room,
                         telemetry::MetricCells& metrics)
    : settings_(std::move(settings)),
      room_(room),
      metrics_(metrics),
      server_(io, *this, settings_.limits) {}

Result<void> GuardedDoor::read_token() {
  if (settings_.token_file) {
    token_.emplace(*settings_.token_file);
    const auto checked = token_->check({});
    if (!checked && checked.error() == Error::unavailable) return checked;
  } else if (DoorGuard::needs_token(settings_.listen)) {
    return make_error_code(Error::refused);
  }
  return {};
}

Result<void> GuardedDoor::start() {
  if (const auto read = read_token(); !read) return read;
  const auto listening = server_.listen(settings_.listen);
  if (listening) {
    guard_.emplace(server_.address(), token_ ? &*token_ : nullptr, settings_.hosts);
  }
  return listening;
}

Result<void> GuardedDoor::start_behind(const SocketAddress& bound) {
  if (const auto read = read_token(); !read) return read;
  server_.serve_adopted(bound);
  guard_.emplace(bound, token_ ? &*token_ : nullptr, settings_.hosts);
  return {};
}

std::optional<HttpReply> GuardedDoor::screen(const HttpRequest& request) {
  const auto refusal = guard_->check(request, room_.lets_in(request));
  if (!refusal) return std::nullopt;
  metrics_.add(settings_.requests);
  metrics_.add(settings_.refused);
  HttpReply reply = problem(refusal->status, refusal->detail);
  if (refusal->status == 401) reply.fields.emplace_back("WWW-Authenticate", "Bearer");
  mark(reply);
  return reply;
}

boost::asio::awaitable<HttpReply> GuardedDoor::handle(HttpRequest request) {
  metrics_.add(settings_.requests);
  if (token_) request.token = token_->path().substr(token_->path().rfind('/') + 1);
  HttpReply reply = co_await room_.answer(std::move(request));
  mark(reply);
  co_return reply;
}

HttpReply GuardedDoor::refuse(int status, std::string_view detail) {
  HttpReply reply = problem(status, detail);
  reply.fields.emplace_back("Cache-Control", "no-store");
  return reply;
}

}  // namespace weir::net
