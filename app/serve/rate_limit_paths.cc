#include "app/serve/rate_limit_paths.h"

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <optional>
#include <utility>

#include "core/chars/percent.h"
#include "net/deadline.h"
#include "net/http/json_reply.h"
#include "net/http/uri.h"

namespace weir::app {

namespace asio = boost::asio;

namespace {

// A worker that takes longer is stuck.
constexpr milliseconds kAnswerWithin{10'000};

net::HttpReply only(const char* method) {
  net::HttpReply reply = net::problem(405, std::string("allowed here: ") + method);
  reply.fields.emplace_back("Allow", method);
  return reply;
}

}  // namespace

asio::awaitable<net::HttpReply> RateLimitPaths::answer(net::HttpRequest request) {
  const Facts facts = facts_();
  const bool json = facts.settings.json || !facts.settings.files.empty();
  if (json && request.path == "/healthcheck") {
    if (request.method != "GET" && request.method != "HEAD") co_return only("GET");
    net::HttpReply reply;
    reply.content_type = "text/plain; charset=utf-8";
    reply.status = facts.healthy ? 200 : 500;
    reply.body = facts.healthy ? "OK" : "NOT_SERVING";
    co_return reply;
  }
  if (json && request.path == "/json") {
    if (request.method != "POST") co_return only("POST");
    // Any type of content, as there: curl says that it sends a form.
    // A name of its own: GCC 12 destroys a temporary of an awaited expression twice.
    Ask what = [body = std::move(request.body)](const RateLimitHandlers& handlers, TimePoint now,
                                                auto answered) {
      handlers.json.json(body, now, std::move(answered));
    };
    co_return co_await ask(std::move(what));
  }
  if (facts.settings.limitador) co_return co_await limitador(std::move(request));
  co_return net::problem(404, "nothing is here: see ratelimit, api.ext_authz and api.forward_auth");
}

asio::awaitable<net::HttpReply> RateLimitPaths::limitador(net::HttpRequest request) {
  using Kind = authz::LimitadorHttp::Ask;
  static constexpr std::pair<std::string_view, Kind> kCalls[] = {
      {"/check", Kind::check},
      {"/report", Kind::report},
      {"/check_and_report", Kind::check_and_report}};
  for (const auto& [path, kind] : kCalls) {
    if (request.path != path) continue;
    if (request.method != "POST") co_return only("POST");
    Ask what = [body = std::move(request.body), kind](const RateLimitHandlers& handlers,
                                                      TimePoint now, auto answered) {
      handlers.limitador.ask(kind, body, now, std::move(answered));
    };
    co_return co_await ask(std::move(what));
  }
  if (request.path == "/status" || request.path == "/metrics") {
    if (request.method != "GET" && request.method != "HEAD") co_return only("GET");
    if (request.path == "/status") co_return authz::limitador_status(facts_().limitador);
    net::HttpReply reply;
    reply.content_type = "text/plain; version=0.0.4; charset=utf-8";
    rules_.write_limitador(reply.body);
    co_return reply;
  }
  constexpr std::string_view kLimits = "/limits/", kCounters = "/counters/";
  const bool limits = request.path.starts_with(kLimits);
  std::string_view coded;
  if (limits || request.path.starts_with(kCounters))
    coded = std::string_view(request.path).substr((limits ? kLimits : kCounters).size());
  // A slash of a namespace is written %2F.
  if (coded.empty() || coded.find('/') != std::string_view::npos) {
    co_return net::problem(404,
                           "here are /check, /report, /check_and_report, /limits/NAMESPACE, "
                           "/counters/NAMESPACE, /status and /metrics");
  }
  if (request.method != "GET" && request.method != "HEAD") co_return only("GET");
  const auto space = percent_decode(coded, false);
  if (!space) co_return net::problem(400, "the namespace cannot be read");
  if (limits) co_return authz::limitador_limits(facts_().settings, *space);
  Ask what = [space = *space](const RateLimitHandlers& handlers, TimePoint now, auto answered) {
    handlers.limitador.counters(space, now, std::move(answered));
  };
  co_return co_await ask(std::move(what));
}

asio::awaitable<net::HttpReply> RateLimitPaths::ask(Ask what) {
  struct Question {
    explicit Question(asio::io_context& io) : timer(io, kAnswerWithin) {}
    asio::steady_timer timer;  // the control thread's, as the reply
    std::optional<net::HttpReply> reply;
  };
  const auto question = std::make_shared<Question>(io_);
  post_([this, what = std::move(what), question](const RateLimitHandlers& handlers, TimePoint now) {
    what(handlers, now, [this, question](net::HttpReply reply) {
      asio::post(io_, [question, reply = std::move(reply)]() mutable {
        question->reply = std::move(reply);
        question->timer.cancel();
      });
    });
  });
  co_await question->timer.async_wait(net::kToken);
  if (question->reply) co_return std::move(*question->reply);
  net::HttpReply reply = net::problem(503, "no worker has answered in time");
  reply.fields.emplace_back("Retry-After", "1");
  co_return reply;
}

}  // namespace weir::app
