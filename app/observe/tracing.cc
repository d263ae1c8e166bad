#include "app/observe/tracing.h"

#include "app/support/http_client.h"
#include "app/support/thread.h"
#include "app/support/webhook.h"
#include "core/no_memory.h"

namespace weir::app {
namespace {

using telemetry::Metric;

constexpr std::string_view kDefaultPath = "/v1/traces";

// The statuses that the specification of OTLP calls retryable.
bool is_worth_trying_again(int status) noexcept {
  return status == 429 || status == 502 || status == 503 || status == 504;
}

}  // namespace

Tracing::Tracing(const std::string& endpoint, SpanSource source, Log& log,
                 telemetry::MetricCells& cells)
    : source_(std::move(source)), log_(log), cells_(cells) {
  const auto url = Url::parse(endpoint);  // the configuration has checked it
  if (!url) return;
  host_ = url->host;
  port_ = url->port_number();
  authority_ = url->authority();
  path_ = url->target == "/" ? kDefaultPath : std::string_view(url->target);
}

void Tracing::start() {
  thread_ = start_thread("weir/trace", [this] { run(); });
}

void Tracing::run() {
  std::unique_lock hold(mutex_);
  while (!wake_.wait_for(hold, kEvery, [this] { return stopping_; })) {
    hold.unlock();
    static_cast<void>(survives_no_memory([this] { export_all(); }));  // later spans are sent
    hold.lock();
  }
}

void Tracing::stop() {
  if (!thread_.joinable()) return;
  {
    const std::scoped_lock hold(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  thread_.join();
  export_all();
}

void Tracing::export_all() {
  for (;;) {
    std::string body = spans_head(source_);
    std::size_t count = 0;
    for (telemetry::RequestSink* const sink : sinks_) {
      while (count < kBatch) {
        const telemetry::RequestFacts* const facts = sink->spans()->front();
        if (facts == nullptr) break;
        append_spans(body, *facts, count == 0);
        sink->spans()->drop();
        ++count;
      }
    }
    if (count == 0) return;
    body += spans_tail();
    std::string why;
    Sent sent = send(body, why);
    for (int tries = 1; sent == Sent::later && tries < kTries; ++tries) {
      std::unique_lock hold(mutex_);
      if (wake_.wait_for(hold, tries * kEvery, [this] { return stopping_; })) break;
      hold.unlock();
      sent = send(body, why);
    }
    const auto requests = static_cast<std::int64_t>(count);
    if (sent == Sent::taken) {
      cells_.add(Metric::spans_exported, requests);
    } else {
      cells_.add(Metric::spans_failed, requests);
      log_.write_seldom(Level::warn,
                        LogLine("the collector did not accept spans; they are lost")
                            .add("endpoint", authority_ + path_)
                            .add("why", why)
                            .add("requests", requests),
                        "tracing", milliseconds{60'000});
      return;  // at the end of the process too: one failure is enough to wait for
    }
    if (count < kBatch) return;
  }
}

Tracing::Sent Tracing::send(const std::string& body, std::string& why) {
  const auto address = resolve_within(host_, port_, kExport, &why);
  if (!address) {
    if (why.empty()) why = address.error().message();
    return Sent::later;
  }
  const auto answer = http_request(*address, "POST", path_, authority_,
                                   "Content-Type: application/json\r\n", body, kExport);
  if (!answer) {
    why = answer.error().message();
    return Sent::later;
  }
  if (answer->status / 100 == 2) return Sent::taken;
  why = "status " + std::to_string(answer->status);
  return is_worth_trying_again(answer->status) ? Sent::later : Sent::refused;
}

}  // namespace weir::app
