#include "app/serve/serving.h"

#include <unistd.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <csignal>

#include "admin/worker_probe.h"
#include "app/change/loss.h"
#include "app/doors/settings.h"
#include "app/serve/end_limits.h"
#include "app/serve/serving_worker.h"
#include "app/serve/startup.h"
#include "app/support/command.h"
#include "app/support/exit_code.h"
#include "app/support/version.h"
#include "core/no_memory.h"
#include "net/deadline.h"

namespace weir::app {

namespace asio = boost::asio;

namespace {

constexpr milliseconds kLogFlush{500};  // where its reader may have stalled
constexpr milliseconds kLastExchangeStep{10};

/// From the signal on: the grace of the api, admin and health doors, and the limits of all that
/// comes after them. `delay`: the rest of drain.delay.
milliseconds longest_end(milliseconds delay, milliseconds timeout) {
  return delay + timeout + end_limits::kAll;
}

/// Explains, after Ctrl-C or SIGTERM, when the process ends.
std::string end_text(milliseconds delay, milliseconds timeout, bool ctrl_c) {
  const auto seconds = [](milliseconds time) {
    return std::to_string((time.count() + 999) / 1000) + " s";
  };
  return "ends in " + seconds(delay) + " if no request is open, cuts open requests after " +
         seconds(delay + timeout) + ", and ends after " + seconds(longest_end(delay, timeout)) +
         " at the latest; " + (ctrl_c ? "Ctrl-C" : "SIGTERM") + " again ends now";
}
}  // namespace

int Serving::run() {
  // Before anything waits: with a process id of 1 a signal without a handler does nothing.
  for (const int number : {SIGTERM, SIGINT, SIGHUP}) process_.signals.add(number);
  if (const int code = Startup(process_, operations_).run(); code != kOk) return code;
  wait_for_signal();
  begin_service();
  // The handler that ran out of memory has ended; run the other handlers.
  while (!survives_no_memory([this] { process_.control.run(); })) {
  }
  return kOk;
}

void Serving::begin_service() {
  process_.loaded = Clock::wall();
  serve_changes();
  if (process_.fleet != nullptr) serve_fleet();
  process_.tables->files_changed();  // since the last process
  if (options_.included != nullptr) follow_included_texts();
  if (options_.watch_files) {
    process_.config_watch.start(process_.initial_configuration.loaded.inputs.watched(),
                                [this] { process_.reload->ask("the files have changed", true); });
  }
  process_.report->start();
  if (process_.access_log != nullptr) process_.access_log->start();
  if (process_.tracing != nullptr) process_.tracing->start();
  if (process_.sharing != nullptr) process_.sharing->use(*set_);
  if (process_.shared_views != nullptr) process_.shared_views->use(*set_);
  process_.feeds->use(*set_);
  if (process_.state != nullptr) process_.state->start(process_.clock);
  if (process_.recording != nullptr) {
    process_.recording->tell(*set_);
    process_.recording->start();
  }
  // The state may have lists that this configuration does not have.
  process_.swap->close_unused(*set_);
  tick();
  give_back_memory_of_start();
  say_ready();
  process_.manager.ready("serving, " + std::to_string(set_->policy_count()) + " policies");
  if (const auto limit = process_.manager.watchdog()) process_.tasks.spawn(feed_watchdog(*limit));
  process_.audit->tell_of_own(
      "start", "weir",
      {{"config", set_->source_hash}, {"version", kVersion}, {"commit", commit()}});
  if (options_.started) options_.started(process_.initial_configuration.model(), *set_);
  process_.initial_configuration = {};  // its texts are not needed any more
}

/// Connects reloads and changes of tables with the audit log and with the fleet.
void Serving::serve_changes() {
  Swap& swap = *this;
  process_.changes = std::make_unique<OperatorChanges>(process_.control, swap, log_);
  process_.changes->started_with(process_.initial_configuration, process_.tables->edits(),
                                 std::move(process_.initial_overrides));
  process_.changes->tell_ends_to([this](const config::Override& ended, const std::string& problem) {
    process_.audit->tell_of_end(ended, problem);
  });
  Reload::Observer& observer = *this;
  process_.reload =
      std::make_unique<Reload>(process_.control, options_.load, process_.config_watch,
                               *process_.changes, observer, log_, process_.metrics->control());
  process_.reload->started_with(process_.initial_configuration);
  process_.tables->serve(
      *process_.changes,
      [this](const std::string& table, const std::string& limits) {
        process_.audit->tell_of_table(table, limits);
      },
      [this](const admin::TableRecord& record) { operations_.audit(Audit::overtaken(record)); });
}

void Serving::serve_fleet() {
  process_.fleet->serve(*process_.changes, *process_.tables, *process_.audit, [this] {
    return Fleet::Here{endpoint_text(settings_.admin.listen.value),
                       std::string(kVersion),
                       set_->source_hash,
                       process_.loaded,
                       process_.started,
                       process_.changes->overrides().size(),
                       process_.changes->unfit_overrides().size(),
                       drain_.is_on()};
  });
}

void Serving::follow_included_texts() {
  process_.reload->prepare_by([included = options_.included](std::function<void()> done) {
    included->prepare(std::move(done));
  });
  options_.included->start(
      [this] {
        boost::asio::post(process_.control, [this] {
          if (!drain_.by_signal) process_.reload->ask("an included text has changed", true);
        });
      },
      log_);
}

void Serving::say_ready() {
  if (options_.viewer) return;
  LogLine line("weir is ready");
  line.add("version", kVersion)
      .add("proxy", settings_.proxy.upstream ? endpoint_text(settings_.proxy.listen.value) : "none")
      .add("upstream", !settings_.proxy.upstream ? "none"
                       : settings_.proxy.upstream->value.is_unix()
                           ? endpoint_text(settings_.proxy.upstream->value)
                           : settings_.proxy.upstream_authority)
      .add("admin", endpoint_text(settings_.admin.listen.value))
      .add("health", endpoint_text(settings_.health.listen.value));
  process_.front_doors.say_where(line);
  line.add("api", process_.api_server == nullptr ? "none" : endpoint_text(process_.api_address()))
      .add("threads", static_cast<std::int64_t>(workers_.size()))
      .add("policies", static_cast<std::int64_t>(set_->policy_count()))
      .add("config", set_->source_hash);
  log_.write(Level::info, line);
}

void Serving::wait_for_signal() {
  process_.signals.async_wait([this](const boost::system::error_code& error, int number) {
    if (error) return;
    wait_for_signal();
    if (number == SIGHUP) {
      if (process_.access_log != nullptr) process_.access_log->reopen();
      process_.audit->look_again(true);
      if (!drain_.by_signal) process_.reload->ask("SIGHUP", false);
      return;
    }
    if (drain_.by_signal) {
      log_.write(Level::warn, LogLine("a second signal: ending at once"));
      process_.tables->write_again();
      if (process_.state != nullptr) process_.state->stop_at_once(process_.clock.now());
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
    process_.audit->tell_of_own("stop", number == SIGINT ? "signal SIGINT" : "signal SIGTERM");
    process_.tasks.spawn(shut_down());
  });
}

void Serving::tick() {
  // First, for what follows may find no memory.
  process_.tick_timer.expires_after(std::chrono::seconds{1});
  process_.tick_timer.async_wait([this](const boost::system::error_code& error) {
    if (!error) tick();
  });
  const TimePoint now = process_.clock.now();
  const TimePoint wall = Clock::wall();
  process_.shared->wall_offset_ms.store(to_ms(wall) - to_ms(now), std::memory_order_relaxed);
  process_.counters->maintain(now, wall);
  process_.lists->maintain(now);
  for (const policies::View& view : set_->views) view.advance(now, wall);
  process_.report->tick(wall);
  if (process_.changes != nullptr) process_.changes->tick(now);
  process_.tables->write_again();
  process_.metrics->control().set(telemetry::Metric::log_stalled,
                                  static_cast<std::int64_t>(log_.lost()));
  process_.audit->tick();
  if (process_.fleet != nullptr) process_.fleet->tick();
  if (process_.sharing != nullptr) process_.sharing->tick(now);
  if (process_.shared_views != nullptr) process_.shared_views->tick(now);
  // Requests drive the timers as well; without any, the first worker does.
  if (process_.patterns->due() < now) {
    workers_[0].thread.post(
        [&first = workers_[0]] { first.gate.advance_patterns(first.thread.now()); });
  }
  if (process_.redis_watch != nullptr) process_.redis_watch->tick();
  process_.full_lists.tell(*set_, *process_.lists, now, log_);
  if (!options_.viewer)
    process_.app_failures.tell(*process_.metrics, now, log_);  // `weir dev` reports them itself
  if (process_.names != nullptr && process_.names->tick(now)) take_upstreams();
  if (options_.every_second) options_.every_second(*process_.metrics, *process_.stats);
}

void Serving::take_upstreams() {
  const UpstreamNames::Addresses& addresses = process_.names->addresses();
  workers_.post_to_all(
      [addresses](ServingWorker& worker) { worker.server.use_upstreams(addresses); });
  LogLine line("the app's name resolves to other addresses");
  line.add("upstream", settings_.proxy.upstream_authority)
      .add("first", addresses.front().to_string())
      .add("addresses", static_cast<std::int64_t>(addresses.size()));
  log_.write(Level::info, line);
}

void Serving::rotate_credentials(const config::Server& server) {
  if (!process_.redis || !server.redis) return;
  SharedStoreSettings next;
  std::string message;
  if (!read_shared_store(server, next, message)) {
    log_.write(Level::error,
               LogLine("the credentials of Redis stay as they were").add("why", message));
    return;
  }
  if (next.store.credentials == process_.redis->store.credentials &&
      next.store.sentinel_credentials == process_.redis->store.sentinel_credentials) {
    return;
  }
  process_.redis->store.credentials = next.store.credentials;
  process_.redis->store.sentinel_credentials = next.store.sentinel_credentials;
  process_.redis_watch->use_credentials(next.store);
  if (process_.sharing != nullptr) {
    process_.sharing->set_credentials(next.store.credentials, next.store.sentinel_credentials);
  }
  if (process_.shared_views != nullptr) {
    process_.shared_views->set_credentials(next.store.credentials, next.store.sentinel_credentials);
  }
  process_.fleet->set_credentials(next);
  log_.write(Level::info, LogLine("new credentials for Redis, with the next connection"));
}

asio::awaitable<std::string> Serving::put_in_use(const Configuration& next) {
  const std::string before = set_->source_hash;
  if (std::string refusal = co_await process_.swap->replace(set_, next.set); !refusal.empty())
    co_return refusal;
  if (set_->source_hash != before)
    process_.loaded = Clock::wall();  // an override is no other configuration
  process_.failed_before = process_.metrics->sum(telemetry::Metric::reloads_failed);
  const config::Server& server = next.model().server;
  const auto waiting = config::needs_restart(settings_, server);
  if (!waiting.empty()) {
    std::string names_text;
    for (const std::string& name : waiting) names_text += (names_text.empty() ? "" : ", ") + name;
    log_.write(Level::warn,
               LogLine("these settings take effect at the next start").add("settings", names_text));
  }
  settings_.drain = server.drain;
  process_.tables->need_approval(server.admin.approval);
  rotate_credentials(server);
  process_.front_doors.reload(server, log_);
  process_.report->use(next.model());
  process_.use_access_log(server);
  if (process_.sharing != nullptr) process_.sharing->use(*set_);
  if (process_.shared_views != nullptr) process_.shared_views->use(*set_);
  process_.feeds->use(*set_);
  if (process_.recording != nullptr) process_.recording->tell(*set_);
  co_return std::string();
}

void Serving::load_ended() {
  if (drain_.by_signal) return;  // the service manager knows that weir stops
  process_.manager.ready(
      "serving, " + std::to_string(set_->policy_count()) + " policies" +
      (process_.reload->last().ok ? "" : "; the last reload failed, see the log"));
}

void Serving::loaded(const std::string& cause, const std::string& before,
                     const admin::LoadReport& report) {
  if (report.ok) process_.tables->files_changed();
  if (process_.fleet != nullptr) process_.fleet->take_again();
  if (cause == ProcessOperations::kByApi) return;  // its door reports the caller
  process_.audit->tell_of_reload(cause, before, report);
}

/// A sign of life for the service manager while every worker's loop turns, this one included.
asio::awaitable<void> Serving::feed_watchdog(milliseconds limit) {
  do {
    const auto silent = co_await admin::silent_workers(workers_, limit / 2);
    if (silent.empty()) process_.manager.alive();
  } while (co_await net::pause(limit / 3));
}

/// Clients and load balancers need time to see that /readyz has failed. The time runs from the
/// begin of the drain, which may be before the signal (`ctl drain --begin` in a preStop hook).
milliseconds Serving::delay_left() const {
  const TimePoint now = process_.clock.now();
  const milliseconds left = (drain_.by_api ? drain_.since : now) + settings_.drain.delay - now;
  return std::max(left, milliseconds{0});
}

asio::awaitable<void> Serving::shut_down() {
  process_.manager.stopping("draining",
                            longest_end(settings_.drain.delay, settings_.drain.timeout));
  process_.config_watch.stop();
  const auto draining = workers_.ask_all([](ServingWorker& worker) { worker.begin_drain(true); });
  co_await WorkerTeam::complete(draining);
  if (const milliseconds left = delay_left(); left.count() > 0) co_await net::pause(left);

  // The workers cut at the deadline; a stuck one is not waited for.
  const auto stopped = workers_.finish_within(settings_.drain.timeout);
  co_await WorkerTeam::complete(stopped);
  if (process_.api_server != nullptr)
    co_await process_.api_server->stop(
        end_limits::kDoorGrace);  // its last events are exchanged as well
  const auto released = workers_.ask_all(
      [](ServingWorker& worker) { worker.unsettled.release_all(worker.thread.now()); });
  co_await WorkerTeam::complete(released);
  co_await exchange_last_counts();
  co_await process_.admin_server->stop(end_limits::kDoorGrace);
  co_await process_.health_server->stop(end_limits::kDoorGrace);
  end();
}

/// Sends the counts since the last exchange and the unsent events of patterns to the other
/// replicas, which would lose them otherwise. Retries what Redis refuses, until kLastExchange is
/// over.
asio::awaitable<void> Serving::exchange_last_counts() {
  if (process_.synced == nullptr) co_return;
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

void Serving::end() {
  process_.tick_timer.cancel();
  process_.tables->write_again();
  if (process_.state != nullptr) process_.state->stop(process_.clock.now(), Clock::wall());
  // First all that has still something to write; a worker that is stuck may hold it up.
  process_.end_watch.begin("what is still to be written", end_limits::kLastWrites, kOk);
  workers_.stop();
  process_.report->stop();
  if (process_.access_log != nullptr) process_.access_log->stop();
  if (process_.recording != nullptr) process_.recording->stop();
  if (const std::int64_t cut = process_.metrics->sum(telemetry::Metric::drain_cut); cut != 0)
    log_.write(Level::warn, LogLine("drain.timeout ended before all requests did").add("cut", cut));
  if (!options_.viewer) log_.write(Level::info, LogLine("weir ends"));
  // The steps below, and the destructors after them, may hang on a name server.
  process_.end_watch.begin("threads that wait for a name server or Redis", end_limits::kLastSteps,
                           kOk);
  process_.feeds->stop();
  if (process_.fleet != nullptr) process_.fleet->stop();
  if (options_.included != nullptr) options_.included->stop();
  if (process_.sharing != nullptr) process_.sharing->stop();
  if (process_.shared_views != nullptr) process_.shared_views->stop();
  if (process_.tracing != nullptr) process_.tracing->stop();
  process_.signals.cancel();
  process_.control.stop();
}

}  // namespace weir::app
