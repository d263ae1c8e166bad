#include "app/tools/replay/replay_store.h"

#include <future>
#include <utility>

#include "app/remote/left_alone.h"
#include "app/support/shared_store.h"

namespace weir::app {
namespace {

constexpr milliseconds kConnect{3'000};
constexpr milliseconds kAnswer{10'000};

struct Once final : store::Batch {
  void on_replies() override { done.set_value(); }
  std::promise<void> done;
};

/// Runs it on the worker and waits for what it gives.
template <class F>
auto on(net::Worker& worker, F what) {
  std::promise<decltype(what())> told;
  auto result = told.get_future();
  worker.post([&] { told.set_value(what()); });
  return result.get();
}

}  // namespace

ReplayStore::Loop::Loop(store::Settings settings, std::uint64_t origin)
    : store(pool[0], std::move(settings), origin) {}

ReplayStore::ReplayStore(store::Settings settings) : asks_names_(may_ask_names(settings)) {
  loop_ = std::make_unique<Loop>(std::move(settings), random_origin());
  sharing_.origin = random_origin();
  sharing_.prefix = std::to_string(sharing_.origin) + ".";
  sharing_.reservation = sharing_.flight = std::chrono::hours{24 * 31};  // of the rows' time
}

ReplayStore::~ReplayStore() {
  on(loop_->pool[0], [this] {
    loop_->store.stop();
    return true;
  });
  loop_->pool.stop();
  if (asks_names_) leave_alone(std::move(loop_));  // a name may have no answer yet
}

std::unique_ptr<ReplayStore> ReplayStore::connect(const std::string& url, std::string& problem) {
  const auto parsed = parse_redis_url(url, &problem);
  if (!parsed) return nullptr;
  if (parsed->tls) {
    problem = "replay does not use rediss://: name a server on this machine";
    return nullptr;
  }
  store::Settings settings;
  settings.endpoints = {parsed->endpoint};
  settings.credentials = {parsed->user, parsed->password};
  settings.database = parsed->database;
  settings.timeout = settings.budget = kAnswer;
  std::unique_ptr<ReplayStore> out(new ReplayStore(std::move(settings)));
  out->loop_->pool.start();
  net::Worker& worker = out->loop_->pool[0];
  on(worker, [&] {
    out->loop_->store.start();
    return true;
  });
  // An operation that changes nothing: a patient one waits for the connection.
  limiter::CounterSpec spec;
  const limiter::SharedCounter counter({}, spec);
  policies::StoreOps probe;
  auto& item = probe.add(limiter::SharedVerb::read, "probe", {}, {});
  policies::StoreOps::add_part(item, {&counter, {}, 0});
  Once batch;
  batch.patient = true;
  batch.ops = probe.ops();
  batch.replies = probe.replies();
  auto done = batch.done.get_future();
  const bool there =
      on(worker, [&] { return out->loop_->store.submit(batch, worker.now() + kConnect); });
  if (!there) done.get();
  if (probe.reply(0).error == limiter::SharedError::none) return out;
  problem = on(worker, [&] { return out->loop_->store.why(); });
  if (problem.empty()) problem = row_of(probe.reply(0).error).help;
  return nullptr;
}

void ReplayStore::ask(policies::StoreOps& operations, TimePoint now) {
  if (operations.empty()) return;
  for (std::size_t i = 0; i < operations.size(); ++i) operations[i].op.now = now;
  Once batch;
  batch.patient = true;
  batch.ops = operations.ops();
  batch.replies = operations.replies();
  auto done = batch.done.get_future();
  net::Worker& worker = loop_->pool[0];
  if (!on(worker, [&] { return loop_->store.submit(batch, worker.now() + kAnswer); })) done.get();
  for (const limiter::SharedReply& reply : batch.replies) {
    if (reply.error == limiter::SharedError::none || !failure_.empty()) continue;
    failure_ = row_of(reply.error).help;
  }
}

}  // namespace weir::app
