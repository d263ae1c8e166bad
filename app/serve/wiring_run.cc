#include <unistd.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <csignal>
#include <future>

#include "admin/pulse.h"
#include "app/change/loss.h"
#include "app/serve/wiring_worker.h"
#include "app/support/command.h"
#include "app/support/exit_code.h"
#include "app/support/version.h"
#include "core/no_memory.h"
#include "net/deadline.h"
#include "policies/set/lineage.h"

/// How weir runs and ends: signals, the second's tick, reloads on every worker, the drain.
namespace weir::app {

namespace asio = boost::asio;

namespace {

/// A policy, list or view of the set that all replicas share.
std::optional<std::string> what_shares(const policies::PolicySet& set) {
  for (const policies::Policy& policy : set.policies) {
    if (policy.shared) return "policy \"" + policy.name + "\"";
  }
  for (const policies::List& list : set.lists) {
    if (list.shared) return "list \"" + list.name + "\"";
  }
  for (const policies::View& view : set.views) {
    if (view.shared) return "view \"" + view.name + "\"";
  }
  return std::nullopt;
}

// A worker that takes longer than this to take a policy set is stuck, and /livez says so.
constexpr milliseconds kSwapLimit{5'000};
// Longer than a connection takes with TLS and a login to another zone, shorter than a start may
// seem stuck.
constexpr milliseconds kMeetRedis{300};
constexpr milliseconds kDoorGrace{1'000};
constexpr const char* kBusyWorker = "its worker is busy";
constexpr milliseconds kLogFlush{500};  // where its reader may have stalled
constexpr milliseconds kLastExchange{500}, kLastExchangeStep{10};
}  // namespace

proxy::Settings proxy_settings(const config::Server& settings, const net::SocketAddress& upstream,
                               net::ConnectionBudget& connections) {
  proxy::Settings out;
  out.upstream = upstream;
  out.upstream_authority = settings.proxy.upstream_authority;
  if (settings.proxy.upstream && settings.proxy.upstream->value.is_unix()) {
    out.upstream_name = "unix:" + settings.proxy.upstream->value.path;
  } else {
    out.upstream_name = settings.proxy.upstream_authority;
  }
  out.client_header = settings.proxy.client_header;
  out.client_rules = net::ClientAddressRules(settings.proxy.trust, settings.proxy.client_header);
  out.head.head = static_cast<std::uint32_t>(settings.limits.head);
  out.path = settings.proxy.path;
  out.body_bytes_max = settings.limits.body;
  out.connections = &connections;
  out.spares_trusted = !settings.limits.connections_per_ip;
  out.connect = settings.proxy.connect;
  out.head_time = settings.proxy.head;
  out.body_time = settings.proxy.body;
  out.answer = settings.proxy.answer;
  out.idle = settings.proxy.idle;
  return out;
}

int Wiring::run() {
  // Before anything waits: with a process id of 1 a signal without a handler does nothing.
  for (const int number : {SIGTERM, SIGINT, SIGHUP}) signals_.add(number);
  using Step = int (Wiring::*)();
  for (const Step step :
       {&Wiring::load, &Wiring::fit_into_machine, &Wiring::open_state, &Wiring::read_redis,
        &Wiring::build_stores, &Wiring::open_logs, &Wiring::build_workers, &Wiring::open_doors,
        &Wiring::open_entrances, &Wiring::open_api}) {
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

/// Connects the workers to Redis, and gives them some time for it: a request's budget is too short
/// for a connection to be made, so that the first ones would be judged as if there were no Redis.
/// Where there is none, weir starts without it.
void Wiring::meet_redis() {
  if (!redis_) return;
  std::vector<std::future<void>> met;
  for (const auto& worker : workers_) {
    const auto up =
        std::make_shared<std::promise<void>>();  // it may come when nobody waits any more
    met.push_back(up->get_future());
    worker->thread.post([up, redis = &*worker->redis] {
      redis->start();
      redis->when_up([up] { up->set_value(); });
    });
  }
  const TimePoint end = clock_.now() + kMeetRedis;
  for (const std::future<void>& up : met) {
    up.wait_for(std::max(milliseconds{0}, end - clock_.now()));
  }
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
      if (state_ != nullptr) state_->stop_at_once(clock_.now());
      log_.flush(kLogFlush);
      std::_Exit(kOk);
    }
    drain_.by_signal = true;
    log_.write(Level::info, LogLine("draining")
                                .add("signal", number == SIGINT ? "SIGINT" : "SIGTERM")
                                .add("delay_ms", settings_.drain.delay.count())
                                .add("timeout_ms", settings_.drain.timeout.count()));
    audit_->tell_of_own("stop", number == SIGINT ? "signal SIGINT" : "signal SIGTERM");
    tasks_.spawn(shut_down());
  });
}

/// Before the workers run, and on them after a reload.
void Wiring::use_access_log(const config::Server& server) {
  audit_->use(server.log.readable_keys);
  if (!settings_.access_log.is_on || !server.access_log.is_on) return;
  const auto wants = std::make_shared<const telemetry::AccessSettings>(server.access_log.wants);
  for (const auto& worker : workers_) {
    if (reload_ == nullptr) {
      worker->sink->log(wants);
    } else {
      worker->thread.post([w = worker.get(), wants] { w->sink->log(wants); });
    }
  }
}

void Wiring::tick() {
  // First, for what follows may find no memory.
  second_.expires_after(std::chrono::seconds{1});
  second_.async_wait([this](const boost::system::error_code& error) {
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
  metrics_->control().set(telemetry::Metric::log_stalled, static_cast<std::int64_t>(log_.lost()));
  audit_->tick();
  if (fleet_ != nullptr) fleet_->tick();
  if (sharing_ != nullptr) sharing_->tick(now);
  if (shared_views_ != nullptr) shared_views_->tick(now);
  // Requests drive the timers as well; without any, the first worker does.
  if (patterns_->due() < now && !workers_.empty()) {
    workers_.front()->thread.post(
        [w = workers_.front().get()] { w->gate.advance_patterns(w->thread.now()); });
  }
  ask_about_redis();
  full_lists_.tell(*set_, *lists_, now, log_);
  if (names_ != nullptr && names_->tick(now)) take_upstreams();
  if (options_.every_second) options_.every_second(*metrics_, *stats_);
}

void Wiring::take_upstreams() {
  const UpstreamNames::Addresses& addresses = names_->addresses();
  for (const auto& worker : workers_) {
    worker->thread.post([w = worker.get(), addresses] { w->server.use_upstreams(addresses); });
  }
  LogLine line("the app's name means other addresses");
  line.add("upstream", settings_.proxy.upstream_authority)
      .add("first", addresses.front().to_string())
      .add("addresses", static_cast<std::int64_t>(addresses.size()));
  log_.write(Level::info, line);
}

void Wiring::ask_about_redis() {
  if (!redis_) return;
  publish(synced_->stats(), metrics_->control());
  const bool renew = places_renewed_ + kRenewPlaces <= clock_.now();
  if (renew) places_renewed_ = clock_.now();
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    workers_[i]->thread.post([this, i, renew, w = workers_[i].get()] {
      if (renew) w->gate.renew_places(w->thread.now());
      const store::RedisStats stats = w->redis->stats();
      publish(stats, w->metrics);
      publish(w->gate.exchange_stats(), w->metrics);
      asio::post(control_, [this, i, why = w->redis->why()] { heard_of_redis(i, why); });
    });
  }
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
  for (const auto& worker : workers_) {
    worker->thread.post([w = worker.get(), with = next.store.credentials,
                         sentinels = next.store.sentinel_credentials] {
      w->redis->set_credentials(with, sentinels);
    });
  }
  if (sharing_ != nullptr) {
    sharing_->set_credentials(next.store.credentials, next.store.sentinel_credentials);
  }
  if (shared_views_ != nullptr) {
    shared_views_->set_credentials(next.store.credentials, next.store.sentinel_credentials);
  }
  fleet_->set_credentials(next);
  log_.write(Level::info, LogLine("new credentials for Redis, with the next connection"));
}

void Wiring::heard_of_redis(std::size_t worker, std::string why) {
  const RedisOutage::Line line = redis_outage_.hear(worker, why, clock_.now());
  if (line == RedisOutage::Line::back) {
    log_.write(Level::info, LogLine("Redis is there again"));
  } else if (line != RedisOutage::Line::none) {
    const char* const what = line == RedisOutage::Line::away
                                 ? "Redis is unavailable; policies go on as their on_error says"
                                 : "Redis is still unavailable";
    log_.write(Level::warn, LogLine(what).add("why", why));
  }
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
  if (redis_) {
    out.redis.emplace();
    out.redis->workers_up = redis_outage_.workers_up();
    out.redis->away = redis_outage_.why();
  }
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

/// An answer still to come, from a worker. On the control thread.
struct Wiring::StoreCall {
  StoreCall(asio::io_context& io, milliseconds limit) : timer(io, limit) {}
  static std::shared_ptr<StoreCall> begin(Wiring& wiring, AtDesk ask);

  std::optional<admin::StoreAnswer> answer;
  asio::steady_timer timer;
};

// Not a coroutine, as on_every_worker().
std::shared_ptr<Wiring::StoreCall> Wiring::StoreCall::begin(Wiring& wiring, AtDesk ask) {
  const auto call = std::make_shared<StoreCall>(wiring.control_, 2 * CounterDesk::kWithin);
  Worker* const worker = wiring.workers_[wiring.redis_outage_.worker_up()].get();
  worker->thread.post([&wiring, worker, call, ask = std::move(ask)] {
    ask(*worker->counters, worker->thread.now(), [&wiring, call](admin::StoreAnswer answer) {
      asio::post(wiring.control_, [call, answer = std::move(answer)]() mutable {
        call->answer = std::move(answer);
        call->timer.cancel();
      });
    });
  });
  return call;
}

asio::awaitable<std::optional<admin::StoreAnswer>> Wiring::at_desk(AtDesk ask) {
  const auto call = StoreCall::begin(*this, std::move(ask));
  if (!call->answer) co_await call->timer.async_wait(net::kToken);
  if (!call->answer) co_return std::nullopt;
  const std::string away = redis_outage_.why();
  if (!call->answer->why.empty() && !away.empty()) call->answer->why += " (" + away + ")";
  co_return std::move(*call->answer);
}

asio::awaitable<admin::StoreAnswer> Wiring::ask_store(admin::StoreQuestion question) {
  if (!redis_) co_return admin::StoreAnswer{"there is no `redis:` in this configuration", {}};
  AtDesk ask = [question = std::move(question)](CounterDesk& desk, TimePoint now, auto tell) {
    desk.ask(question, now, std::move(tell));
  };
  auto answer = co_await at_desk(std::move(ask));
  if (!answer) co_return admin::StoreAnswer{kBusyWorker, {}};
  co_return std::move(*answer);
}

asio::awaitable<std::string> Wiring::run_errand(std::shared_ptr<admin::StoreErrand> errand) {
  if (!redis_) co_return "there is no `redis:` in this configuration";
  AtDesk ask = [errand](CounterDesk& desk, TimePoint now, auto tell) {
    desk.run(errand, now, std::move(tell));
  };
  const auto answer = co_await at_desk(std::move(ask));
  errand->replied = answer.has_value();
  co_return answer ? answer->why : kBusyWorker;
}

bool Wiring::drain(bool begin) {
  if (drain_.by_signal || drain_.by_api == begin) return drain_.is_on();
  drain_.by_api = begin;
  drain_.since = clock_.now();
  log_.write(Level::info, LogLine(begin ? "draining, still accepting" : "draining no more")
                              .add("cause", "the admin API"));
  manager_.status(begin ? "draining, still accepting" : "serving");
  for (const auto& worker : workers_) {
    worker->thread.post([w = worker.get(), begin] { w->begin_drain(begin); });
  }
  return drain_.by_api;
}

void Wiring::ask(std::size_t worker, std::function<void()> beat) {
  workers_[worker]->thread.post(std::move(beat));
}

void Wiring::post(std::size_t worker,
                  std::function<void(api::LineJudge& judge, TimePoint now)> work) {
  Worker* const to = workers_[worker].get();
  to->thread.post([to, work = std::move(work)] { work(to->lines, to->thread.now()); });
}

struct Wiring::RollCall {
  RollCall(asio::io_context& io, std::size_t workers, milliseconds limit)
      : left(workers), timer(io, limit) {}
  void answered() {
    if (--left == 0) timer.cancel();
  }
  /// False: not all have answered within the limit.
  static asio::awaitable<bool> complete(std::shared_ptr<RollCall> call) {
    if (call->left != 0) co_await call->timer.async_wait(net::kToken);
    co_return call->left == 0;
  }

  std::size_t left;
  asio::steady_timer timer;
};

// Not a coroutine: g++ 12 destroys a closure twice that is made within a co_await expression.
std::shared_ptr<Wiring::RollCall> Wiring::on_every_worker(std::function<void(Worker&)> what) {
  const auto call = std::make_shared<RollCall>(control_, workers_.size(), kSwapLimit);
  for (const auto& worker : workers_) {
    do_on_worker(*worker, what,
                 [this, call] { asio::post(control_, [call] { call->answered(); }); });
  }
  return call;
}

/// Tries again where there is no memory: a worker without the new policies would refuse and let
/// pass by the old ones. on_every_worker() stops waiting some time; this does not.
void Wiring::do_on_worker(Worker& worker, std::function<void(Worker&)> what,
                          std::function<void()> then) {
  worker.thread.post([this, &worker, what = std::move(what), then = std::move(then)] {
    if (survives_no_memory([&] { what(worker); })) return then();
    do_on_worker(worker, what, then);
  });
}

void Wiring::close_unused_counters(const policies::PolicySet& set) {
  std::vector<limiter::CounterId> used;
  used.reserve(set.counters.size());
  for (const policies::Counter& counter : set.counters) {
    used.push_back(counter.id);
    if (const auto* const average = counter.synced.average.get()) used.push_back(average->ones.id);
  }
  counters_->close_unused(used);
  std::vector<limiter::PatternId> patterns;
  patterns.reserve(set.patterns.size());
  for (const policies::Pattern& pattern : set.patterns) patterns.push_back(pattern.id);
  patterns_->close_unused(patterns);
  std::vector<limiter::ListId> lists;
  lists.reserve(set.lists.size());
  for (const policies::List& list : set.lists) lists.push_back(list.id);
  lists_->close_unused(lists);
}

asio::awaitable<std::string> Wiring::put_in_use(Configuration next) {
  if (const auto shares = what_shares(*next.set); !redis_ && shares) {
    co_return *shares +
        " needs Redis, and this process was started without \"redis\": start it again";
  }
  Result<void> attached;
  std::vector<std::string> closed;  // and may come back
  if (!survives_no_memory([&] {
        for (const Hash128& identity : counters_->closed())
          closed.push_back(policies::hex_of(identity));
        attached = next.set->attach(*counters_, *lists_, secret_, patterns_.get());
        next.set->attach_views(views_);
      })) {
    close_unused_counters(*set_);
    co_return "there is no memory for its policies beside those that are running";
  }
  if (!attached) {
    close_unused_counters(*set_);  // what it has opened before it found no room
    co_return "its counters (limits.memory), patterns (1,024) or lists (16,384) do not fit beside "
              "those of the running policies: " +
        attached.error().message();
  }
  if (std::string refusal = co_await feeds_->feed(*next.set); !refusal.empty()) {
    close_unused_counters(*set_);
    feeds_->use(*set_);
    co_return refusal;
  }
  const std::shared_ptr<const policies::PolicySet> set = next.set;
  const auto names = used_header_names(*set);
  const auto switched = on_every_worker([set, names](Worker& worker) { worker.use(set, names); });
  const bool all = co_await RollCall::complete(switched);
  // An override is no other configuration.
  if (set_->source_hash != next.set->source_hash) {
    loaded_ = Clock::wall();
    tell_of_counters(*set_, *next.set, closed, loaded_, log_);
  }
  set_ = next.set;
  failed_before_ = metrics_->sum(telemetry::Metric::reloads_failed);
  if (all) {
    close_unused_counters(*set);
  } else {
    log_.write(Level::error,
               LogLine("a worker has not taken the new policies; it seems to be stuck"));
  }
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
  entrances_.reload(server, log_);
  report_->use(next.model());
  use_access_log(server);
  if (sharing_ != nullptr) sharing_->use(*set_);
  if (shared_views_ != nullptr) shared_views_->use(*set_);
  feeds_->use(*set_);
  if (recording_ != nullptr) recording_->tell(*set);
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
    admin::Pulse& pulse = *this;
    const auto silent = co_await admin::silent_workers(pulse, limit / 2);
    if (silent.empty()) manager_.alive();
  } while (co_await net::pause(limit / 3));
}

asio::awaitable<void> Wiring::shut_down() {
  // Twice the grace of the doors, and a little for the last exchange and the state.
  manager_.stopping("draining", settings_.drain.delay + settings_.drain.timeout + 5 * kDoorGrace);
  reload_->stop();
  const auto draining = on_every_worker([](Worker& worker) { worker.begin_drain(true); });
  co_await RollCall::complete(draining);
  // Whoever sends requests here needs time to see that /readyz says no: since the drain began,
  // which may have been before the signal (`ctl drain --begin` in a preStop hook).
  const TimePoint now = clock_.now();
  const milliseconds left = (drain_.by_api ? drain_.since : now) + settings_.drain.delay - now;
  if (left.count() > 0) co_await net::pause(left);

  // The workers cut at the deadline; a stuck one is not waited for.
  const auto stopped =
      std::make_shared<RollCall>(control_, workers_.size(), settings_.drain.timeout + kDoorGrace);
  for (const auto& worker : workers_) {
    worker->thread.post([this, w = worker.get(), stopped] {
      w->stop_by(w->thread.now() + settings_.drain.timeout,
                 [this, stopped] { asio::post(control_, [stopped] { stopped->answered(); }); });
    });
  }
  co_await RollCall::complete(stopped);
  if (api_ != nullptr) co_await api_->stop(kDoorGrace);  // what it was told is exchanged as well
  const auto released =
      on_every_worker([](Worker& worker) { worker.unsettled.release_all(worker.thread.now()); });
  co_await RollCall::complete(released);
  co_await exchange_last_counts();
  co_await admin_->stop(kDoorGrace);
  co_await health_->stop(kDoorGrace);
  end();
}

/// What was counted here since the last exchange, and what patterns were not told yet, would be
/// lost to the other replicas.
asio::awaitable<void> Wiring::exchange_last_counts() {
  if (synced_ == nullptr) co_return;
  const auto flushed =
      on_every_worker([](Worker& worker) { worker.gate.flush(worker.thread.now()); });
  co_await RollCall::complete(flushed);
  for (milliseconds waited{0}; waited < kLastExchange; waited += kLastExchangeStep) {
    const auto busy = std::make_shared<std::atomic<bool>>(false);
    // Not within the co_await: GCC 12 destroys a lambda's captures twice there.
    const auto asked = on_every_worker([busy](Worker& worker) {
      if (worker.gate.is_exchanging()) *busy = true;
    });
    co_await RollCall::complete(asked);
    if (!*busy) co_return;
    co_await net::pause(kLastExchangeStep);
  }
}

void Wiring::end() {
  second_.cancel();
  // The doors are closed. What follows may hang on a name server for longer than the process lives.
  if (state_ != nullptr) state_->stop(clock_.now(), Clock::wall());
  feeds_->stop();
  if (fleet_ != nullptr) fleet_->stop();
  if (options_.included != nullptr) options_.included->stop();
  pool_->stop();
  if (sharing_ != nullptr) sharing_->stop();
  if (shared_views_ != nullptr) shared_views_->stop();
  report_->stop();
  if (access_log_ != nullptr) access_log_->stop();
  if (tracing_ != nullptr) tracing_->stop();
  if (recording_ != nullptr) recording_->stop();
  if (const std::int64_t cut = metrics_->sum(telemetry::Metric::drain_cut); cut != 0)
    log_.write(Level::warn, LogLine("drain.timeout was over before requests were").add("cut", cut));
  if (!options_.viewer) log_.write(Level::info, LogLine("weir ends"));
  signals_.cancel();
  control_.stop();
}

}  // namespace weir::app
