#include <unistd.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <csignal>

#include "admin/worker_probe.h"
#include "app/change/loss.h"
#include "app/serve/end_limits.h"
#include "app/serve/serving_worker.h"
#include "app/serve/wiring.h"
#include "app/support/command.h"
#include "app/support/exit_code.h"
#include "app/support/version.h"
#include "core/no_memory.h"
#include "net/deadline.h"

/// How weir runs and ends: signals, the second's tick, reloads on every worker, the drain.
namespace weir::app {

namespace asio = boost::asio;

namespace {

constexpr const char* kNoRedis = "there is no `redis:` in this configuration";
constexpr milliseconds kLogFlush{500};  // where its reader may have stalled
constexpr milliseconds kLastExchangeStep{10};

/// From the signal on: the grace of the api, admin and health doors, and the limits of all that
/// comes behind them. `delay`: what is left of drain.delay.
milliseconds longest_end(milliseconds delay, milliseconds timeout) {
  return delay + timeout + end_limits::kAll;
}

/// What somebody wants to know who has pressed Ctrl-C.
std::string end_text(milliseconds delay, milliseconds timeout, bool ctrl_c) {
  const auto seconds = [](milliseconds time) {
    return std::to_string((time.count() + 999) / 1000) + " s";
  };
  return "ends in " + seconds(delay) + " if no request is open, cuts open requests after " +
         seconds(delay + timeout) + ", and ends after " + seconds(longest_end(delay, timeout)) +
         " at the latest; " + (ctrl_c ? "Ctrl-C" : "SIGTERM") + " again ends now";
}
}  // namespace

int Wiring::run() {
  // Before anything waits: with a process id of 1 a signal without a handler does nothing.
  for (const int number : {SIGTERM, SIGINT, SIGHUP}) signals_.add(number);
  using Step = int (Wiring::*)();
  for (const Step step :
       {&Wiring::load, &Wiring::fit_into_machine, &Wiring::open_state, &Wiring::read_redis,
        &Wiring::build_stores, &Wiring::open_logs, &Wiring::build_workers, &Wiring::open_doors,
        &Wiring::open_front_doors, &Wiring::open_api}) {
    if (const int code = (this->*step)(); code != kOk) return code;
    log_.flush(kLogFlush);  // before what the next step may say on stderr
  }
  wait_for_signal();
  begin_service();
  // What had no memory has ended; the others go on.
  while (!survives_no_memory([this] { control_.run(); })) {
  }
  return kOk;
}

void Wiring::wait_for_signal() {
  signals_.async_wait([this](const boost::system::error_code& error, int number) {
    if (error) return;
    wait_for_signal();
    if (number == SIGHUP) {
      if (access_log_ != nullptr) access_log_->reopen();
      audit_->look_again(true);
      if (!drain_.by_signal) reload_->ask("SIGHUP", false);
      return;
    }
    if (drain_.by_signal) {
      log_.write(Level::warn, LogLine("a second signal: ending at once"));
      tables_->write_again();
      if (state_ != nullptr) state_->stop_at_once(clock_.now());
      log_.flush(kLogFlush);
      std::_Exit(kOk);
    }
    drain_.by_signal = true;
    const std::string hint = end_text(delay_left(), settings_.drain.timeout, number == SIGINT);
    log_.write(Level::info, LogLine("draining")
                                .add("signal", number == SIGINT ? "SIGINT" : "SIGTERM")
                                .add("delay_ms", settings_.drain.delay.count())
                                .add("timeout_ms", settings_.drain.timeout.count())
                                .add("hint", hint));
    if (options_.ending) options_.ending(hint);
    audit_->tell_of_own("stop", number == SIGINT ? "signal SIGINT" : "signal SIGTERM");
    tasks_.spawn(shut_down());
  });
}

/// Before the workers run, and on them after a reload.
void Wiring::use_access_log(const config::Server& server) {
  audit_->use(server.log.readable_keys);
  if (!settings_.access_log.is_on || !server.access_log.is_on) return;
  const auto wants = std::make_shared<const telemetry::AccessSettings>(server.access_log.wants);
  const auto use = [wants](ServingWorker& worker) { worker.sink->log(wants); };
  if (reload_ != nullptr) return workers_.post_to_all(use);
  for (std::size_t i = 0; i < workers_.size(); ++i) use(workers_[i]);
}

void Wiring::tick() {
  // First, for what follows may find no memory.
  tick_timer_.expires_after(std::chrono::seconds{1});
  tick_timer_.async_wait([this](const boost::system::error_code& error) {
    if (!error) tick();
  });
  const TimePoint now = clock_.now();
  const TimePoint wall = Clock::wall();
  shared_->wall_offset_ms.store(to_ms(wall) - to_ms(now), std::memory_order_relaxed);
  counters_->maintain(now, wall);
  lists_->maintain(now);
  for (const policies::View& view : set_->views) view.advance(now, wall);
  report_->tick(wall);
  if (reload_ != nullptr) reload_->tick(now);
  tables_->write_again();
  metrics_->control().set(telemetry::Metric::log_stalled, static_cast<std::int64_t>(log_.lost()));
  audit_->tick();
  if (fleet_ != nullptr) fleet_->tick();
  if (sharing_ != nullptr) sharing_->tick(now);
  if (shared_views_ != nullptr) shared_views_->tick(now);
  // Requests drive the timers as well; without any, the first worker does.
  if (patterns_->due() < now) {
    workers_[0].thread.post(
        [&first = workers_[0]] { first.gate.advance_patterns(first.thread.now()); });
  }
  if (redis_watch_ != nullptr) redis_watch_->tick();
  full_lists_.tell(*set_, *lists_, now, log_);
  if (!options_.viewer) app_failures_.tell(*metrics_, now, log_);  // `weir dev` says so itself
  if (names_ != nullptr && names_->tick(now)) take_upstreams();
  if (options_.every_second) options_.every_second(*metrics_, *stats_);
}

void Wiring::take_upstreams() {
  const UpstreamNames::Addresses& addresses = names_->addresses();
  workers_.post_to_all(
      [addresses](ServingWorker& worker) { worker.server.use_upstreams(addresses); });
  LogLine line("the app's name means other addresses");
  line.add("upstream", settings_.proxy.upstream_authority)
      .add("first", addresses.front().to_string())
      .add("addresses", static_cast<std::int64_t>(addresses.size()));
  log_.write(Level::info, line);
}

void Wiring::rotate_credentials(const config::Server& server) {
  if (!redis_ || !server.redis) return;
  SharedStoreSettings next;
  std::string message;
  if (!read_shared_store(server, next, message)) {
    log_.write(Level::error,
               LogLine("the credentials of Redis stay as they were").add("why", message));
    return;
  }
  if (next.store.credentials == redis_->store.credentials &&
      next.store.sentinel_credentials == redis_->store.sentinel_credentials) {
    return;
  }
  redis_->store.credentials = next.store.credentials;
  redis_->store.sentinel_credentials = next.store.sentinel_credentials;
  redis_watch_->use_credentials(next.store);
  if (sharing_ != nullptr) {
    sharing_->set_credentials(next.store.credentials, next.store.sentinel_credentials);
  }
  if (shared_views_ != nullptr) {
    shared_views_->set_credentials(next.store.credentials, next.store.sentinel_credentials);
  }
  fleet_->set_credentials(next);
  log_.write(Level::info, LogLine("new credentials for Redis, with the next connection"));
}

admin::StatusFacts Wiring::status() const {
  admin::StatusFacts out;
  out.version = kVersion;
  if (names_ != nullptr) out.upstream = names_->why_not();
  out.commit = commit();
  out.started = started_;
  out.loaded = reload_ != nullptr;
  out.config_hash = set_ != nullptr ? set_->source_hash : std::string();
  out.config_loaded = loaded_;
  if (reload_ != nullptr) out.last_load = reload_->last();
  out.workers = workers_.size();
  out.draining = drain_.is_on();
  if (redis_watch_ != nullptr) out.redis = redis_watch_->facts();
  if (state_ != nullptr) out.state = state_->why_not();
  if (sharing_ != nullptr) out.shared_lists = sharing_->facts(clock_.now());
  if (feeds_ != nullptr) out.sources = feeds_->facts();
  if (options_.included != nullptr) {
    for (admin::SourceFacts& facts : options_.included->facts())
      out.sources.push_back(std::move(facts));
  }
  return out;
}

policies::Instant Wiring::instant() const {
  const TimePoint now = clock_.now();
  return {now, now + milliseconds{shared_->wall_offset_ms.load(std::memory_order_relaxed)}};
}

asio::awaitable<admin::LoadReport> Wiring::reload() { return reload_->run(kByApi, false); }

admin::VerdictPage Wiring::verdicts(std::optional<std::uint64_t> after, std::size_t most) {
  report_->drain();  // what the workers have told by now
  return report_->verdicts(after, most, Clock::wall());
}

asio::awaitable<admin::StoreAnswer> Wiring::ask_store(admin::StoreQuestion question) {
  if (redis_watch_ == nullptr) co_return admin::StoreAnswer{kNoRedis, {}};
  co_return co_await redis_watch_->ask(std::move(question));
}

asio::awaitable<std::string> Wiring::run_store_request(
    std::shared_ptr<admin::StoreRequest> request) {
  if (redis_watch_ == nullptr) co_return kNoRedis;
  co_return co_await redis_watch_->run(std::move(request));
}

bool Wiring::drain(bool begin) {
  if (drain_.by_signal || drain_.by_api == begin) return drain_.is_on();
  drain_.by_api = begin;
  drain_.since = clock_.now();
  log_.write(Level::info, LogLine(begin ? "draining, still accepting" : "draining no more")
                              .add("cause", "the admin API"));
  manager_.status(begin ? "draining, still accepting" : "serving");
  workers_.post_to_all([begin](ServingWorker& worker) { worker.begin_drain(begin); });
  return drain_.by_api;
}

asio::awaitable<std::string> Wiring::put_in_use(Configuration next) {
  const std::string before = set_->source_hash;
  if (std::string refusal = co_await swap_->replace(set_, next.set); !refusal.empty())
    co_return refusal;
  if (set_->source_hash != before)
    loaded_ = Clock::wall();  // an override is no other configuration
  failed_before_ = metrics_->sum(telemetry::Metric::reloads_failed);
  const config::Server& server = next.model().server;
  const auto waiting = config::needs_restart(settings_, server);
  if (!waiting.empty()) {
    std::string names_text;
    for (const std::string& name : waiting) names_text += (names_text.empty() ? "" : ", ") + name;
    log_.write(Level::warn,
               LogLine("these settings take effect at the next start").add("settings", names_text));
  }
  settings_.drain = server.drain;
  tables_->need_approval(server.admin.approval);
  rotate_credentials(server);
  front_doors_.reload(server, log_);
  report_->use(next.model());
  use_access_log(server);
  if (sharing_ != nullptr) sharing_->use(*set_);
  if (shared_views_ != nullptr) shared_views_->use(*set_);
  feeds_->use(*set_);
  if (recording_ != nullptr) recording_->tell(*set_);
  co_return std::string();
}

void Wiring::reload_ended() {
  if (drain_.by_signal) return;  // it has been told that weir stops
  manager_.ready("serving, " + std::to_string(set_->policy_count()) + " policies" +
                 (reload_->last().ok ? "" : "; the last reload failed, see the log"));
}

/// A sign of life for the service manager while every worker's loop turns, this one included.
asio::awaitable<void> Wiring::feed_watchdog(milliseconds limit) {
  do {
    const auto silent = co_await admin::silent_workers(workers_, limit / 2);
    if (silent.empty()) manager_.alive();
  } while (co_await net::pause(limit / 3));
}

/// Whoever sends requests here needs time to see that /readyz says no: since the drain began, which
/// may have been before the signal (`ctl drain --begin` in a preStop hook).
milliseconds Wiring::delay_left() const {
  const TimePoint now = clock_.now();
  const milliseconds left = (drain_.by_api ? drain_.since : now) + settings_.drain.delay - now;
  return std::max(left, milliseconds{0});
}

asio::awaitable<void> Wiring::shut_down() {
  manager_.stopping("draining", longest_end(settings_.drain.delay, settings_.drain.timeout));
  reload_->stop();
  const auto draining = workers_.ask_all([](ServingWorker& worker) { worker.begin_drain(true); });
  co_await WorkerTeam::complete(draining);
  if (const milliseconds left = delay_left(); left.count() > 0) co_await net::pause(left);

  // The workers cut at the deadline; a stuck one is not waited for.
  const auto stopped = workers_.finish_within(settings_.drain.timeout);
  co_await WorkerTeam::complete(stopped);
  if (api_ != nullptr)
    co_await api_->stop(end_limits::kDoorGrace);  // what it was told is exchanged as well
  const auto released = workers_.ask_all(
      [](ServingWorker& worker) { worker.unsettled.release_all(worker.thread.now()); });
  co_await WorkerTeam::complete(released);
  co_await exchange_last_counts();
  co_await admin_->stop(end_limits::kDoorGrace);
  co_await health_->stop(end_limits::kDoorGrace);
  end();
}

/// What was counted here since the last exchange, and what patterns were not told yet, would be
/// lost to the other replicas. What Redis refuses for now is sent again until the time is over.
asio::awaitable<void> Wiring::exchange_last_counts() {
  if (synced_ == nullptr) co_return;
  const auto flushed =
      workers_.ask_all([](ServingWorker& worker) { worker.gate.flush(worker.thread.now()); });
  co_await WorkerTeam::complete(flushed);
  for (milliseconds waited{0};; waited += kLastExchangeStep) {
    const auto busy = std::make_shared<std::atomic<bool>>(false);
    // Not within the co_await: GCC 12 destroys a lambda's captures twice there.
    const auto asked = workers_.ask_all([busy](ServingWorker& worker) {
      if (!worker.gate.is_exchanging()) return;
      *busy = true;
      worker.gate.flush(worker.thread.now());
    });
    co_await WorkerTeam::complete(asked);
    if (!*busy) co_return;
    if (waited >= end_limits::kLastExchange) break;
    co_await net::pause(kLastExchangeStep);
  }
  log_.write(Level::warn, LogLine("Redis did not take everything before the end: counts or events "
                                  "of patterns may be lost"));
}

void Wiring::end() {
  tick_timer_.cancel();
  tables_->write_again();
  if (state_ != nullptr) state_->stop(clock_.now(), Clock::wall());
  // First all that has still something to write; a worker that is stuck may hold it up.
  end_watch_.begin("what is still to be written", end_limits::kLastWrites, kOk);
  workers_.stop();
  report_->stop();
  if (access_log_ != nullptr) access_log_->stop();
  if (recording_ != nullptr) recording_->stop();
  if (const std::int64_t cut = metrics_->sum(telemetry::Metric::drain_cut); cut != 0)
    log_.write(Level::warn, LogLine("drain.timeout was over before requests were").add("cut", cut));
  if (!options_.viewer) log_.write(Level::info, LogLine("weir ends"));
  // What follows, and what is destroyed after it, may hang on a name server.
  end_watch_.begin("threads that wait for a name server or Redis", end_limits::kLastSteps, kOk);
  feeds_->stop();
  if (fleet_ != nullptr) fleet_->stop();
  if (options_.included != nullptr) options_.included->stop();
  if (sharing_ != nullptr) sharing_->stop();
  if (shared_views_ != nullptr) shared_views_->stop();
  if (tracing_ != nullptr) tracing_->stop();
  signals_.cancel();
  control_.stop();
}

}  // namespace weir::app
