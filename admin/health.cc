#include "admin/health.h"

#include <algorithm>

#include "admin/metrics_page.h"
#include "admin/worker_probe.h"
#include "net/http/uri.h"

namespace weir::admin {
namespace {

constexpr std::string_view kText = "text/plain; charset=utf-8";

net::HttpServerLimits health_limits(const HealthSettings& settings) {
  net::HttpServerLimits limits;
  limits.connections = settings.connections;
  limits.head_bytes = 8 << 10;
  limits.body_bytes = 0;
  // Several Prometheus servers and a person; the rest is for probes.
  limits.bulk = std::min<std::size_t>(8, settings.connections / 2);
  limits.head = milliseconds{5'000};
  return limits;
}

/// One fact a line, as the API server of Kubernetes prints them: `[+]workers ok`.
class Checks {
 public:
  void add(bool good, std::string_view name, std::string_view words) {
    all_good_ = all_good_ && good;
    lines_ += good ? "[+]" : "[-]";
    lines_.append(name).append(" ").append(words).append("\n");
  }
  net::HttpReply reply(std::string_view what, bool verbose) const {
    net::HttpReply reply;
    reply.status = all_good_ ? 200 : 503;
    reply.content_type = kText;
    if (verbose) {
      reply.body = lines_;
      reply.body.append(what).append(all_good_ ? " check passed\n" : " check failed\n");
    } else {
      reply.body = all_good_ ? "ok\n" : lines_;
    }
    reply.fields.emplace_back("Cache-Control", "no-store");
    return reply;
  }

 private:
  bool all_good_ = true;
  std::string lines_;
};

}  // namespace

HealthServer::HealthServer(boost::asio::io_context& io, const HealthSettings& settings,
                           Operations& operations, WorkerProbe& worker_probe, const Stores& stores)
    : settings_(settings),
      operations_(operations),
      worker_probe_(worker_probe),
      stores_(stores),
      server_(io, *this, health_limits(settings)) {}

Result<void> HealthServer::start() { return server_.listen(settings_.listen); }

boost::asio::awaitable<net::HttpReply> HealthServer::handle(net::HttpRequest request) {
  const bool known = request.path == "/livez" || request.path == "/readyz" ||
                     request.path == "/startupz" || request.path == "/metrics";
  if (!known) co_return refuse(404, "there are /livez, /readyz, /startupz and /metrics");
  if (request.method != "GET" && request.method != "HEAD") {
    net::HttpReply reply = refuse(405, "nothing changes here: GET and HEAD only");
    reply.fields.emplace_back("Allow", "GET, HEAD");
    co_return reply;
  }
  const auto query = net::Query::parse(request.query);
  const bool verbose = query && query->has("verbose");
  if (request.path == "/livez") co_return co_await livez(verbose);
  if (request.path == "/readyz") co_return readyz(verbose);
  if (request.path == "/startupz") co_return startupz(verbose);
  net::HttpReply reply;
  reply.content_type = "text/plain; version=0.0.4; charset=utf-8";
  reply.page = page();
  co_return reply;
}

bool HealthServer::is_bulk(const net::HttpRequest& request) const noexcept {
  return request.path == "/metrics";
}

// Connections that are being written hold on to the page they were given.
const std::shared_ptr<const std::string>& HealthServer::page() {
  const TimePoint now = operations_.instant().now;
  if (page_ == nullptr || now - page_made_ >= kPageAge) {
    page_ = std::make_shared<const std::string>(metrics_page(operations_, stores_));
    page_made_ = now;
  }
  return page_;
}

net::HttpReply HealthServer::refuse(int status, std::string_view detail) {
  net::HttpReply reply;
  reply.status = status;
  reply.content_type = kText;
  reply.body.append(detail).append("\n");
  return reply;
}

// Tests the workers' loops and nothing else: a restart of weir mends neither Redis nor the app.
boost::asio::awaitable<net::HttpReply> HealthServer::livez(bool verbose) {
  const std::vector<std::size_t> silent =
      co_await silent_workers(worker_probe_, settings_.pulse_limit);
  Checks checks;
  for (std::size_t i = 0; i < worker_probe_.workers(); ++i) {
    bool turns = true;
    for (const std::size_t worker : silent) turns = turns && worker != i;
    checks.add(
        turns, "worker " + std::to_string(i),
        turns ? "ok" : "gave no sign for " + std::to_string(settings_.pulse_limit.count()) + " ms");
  }
  co_return checks.reply("livez", verbose);
}

net::HttpReply HealthServer::readyz(bool verbose) const {
  const StatusFacts status = operations_.status();
  Checks checks;
  checks.add(status.loaded, "policies",
             status.loaded ? "ok, " + status.config_hash : "not loaded yet");
  checks.add(!status.draining, "drain", status.draining ? "is going on" : "ok, not draining");
  if (!status.upstream.empty()) checks.add(false, "upstream", status.upstream);
  // Degraded is ready: a broken file leaves the running set in force, and readers must see it.
  if (!status.last_load.ok && status.loaded) {
    checks.add(true, "reload", "failed; the policies before it are in force");
  }
  if (status.redis) {
    const bool up = status.redis->workers_up == status.workers;
    checks.add(true, "redis", up ? "ok" : "unavailable; shared policies follow their on_error");
  }
  if (status.state) {
    checks.add(true, "state",
               status.state->empty()
                   ? "ok"
                   : "is not written, and lost with the process: " + *status.state);
  }
  for (const SourceFacts& source : status.sources) {
    if (source.problem.empty()) continue;
    checks.add(true, source.kind + " " + source.name,
               (source.newest                  ? "has a problem: "
                : source.loaded == TimePoint{} ? "is not there: "
                                               : "is not the newest: ") +
                   source.problem);
  }
  return checks.reply("readyz", verbose);
}

net::HttpReply HealthServer::startupz(bool verbose) const {
  const StatusFacts status = operations_.status();
  Checks checks;
  checks.add(status.loaded, "policies", status.loaded ? "ok" : "not loaded yet");
  return checks.reply("startupz", verbose);
}

}  // namespace weir::admin
