#include "app/serve/startup.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <boost/asio/post.hpp>
#include <cerrno>
#include <cstdlib>
#include <future>
#include <new>

#include "app/change/overrides.h"
#include "app/doors/listeners.h"
#include "app/doors/settings.h"
#include "app/serve/few_files.h"
#include "app/serve/proxy_settings.h"
#include "app/serve/serving_worker.h"
#include "app/support/command.h"
#include "app/support/exit_code.h"
#include "app/support/http_client.h"
#include "app/support/memory_plan.h"
#include "app/support/problem_log.h"
#include "app/support/version.h"
#include "config/text/render.h"
#include "core/text.h"

/// The steps of the start: each reports its failure in a sentence, and returns the exit code.
namespace weir::app {
namespace {

// For the app's name at the start. A resolver without an answer fails only after many seconds.
constexpr milliseconds kPatienceForNames{2'000};

// Threads whose metrics come after those of the workers: the control thread's last
// (telemetry::Metrics).
constexpr std::size_t kStateWriter = 0;
constexpr std::size_t kRecordWriter = 1;
constexpr std::size_t kAccessWriter = 2;
constexpr std::size_t kTraceWriter = 3;
constexpr std::size_t kOtherWriters = 5;

// A start that fails shows so many problems, errors first.
constexpr std::size_t kProblemsShown = 50;

constexpr milliseconds kBeforeWords{500};
// As long as the workers wait for Redis: an override of the fleet holds from the first request on.
constexpr milliseconds kMeetFleet{300};

int fail(ExitCode code, const std::string& message) {
  complain(message);
  return code;
}

int cannot_listen(const char* door, const std::string& where,
                  const boost::system::error_code& error) {
  std::string message = std::string(door) + ": can't listen on " + where + ": " + error.message();
  if (error == boost::system::errc::address_in_use) {
    message += " (" + taken_text(where) + ")";
  } else if (error == boost::system::errc::permission_denied) {
    message += " (ports below 1024 are the system's)";
    return fail(kRefused, message);
  }
  return fail(kUnreachable, message);
}

}  // namespace

Startup::Startup(Process& process, admin::Operations& operations) noexcept
    : process_(process),
      operations_(operations),
      options_(process.options),
      log_(process.log),
      control_(process.control),
      machine_(process.machine),
      initial_(process.initial_configuration),
      settings_(process.settings),
      secret_(process.secret),
      redis_(process.redis),
      workers_(process.workers) {}

int Startup::run() {
  using Step = int (Startup::*)();
  for (const Step step :
       {&Startup::load, &Startup::fit_into_machine, &Startup::open_state, &Startup::read_redis,
        &Startup::build_stores, &Startup::use_configuration, &Startup::restore_state,
        &Startup::build_report, &Startup::open_logs, &Startup::build_workers, &Startup::open_doors,
        &Startup::open_front_doors, &Startup::open_api}) {
    if (const int code = (this->*step)(); code != kOk) return code;
    log_.flush(kBeforeWords);  // before the next step may write to stderr
  }
  return kOk;
}

int Startup::load() {
  initial_ = options_.load();
  const config::Problems& problems = initial_.loaded.problems;
  if (!initial_.good()) {
    complain("can't start with this configuration:");
    config::Problems shown;
    for (const config::Problem* problem : problems.first(kProblemsShown)) {
      if (problem->severity == config::Problem::Severity::error)
        shown.error(problem->where, problem->message, problem->hint);
      else
        shown.warning(problem->where, problem->message, problem->hint);
    }
    shown.sort();
    std::string text = config::render_human(shown, initial_.loaded.views(), options_.colours);
    if (problems.all().size() > kProblemsShown) {
      text += "and " + std::to_string(problems.all().size() - kProblemsShown) +
              " more; \"weir check\" lists them all\n";
    }
    static_cast<void>(std::fwrite(text.data(), 1, text.size(), stderr));
    return kNo;
  }
  settings_ = initial_.model().server;
  log_.use(level_named(settings_.log.level), settings_.log.json);
  log_problems(log_, initial_);
  log_.flush(kBeforeWords);  // before other texts on stderr
  if (!settings_.proxy.upstream && !is_asked(settings_)) {
    return fail(kNo,
                "proxy.upstream is missing: where is the app? For instance\n"
                "  proxy: {upstream: http://127.0.0.1:3000}\nor WEIR_PROXY_UPSTREAM; without it "
                "another proxy has to ask here (api.ext_authz, api.forward_auth, ratelimit)");
  }
  return kOk;
}

int Startup::fit_into_machine() {
  machine_ = look_at_machine();
  process_.open_files = raise_open_files();
  const bool patterns = !initial_.set->patterns.empty();
  const unsigned threads = threads_of(settings_, machine_);
  process_.buffers = buffer_bytes(settings_.limits, threads, machine_.memory);
  if (settings_.limits.buffers && *settings_.limits.buffers < process_.buffers) {
    log_.write(Level::warn, LogLine("limits.buffers is too small for the workers; they keep more")
                                .add("limit", human_size(*settings_.limits.buffers))
                                .add("workers", std::int64_t{threads})
                                .add("buffers", human_size(process_.buffers)));
  }
  const std::uint64_t fixed = memory_beside(settings_, machine_);
  const std::uint64_t beside =
      fixed + (patterns ? limiter::pattern_memory(settings_.limits.memory) : std::uint64_t{0});
  if (machine_.memory && settings_.limits.memory + beside > *machine_.memory) {
    const std::uint64_t room = counter_room(*machine_.memory, fixed, patterns);
    if (!settings_.limits.memory_given && room >= kLeastCounters) {
      settings_.limits.memory = room;
      log_.write(Level::info, LogLine("limits.memory is set to what fits into the cgroup")
                                  .add("memory", human_size(room))
                                  .add("granted", human_size(*machine_.memory)));
      return kOk;
    }
    return fail(kNo, "limits.memory is " + human_size(settings_.limits.memory) +
                         ", but the cgroup grants " + human_size(*machine_.memory) +
                         " in all, and weir needs " + human_size(beside) +
                         " beside its counters: " + memory_advice(settings_, machine_, patterns));
  }
  return kOk;
}

int Startup::open_state() {
  if (!settings_.state.dir) return kOk;
  auto opened = StateDirectory::open(settings_.state.dir->value);
  if (opened.directory == nullptr)
    return fail(opened.taken ? kRefused : kUnreachable, opened.message);
  process_.directory = std::move(opened.directory);
  secret_ = process_.directory->secret();
  return kOk;
}

int Startup::read_redis() {
  if (!settings_.redis) return kOk;
  std::string message;
  redis_.emplace();
  if (!read_shared_store(settings_, *redis_, message)) return fail(kUnreachable, message);
  secret_ = redis_->secret;  // replicas mean the same by a hash
  process_.operators = redis_->sharing;
  process_.operators.origin = random_origin();
  if (process_.directory == nullptr) return kOk;
  if (process_.directory->take_secret(secret_) != 0) {
    log_.write(
        Level::warn,
        LogLine("the state's keys were hashed with another secret than that of "
                "redis; weir starts with empty counters and lists, and keeps the files as *.bad"));
  }
  return kOk;
}

std::size_t Startup::worker_count() const { return process_.metrics->writers() - kOtherWriters; }

int Startup::build_stores() {
  const unsigned threads = threads_of(settings_, machine_);
  process_.metrics = std::make_unique<telemetry::Metrics>(threads + kOtherWriters);
  try {
    process_.counters = std::make_unique<limiter::Bank>(
        limiter::BankLimits{settings_.limits.memory, settings_.limits.keys});
  } catch (const std::bad_alloc&) {
    return fail(
        kNo, "no memory for the counters: limits.memory is " + human_size(settings_.limits.memory));
  }
  process_.lists = std::make_unique<limiter::ListBank>();
  process_.stats = std::make_unique<policies::StatsBank>(threads);
  process_.latency = std::make_unique<telemetry::Latency>(threads);
  process_.patterns = std::make_unique<limiter::PatternBank>(
      limiter::PatternLimits{limiter::pattern_memory(settings_.limits.memory)});
  process_.shared =
      std::make_unique<gate::Shared>(*process_.counters, *process_.lists, secret_, *process_.stats);
  process_.shared->patterns = process_.patterns.get();
  process_.shared->latency = process_.latency.get();
  if (redis_) {  // also without a policy that exchanges counts: a reload may bring one
    process_.synced = std::make_unique<limiter::SyncTable>(synced_keys(settings_.limits));
    process_.shared->synced = process_.synced.get();
  }
  process_.shared->wall_offset_ms = to_ms(Clock::wall()) - to_ms(process_.clock.now());
  return kOk;
}

// With the limits of tables and the overrides that people have set over the files.
int Startup::use_configuration() {
  process_.tables = std::make_unique<TableChanges>(
      control_, log_, process_.directory != nullptr ? process_.directory->path() : std::string());
  process_.tables->need_approval(settings_.admin.approval);
  if (const std::string wrong = process_.tables->load(); !wrong.empty()) return fail(kNo, wrong);
  if (redis_) {
    process_.fleet = std::make_unique<Fleet>(control_, *redis_, process_.clock, log_);
    process_.initial_overrides = process_.fleet->start(kMeetFleet, *process_.tables);
  }
  process_.set = initial_.set;
  if (!process_.tables->edits().empty() || !process_.initial_overrides.empty())
    process_.set =
        with_tables(initial_, process_.tables->edits(), process_.initial_overrides, log_);
  if (auto attached = process_.set->attach(*process_.counters, *process_.lists, secret_,
                                           process_.patterns.get());
      !attached) {
    return fail(kNo, "the counters do not fit into limits.memory, " +
                         human_size(settings_.limits.memory) + " (" + attached.error().message() +
                         "); \"weir check\" says what each needs");
  }
  if (redis_) process_.views.share(secret_);
  process_.set->attach_views(process_.views);
  process_.feeds = std::make_unique<ListFeeds>(
      control_, secret_, process_.directory != nullptr ? process_.directory->path() : std::string(),
      process_.clock, log_,
      [&process = process_](const std::shared_ptr<const limiter::BulkList>& list) {
        // Each thread drops its share after its current event: then the list has no more readers.
        process.workers.post_to_all([list](ServingWorker&) {});
        boost::asio::post(process.control, [list] {});
      });
  process_.feeds->attach(*process_.set);
  if (const std::string refusal = process_.feeds->load_new(); !refusal.empty())
    return fail(kNo, refusal);
  return kOk;
}

// After the counters and lists of the configuration exist.
int Startup::restore_state() {
  if (process_.directory != nullptr) {
    process_.state =
        std::make_unique<State>(*process_.directory, *process_.counters, *process_.lists, log_,
                                process_.metrics->cells(worker_count() + kStateWriter));
    process_.state->keep_patterns(*process_.patterns);
    process_.state->restore(process_.clock.now(), Clock::wall());
    process_.tables->tell_whether_written(
        [&process = process_](const std::string& why) { process.state->tell_of_tables(why); });
  }
  return kOk;
}

int Startup::build_report() {
  process_.report = std::make_unique<Report>(control_, worker_count(), secret_, log_,
                                             process_.metrics->control());
  process_.report->use(initial_.model());
  if (redis_) {
    process_.sharing =
        std::make_unique<ListSharing>(control_, redis_->store, secret_, *process_.lists, log_);
    process_.shared_views = std::make_unique<ViewSharing>(redis_->store, secret_, log_);
    process_.report->ask_makers([&process = process_](limiter::ListId list, const Hash128& key,
                                                      std::function<void(bool)> tell) {
      process.sharing->ask_maker(list, key, std::move(tell));
    });
  }
  if (options_.viewer) process_.report->watch(options_.viewer);
  return kOk;
}

/// A name that does not resolve does not prevent the start: it is resolved again later.
int Startup::find_upstreams() {
  if (!settings_.proxy.upstream) return kOk;
  const config::Endpoint& at = settings_.proxy.upstream->value;
  process_.names = std::make_unique<UpstreamNames>(at);
  process_.names->begin(process_.clock.now(), kPatienceForNames);
  if (process_.names->why_not().empty()) return kOk;
  if (at.is_unix()) return fail(kNo, "proxy.upstream: " + process_.names->why_not());
  log_.write(Level::warn, LogLine("proxy.upstream does not resolve; requests get 503 until it does")
                              .add("why", process_.names->why_not()));
  return kOk;
}

int Startup::open_logs() {
  const std::size_t count = worker_count();
  const auto& audit = settings_.audit;
  process_.audit = std::make_unique<Audit>(secret_, log_, process_.metrics->control());
  process_.audit->use(settings_.log.readable_keys);
  if (options_.viewer) process_.audit->keep_out_of_log();
  const std::string path = audit.path ? audit.path->value : std::string();
  // A disk that is full or read-only must not keep the app from coming back.
  if (auto opened = process_.audit->open(path, audit.keep); !opened) {
    log_.write(
        Level::error,
        LogLine("can't open the audit log; its lines go into this log until the file can be opened")
            .add("file", path)
            .add("error", opened.error().message()));
  }
  if (!settings_.access_log.is_on && !settings_.tracing.endpoint) return kOk;
  process_.access_log =
      std::make_unique<AccessLog>(log_, process_.metrics->cells(count + kAccessWriter));
  if (settings_.tracing.endpoint) {
    process_.tracing =
        std::make_unique<Tracing>(settings_.tracing.endpoint->value,
                                  SpanSource{settings_.tracing.service, std::string(kVersion)},
                                  log_, process_.metrics->cells(count + kTraceWriter));
  }
  if (!settings_.access_log.is_on) return kOk;
  if (auto opened = process_.access_log->open(settings_.access_log.path); !opened) {
    log_.write(Level::error,
               LogLine("can't open the access log; its lines are lost until the file can be opened")
                   .add("file", settings_.access_log.path)
                   .add("error", opened.error().message()));
  }
  return kOk;
}

int Startup::build_workers() {
  if (const int code = find_upstreams(); code != kOk) return code;
  const std::size_t count = worker_count();
  const ConnectionShares shares = share_connections(
      settings_.limits.connections, process_.open_files, count, doors_of(settings_));
  const std::uint64_t connections = shares.clients;
  warn_of_few_files(log_, settings_, shares, process_.open_files, count);
  process_.operator_connections = shares.operators;
  process_.event_connections = shares.events;
  // One address gets no more than its part of the limit, also of a limit that was cut down.
  process_.connections = std::make_unique<net::ConnectionBudget>(
      connections, settings_.limits.connections_per_ip.value_or(
                       std::max<std::uint64_t>(1, connections - connections / 4)));
  process_.proxy_settings = proxy_settings(settings_, *process_.connections);
  process_.proxy_settings.used_names = used_header_names(*process_.set);
  // A worker cannot use the idle connections of another worker, and they need descriptors.
  process_.proxy_settings.upstream_idle_max = shares.idle;
  process_.proxy_settings.buffer_bytes = process_.buffers / count;
  if (!options_.record.path.empty()) {
    process_.recording = std::make_unique<Recording>(
        options_.record, secret_, log_, process_.metrics->cells(count + kRecordWriter));
    if (auto opened = process_.recording->open(); !opened) {
      return fail(kUnreachable, "--record: can't write " + options_.record.path + ": " +
                                    opened.error().message());
    }
  }
  process_.door_settings = door_settings(settings_);
  process_.door_settings.connections_max = shares.http_door;
  process_.door_settings.buffer_bytes =
      check_buffer_bytes(settings_.limits, process_.proxy_settings.buffer_bytes);
  const std::string why = process_.front_doors.make(
      {settings_, process_.proxy_settings.buffer_bytes, shares.door, process_.metrics->rules()});
  if (!why.empty()) return fail(kUnreachable, why);
  workers_.make(count, [&](net::Worker& thread, std::size_t i) {
    auto worker = std::make_unique<ServingWorker>(
        thread, i, count, *process_.shared, settings_, process_.proxy_settings,
        process_.door_settings, unsettled_most(settings_, count, process_.machine.memory),
        process_.front_doors, process_.metrics->cells(i), process_.metrics->rules(),
        process_.limitador_counters, process_.report->observer(i), redis_ ? &*redis_ : nullptr);
    if (process_.recording != nullptr)
      worker->gate.record_to(&process_.recording->add(process_.metrics->cells(i)));
    worker->gate.use(process_.set);
    if (process_.names != nullptr) worker->server.use_upstreams(process_.names->addresses());
    const std::size_t noted = noted_requests(count, machine_.memory);
    if (process_.access_log != nullptr)
      worker->sink = &process_.access_log->add(process_.metrics->cells(i), noted);
    if (process_.tracing != nullptr) {
      worker->sink->trace(settings_.tracing.sample);
      process_.tracing->read(*worker->sink);
    }
    worker->server.observe(worker->sink, &process_.latency->cells(i));
    return worker;
  });
  if (redis_) {
    process_.redis_watch = std::make_unique<RedisWatch>(control_, workers_, *process_.synced, log_,
                                                        process_.metrics->control());
  }
  const PolicySwap::Stores stores{*process_.counters, *process_.lists, *process_.patterns,
                                  process_.views, secret_};
  process_.swap =
      std::make_unique<PolicySwap>(stores, *process_.feeds, workers_, redis_.has_value(), log_);
  process_.use_access_log(settings_);
  return kOk;
}

int Startup::door_failed(const char* door, const config::Endpoint& at,
                         const std::optional<config::Text>& token_file,
                         const boost::system::error_code& error) const {
  const std::string name = door;
  if (error == make_error_code(Error::refused)) {
    return fail(kNo, name + ".listen " + endpoint_text(at) +
                         " can be reached from other machines: it needs " + name +
                         ".token_file, or listen on 127.0.0.1 or a Unix socket");
  }
  if (error == make_error_code(Error::unavailable)) {
    return fail(kUnreachable, name + ".token_file " + (token_file ? token_file->value : "") +
                                  " can't be read, or is empty");
  }
  return cannot_listen(door, endpoint_text(at), error);
}

// Last: its events are judged by workers that run.
int Startup::open_api() {
  const config::Server::Api& settings = settings_.api;
  if (settings.none) return kOk;
  const config::Endpoint at = process_.api_address();
  const auto address = door_address(at, nullptr);
  if (!address) return cannot_listen("api", endpoint_text(at), address.error());
  api::ApiSettings door{*address, std::nullopt};
  if (settings.token_file) door.token_file = settings.token_file->value;
  door.hosts = settings.hosts;
  door.bodies_bytes = body_bytes(machine_.memory);
  door.connections = process_.event_connections;
  make_rate_limit_paths();
  door.others = process_.rate_limit_paths.get();
  process_.api_server =
      std::make_unique<api::ApiServer>(control_, door, workers_, process_.metrics->control());
  if (!process_.door_settings.doors.empty()) return open_api_doors(*address, at);
  const auto started = process_.api_server->start();
  if (started) return kOk;
  process_.api_server.reset();
  // Without a proxy, and without gRPC, the paths of rate limit services are all there is.
  const bool needed = !settings_.proxy.upstream && !asks_for_door(settings_);
  if (settings.listen || needed || started.error() != boost::system::errc::address_in_use) {
    return door_failed("api", at, settings.token_file, started.error());
  }
  // The address is a default: a second weir on this machine runs without this door.
  log_.write(Level::warn, LogLine("no event API: its port is taken")
                              .add("address", endpoint_text(at))
                              .add("hint", "set api.listen to another one, or to none"));
  return kOk;
}

void Startup::make_rate_limit_paths() {
  process_.rate_limit_paths = std::make_unique<RateLimitPaths>(
      control_, process_.metrics->rules(),
      [&process = process_] {
        const std::int64_t failed = process.metrics->sum(telemetry::Metric::reloads_failed);
        const authz::LimitadorStatus status{process.started, process.loaded,
                                            process.metrics->sum(telemetry::Metric::reloads_ok),
                                            failed - process.failed_before};
        return RateLimitPaths::Facts{process.set->ratelimit, !process.drain.is_on(), status};
      },
      [&process = process_](auto work) {
        ServingWorker& to =
            process.workers[process.next_rate_limit_worker++ % process.workers.size()];
        to.thread.post([&to, work = std::move(work)] {
          work({to.rate_limit_http, to.limitador}, to.thread.now());
        });
      });
}

/// The workers take the connections, and give those of the event API to its server.
int Startup::open_api_doors(const net::SocketAddress& address, const config::Endpoint& at) {
  if (const auto taken = is_taken(address)) return cannot_listen("api", endpoint_text(at), taken);
  auto sockets = net::open_listeners(address, workers_.size());
  if (!sockets) return cannot_listen("api", endpoint_text(at), sockets.error());
  const auto bound = net::SocketAddress::of_socket(sockets->front().get());
  if (!bound) return cannot_listen("api", endpoint_text(at), bound.error());
  if (auto started = process_.api_server->start_behind(*bound); !started)
    return door_failed("api", at, settings_.api.token_file, started.error());
  const auto started = workers_.listen(
      std::move(*sockets), [api = process_.api_server.get()](ServingWorker& worker, net::Fd fd) {
        worker.checks->give_others_to([api](net::Fd other, std::string sent) {
          api->adopt(std::move(other), std::move(sent));
        });
        return worker.checks->listen(std::move(fd));
      });
  return started ? int{kOk} : cannot_listen("api", endpoint_text(at), started.error());
}

int Startup::open_doors() {
  const admin::Stores stores{*process_.counters,
                             *process_.lists,
                             *process_.stats,
                             *process_.metrics,
                             secret_,
                             process_.patterns.get(),
                             process_.latency.get(),
                             process_.proxy_settings.upstream_name,
                             redis_ ? &process_.operators : nullptr};
  const auto bound = [](const config::Endpoint& endpoint) {
    return door_address(endpoint, nullptr);
  };

  const config::Endpoint& at = settings_.health.listen.value;
  const auto health_address = bound(at);
  if (!health_address) return cannot_listen("health", endpoint_text(at), health_address.error());
  admin::HealthSettings health_settings{*health_address};
  health_settings.connections = process_.operator_connections;
  process_.health_server = std::make_unique<admin::HealthServer>(control_, health_settings,
                                                                 operations_, workers_, stores);
  if (auto started = process_.health_server->start(); !started)
    return cannot_listen("health", endpoint_text(at), started.error());

  const config::Endpoint& back = settings_.admin.listen.value;
  const auto admin_address = bound(back);
  if (!admin_address) return cannot_listen("admin", endpoint_text(back), admin_address.error());
  admin::AdminSettings admin_settings{*admin_address, std::nullopt};
  if (settings_.admin.token_file) admin_settings.token_file = settings_.admin.token_file->value;
  admin_settings.hosts = settings_.admin.hosts;
  admin_settings.replicas = settings_.admin.replicas;
  admin_settings.connections = process_.operator_connections;
  if (process_.fleet != nullptr) {
    admin_settings.tell_others = process_.fleet->join_doors(
        [&process = process_](std::string_view text) { process.admin_server->hear(text); });
  }
  process_.admin_server =
      std::make_unique<admin::AdminServer>(control_, admin_settings, operations_, stores);
  if (auto started = process_.admin_server->start(); !started)
    return door_failed("admin", back, settings_.admin.token_file, started.error());

  if (!settings_.proxy.upstream) {
    workers_.start();
    if (process_.redis_watch != nullptr) process_.redis_watch->meet();
    return kOk;
  }
  const config::Endpoint& front = settings_.proxy.listen.value;
  const auto address = bound(front);
  if (!address) return cannot_listen("proxy", endpoint_text(front), address.error());
  if (const auto taken = is_taken(*address))
    return cannot_listen("proxy", endpoint_text(front), taken);
  auto sockets = net::open_listeners(*address, workers_.size());
  if (!sockets) return cannot_listen("proxy", endpoint_text(front), sockets.error());

  workers_.start();
  if (process_.redis_watch != nullptr) process_.redis_watch->meet();
  const auto started = workers_.listen(std::move(*sockets), [](ServingWorker& worker, net::Fd fd) {
    return worker.server.listen(std::move(fd));
  });
  return started ? kOk : cannot_listen("proxy", endpoint_text(front), started.error());
}

int Startup::open_front_doors() {
  const auto listen = [this](std::vector<net::Fd> sockets, std::size_t door) {
    return workers_.listen(std::move(sockets), [door](ServingWorker& worker, net::Fd fd) {
      return worker.doors[door]->listen(std::move(fd));
    });
  };
  const auto refused = process_.front_doors.open(workers_.size(), listen, log_);
  return refused ? cannot_listen(refused->name, refused->at, refused->error) : int{kOk};
}

}  // namespace weir::app
