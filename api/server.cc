#include "api/server.h"

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <utility>

#include "api/batch.h"
#include "core/no_memory.h"
#include "net/deadline.h"
#include "net/http/fields.h"
#include "net/http/json_reply.h"

namespace weir::api {

namespace asio = boost::asio;
using telemetry::Metric;

namespace {

net::HttpServerLimits api_limits(const ApiSettings& settings) {
  net::HttpServerLimits limits;
  limits.connections = settings.connections;
  limits.body_bytes = ApiServer::kBodyBytes;
  limits.bodies_bytes = settings.bodies_bytes;
  return limits;
}

// Neither is a type that a page of another site can send without asking first.
std::optional<Batch::Form> form_of(const net::HttpRequest& request) {
  if (request.count("content-type") != 1) return std::nullopt;
  const std::string_view type = net::media_type(request.field("content-type"));
  if (net::same_ignoring_case(type, "application/json")) return Batch::Form::object;
  for (const std::string_view lines : {"application/x-ndjson", "application/ndjson",
                                       "application/jsonl", "application/x-jsonlines"}) {
    if (net::same_ignoring_case(type, lines)) return Batch::Form::lines;
  }
  return std::nullopt;
}

}  // namespace

struct ApiServer::Task final : Asker {
  Task(asio::io_context& io, milliseconds limit, Batch of)
      : batch(std::move(of)), timer(io, limit) {}
  void resume(TimePoint) override {
    const auto step = std::exchange(go_on, nullptr);
    step();
  }

  Batch batch;               // the worker's, until `done`
  asio::steady_timer timer;  // the control thread's, as `done`
  bool done = false;
  bool failed = false;                 // the worker's, until `done`: there was no memory
  std::function<void()> go_on;         // keeps the task while it is parked
  std::atomic<bool> abandoned{false};  // the caller no longer waits for the answer
};

ApiServer::ApiServer(asio::io_context& io, const ApiSettings& settings, Workers& workers,
                     telemetry::MetricCells& metrics)
    : io_(io),
      answer_limit_(settings.answer_limit),
      others_(settings.others),
      workers_(workers),
      door_(io,
            {settings.listen, settings.token_file, api_limits(settings), Metric::api_requests,
             Metric::api_refused, settings.hosts},
            *this, metrics) {}

void ApiServer::adopt(net::Fd fd, std::string sent) {
  asio::post(io_, [this, fd = std::move(fd), sent = std::move(sent)]() mutable {
    door_.adopt(std::move(fd), std::move(sent));
  });
}

asio::awaitable<net::HttpReply> ApiServer::answer(net::HttpRequest request) {
  const bool query = request.path == "/v1/query";
  if (others_ != nullptr && !request.path.starts_with("/v1/"))
    co_return co_await others_->answer(std::move(request));
  if (!query && request.path != "/v1/events") {
    co_return net::problem(404, "here are POST /v1/events and POST /v1/query alone");
  }
  if (request.method != "POST") {
    net::HttpReply reply = net::problem(405, "allowed here: POST");
    reply.fields.emplace_back("Allow", "POST");
    co_return reply;
  }
  if (!request.query.empty()) co_return net::problem(400, "there are no parameters here");
  const auto form = form_of(request);
  if (!form) {
    co_return net::problem(415,
                           "send one event as `Content-Type: application/json`, or one a line as "
                           "`Content-Type: application/x-ndjson`");
  }
  const std::string_view encoding = request.field("content-encoding");
  if (request.count("content-encoding") > 0 && !net::same_ignoring_case(encoding, "identity")) {
    net::HttpReply reply = net::problem(415, "the body must come without Content-Encoding");
    reply.fields.emplace_back("Accept-Encoding", "identity");
    co_return reply;
  }
  const bool lines = *form == Batch::Form::lines;
  const std::shared_ptr<Task> task = begin(request, lines, query ? Ask::query : Ask::events);
  if (task == nullptr) {
    co_return net::problem(413, "more than " + std::to_string(Batch::kEventsMax) + " lines");
  }
  if (!task->done) co_await task->timer.async_wait(net::kToken);
  if (!task->done) {
    task->abandoned.store(true, std::memory_order_relaxed);
    net::HttpReply reply = net::problem(503, "no worker has answered in time");
    reply.fields.emplace_back("Retry-After", "1");
    co_return reply;
  }
  if (task->failed) co_return net::problem(503, "there is no memory for this");
  const Batch::Problem& wrong = task->batch.problem();
  if (wrong.line != 0) {
    co_return net::problem(400, wrong.what, {{"line", wrong.line}, {"column", wrong.column}});
  }
  net::HttpReply reply;
  reply.content_type = lines ? "application/x-ndjson" : "application/json";
  reply.body = task->batch.answer();
  co_return reply;
}

std::shared_ptr<ApiServer::Task> ApiServer::begin(net::HttpRequest& request, bool lines, Ask ask) {
  Batch batch(std::move(request.body), lines ? Batch::Form::lines : Batch::Form::object, ask);
  if (batch.too_many()) return nullptr;
  auto task = std::make_shared<Task>(io_, answer_limit_, std::move(batch));
  step(next_worker_++ % workers_.count(), task);
  return task;
}

// One slice on the worker's thread; the rest comes after all other tasks that wait there.
void ApiServer::step(std::size_t worker, std::shared_ptr<Task> task) {
  workers_.post(worker, [this, worker, task](LineJudge& judge, TimePoint now) {
    if (task->abandoned.load(std::memory_order_relaxed)) return judge.give_up(*task, now);
    bool goes_on = false;
    const bool survived = survives_no_memory([&] { goes_on = work(worker, task, judge, now); });
    if (goes_on) return;  // perhaps on another worker already: the task is no longer ours
    task->failed = !survived;
    if (task->failed) judge.give_up(*task, now);
    leave(task);
  });
}

// Back to the control thread. Where there is no memory for that, the time for an answer ends it.
void ApiServer::leave(const std::shared_ptr<Task>& task) {
  asio::post(io_, [task] {
    task->done = true;
    task->timer.cancel();
  });
}

// False: nothing is left.
bool ApiServer::work(std::size_t worker, const std::shared_ptr<Task>& task, LineJudge& judge,
                     TimePoint now) {
  switch (task->batch.work(judge, now, *task)) {
    case Batch::Left::some:
      step(worker, task);
      return true;
    case Batch::Left::moves:
      step(*task->goes_to(), task);
      return true;
    case Batch::Left::waits:
      task->go_on = [this, worker, task, &judge, now] {
        if (survives_no_memory([&] { step(worker, task); })) return;
        task->failed = true;
        judge.give_up(*task, now);
        leave(task);
      };
      return true;
    case Batch::Left::nothing:
      break;
  }
  return false;
}

}  // namespace weir::api
