#include "app/serve/wiring.h"

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

/// How weir starts: every step says what is wrong with it in a sentence, and gives the exit code.
namespace weir::app {
namespace {

// For the app's name at the start. A resolver without an answer takes many seconds to say so.
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

const config::Endpoint kApiDefault{"127.0.0.1", 8484, ""};

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

Wiring::Wiring(Options options)
    : log_(Level::info, true),
      options_(std::move(options)),
      manager_(service_settings([](const char* name) -> const char* { return std::getenv(name); },
                                ::getpid())),
      started_(Clock::wall()),
      secret_(HashSecret::random()),
      signals_(control_),
      tick_timer_(control_),
      tasks_(control_.get_executor(),
             [this](const std::exception_ptr&) {
               log_.write(Level::error, LogLine("a task ended by an exception: a bug in weir"));
             }),
      workers_(control_) {}

// Before anything that the threads may use.
Wiring::~Wiring() { workers_.stop(); }

int Wiring::load() {
  initial_configuration_ = options_.load();
  const config::Problems& problems = initial_configuration_.loaded.problems;
  if (!initial_configuration_.good()) {
    complain("can't start with this configuration:");
    config::Problems shown;
    for (const config::Problem* problem : problems.first(kProblemsShown)) {
      if (problem->severity == config::Problem::Severity::error)
        shown.error(problem->where, problem->message, problem->hint);
      else
        shown.warning(problem->where, problem->message, problem->hint);
    }
    shown.sort();
    std::string text =
        config::render_human(shown, initial_configuration_.loaded.views(), options_.colours);
    if (problems.all().size() > kProblemsShown) {
      text += "and " + std::to_string(problems.all().size() - kProblemsShown) +
              " more; \"weir check\" lists them all\n";
    }
    static_cast<void>(std::fwrite(text.data(), 1, text.size(), stderr));
    return kNo;
  }
  settings_ = initial_configuration_.model().server;
  log_.use(level_named(settings_.log.level), settings_.log.json);
  log_problems(log_, initial_configuration_);
  log_.flush(kBeforeWords);  // before what else is said on stderr
  if (!settings_.proxy.upstream && !is_asked(settings_)) {
    return fail(kNo,
                "proxy.upstream is missing: where is the app? For instance\n"
                "  proxy: {upstream: http://127.0.0.1:3000}\nor WEIR_PROXY_UPSTREAM; without it "
                "another proxy has to ask here (api.ext_authz, api.forward_auth, ratelimit)");
  }
  return kOk;
}

int Wiring::fit_into_machine() {
  machine_ = look_at_machine();
  open_files_ = raise_open_files();
  const bool patterns = !initial_configuration_.set->patterns.empty();
  const unsigned threads = threads_of(settings_, machine_);
  buffers_ = buffer_bytes(settings_.limits, threads, machine_.memory);
  if (settings_.limits.buffers && *settings_.limits.buffers < buffers_) {
    log_.write(Level::warn, LogLine("limits.buffers is too small for the workers; they keep more")
                                .add("limit", human_size(*settings_.limits.buffers))
                                .add("workers", std::int64_t{threads})
                                .add("buffers", human_size(buffers_)));
  }
  const std::uint64_t fixed = memory_beside(settings_, machine_);
  const std::uint64_t beside =
      fixed + (patterns ? limiter::pattern_memory(settings_.limits.memory) : std::uint64_t{0});
  if (machine_.memory && settings_.limits.memory + beside > *machine_.memory) {
    const std::uint64_t room = counter_room(*machine_.memory, fixed, patterns);
    if (!settings_.limits.memory_given && room >= kLeastCounters) {
      settings_.limits.memory = room;
      log_.write(Level::info, LogLine("limits.memory is what the cgroup has room for")
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

int Wiring::open_state() {
  if (!settings_.state.dir) return kOk;
  auto opened = StateDirectory::open(settings_.state.dir->value);
  if (opened.directory == nullptr)
    return fail(opened.taken ? kRefused : kUnreachable, opened.message);
  directory_ = std::move(opened.directory);
  secret_ = directory_->secret();
  return kOk;
}

int Wiring::read_redis() {
  if (!settings_.redis) return kOk;
  std::string message;
  redis_.emplace();
  if (!read_shared_store(settings_, *redis_, message)) return fail(kUnreachable, message);
  secret_ = redis_->secret;  // replicas mean the same by a hash
  operators_ = redis_->sharing;
  operators_.origin = random_origin();
  if (directory_ == nullptr) return kOk;
  if (directory_->take_secret(secret_) != 0) {
    log_.write(Level::warn, LogLine("the state's keys were hashed with another secret than that of "
                                    "redis; weir begins afresh, the files are kept as *.bad"));
  }
  return kOk;
}

int Wiring::build_stores() {
  const unsigned threads = threads_of(settings_, machine_);
  metrics_ = std::make_unique<telemetry::Metrics>(threads + kOtherWriters);
  try {
    counters_ = std::make_unique<limiter::Bank>(
        limiter::BankLimits{settings_.limits.memory, settings_.limits.keys});
  } catch (const std::bad_alloc&) {
    return fail(
        kNo, "no memory for the counters: limits.memory is " + human_size(settings_.limits.memory));
  }
  lists_ = std::make_unique<limiter::ListBank>();
  stats_ = std::make_unique<policies::StatsBank>(threads);
  latency_ = std::make_unique<telemetry::Latency>(threads);
  patterns_ = std::make_unique<limiter::PatternBank>(
      limiter::PatternLimits{limiter::pattern_memory(settings_.limits.memory)});
  shared_ = std::make_unique<gate::Shared>(*counters_, *lists_, secret_, *stats_);
  shared_->patterns = patterns_.get();
  shared_->latency = latency_.get();
  if (redis_) {  // also without a policy that exchanges counts: a reload may bring one
    synced_ = std::make_unique<limiter::SyncTable>(synced_keys(settings_.limits));
    shared_->synced = synced_.get();
  }
  shared_->wall_offset_ms = to_ms(Clock::wall()) - to_ms(clock_.now());
  tables_ = std::make_unique<TableChanges>(
      control_, log_, directory_ != nullptr ? directory_->path() : std::string());
  tables_->need_approval(settings_.admin.approval);
  if (const std::string wrong = tables_->load(); !wrong.empty()) return fail(kNo, wrong);
  if (redis_) {
    fleet_ = std::make_unique<Fleet>(control_, *redis_, clock_, log_);
    initial_overrides_ = fleet_->start(kMeetFleet, *tables_);
  }
  set_ = initial_configuration_.set;
  if (!tables_->edits().empty() || !initial_overrides_.empty())
    set_ = with_tables(initial_configuration_, tables_->edits(), initial_overrides_, log_);
  if (auto attached = set_->attach(*counters_, *lists_, secret_, patterns_.get()); !attached) {
    return fail(kNo, "the counters do not fit into limits.memory, " +
                         human_size(settings_.limits.memory) + " (" + attached.error().message() +
                         "); \"weir check\" says what each needs");
  }
  if (redis_) views_.share(secret_);
  set_->attach_views(views_);
  feeds_ = std::make_unique<ListFeeds>(
      control_, secret_, directory_ != nullptr ? directory_->path() : std::string(), clock_, log_,
      [this](const std::shared_ptr<const limiter::BulkList>& list) {
        // Each drops its share after the event that it is at: then nobody reads the list any more.
        workers_.post_to_all([list](ServingWorker&) {});
        boost::asio::post(control_, [list] {});
      });
  feeds_->attach(*set_);
  if (const std::string refusal = feeds_->load_new(); !refusal.empty()) return fail(kNo, refusal);
  if (directory_ != nullptr) {
    state_ = std::make_unique<State>(*directory_, *counters_, *lists_, log_,
                                     metrics_->cells(threads + kStateWriter));
    state_->keep_patterns(*patterns_);
    state_->restore(clock_.now(), Clock::wall());
    tables_->tell_whether_written([this](const std::string& why) { state_->tell_of_tables(why); });
  }
  report_ = std::make_unique<Report>(control_, threads, secret_, log_, metrics_->control());
  report_->use(initial_configuration_.model());
  if (redis_) {
    sharing_ = std::make_unique<ListSharing>(control_, redis_->store, secret_, *lists_, log_);
    shared_views_ = std::make_unique<ViewSharing>(redis_->store, secret_, log_);
    report_->ask_makers(
        [this](limiter::ListId list, const Hash128& key, std::function<void(bool)> tell) {
          sharing_->ask_maker(list, key, std::move(tell));
        });
  }
  if (options_.viewer) report_->watch(options_.viewer);
  return kOk;
}

/// A name that nobody knows is no reason not to start: it is looked up again.
int Wiring::find_upstreams() {
  if (!settings_.proxy.upstream) return kOk;
  const config::Endpoint& at = settings_.proxy.upstream->value;
  names_ = std::make_unique<UpstreamNames>(at);
  names_->begin(clock_.now(), kPatienceForNames);
  if (names_->why_not().empty()) return kOk;
  if (at.is_unix()) return fail(kNo, "proxy.upstream: " + names_->why_not());
  log_.write(Level::warn, LogLine("proxy.upstream does not resolve; requests get 503 until it does")
                              .add("why", names_->why_not()));
  return kOk;
}

int Wiring::open_logs() {
  const std::size_t threads = metrics_->writers() - kOtherWriters;
  const auto& audit = settings_.audit;
  audit_ = std::make_unique<Audit>(secret_, log_, metrics_->control());
  audit_->use(settings_.log.readable_keys);
  if (options_.viewer) audit_->keep_out_of_log();
  const std::string path = audit.path ? audit.path->value : std::string();
  // A disk that is full or read-only must not keep the app from coming back.
  if (auto opened = audit_->open(path, audit.keep); !opened) {
    log_.write(Level::error,
               LogLine("can't open the audit log; its lines go into this log until that is mended")
                   .add("file", path)
                   .add("error", opened.error().message()));
  }
  if (!settings_.access_log.is_on && !settings_.tracing.endpoint) return kOk;
  access_log_ = std::make_unique<AccessLog>(log_, metrics_->cells(threads + kAccessWriter));
  if (settings_.tracing.endpoint) {
    tracing_ =
        std::make_unique<Tracing>(settings_.tracing.endpoint->value,
                                  SpanSource{settings_.tracing.service, std::string(kVersion)},
                                  log_, metrics_->cells(threads + kTraceWriter));
  }
  if (!settings_.access_log.is_on) return kOk;
  if (auto opened = access_log_->open(settings_.access_log.path); !opened) {
    log_.write(Level::error,
               LogLine("can't open the access log; its lines are lost until that is mended")
                   .add("file", settings_.access_log.path)
                   .add("error", opened.error().message()));
  }
  return kOk;
}

int Wiring::build_workers() {
  if (const int code = find_upstreams(); code != kOk) return code;
  const std::size_t count = metrics_->writers() - kOtherWriters;
  const ConnectionShares shares =
      share_connections(settings_.limits.connections, open_files_, count, doors_of(settings_));
  const std::uint64_t connections = shares.clients;
  warn_of_few_files(log_, settings_, shares, open_files_, count);
  operator_connections_ = shares.operators;
  event_connections_ = shares.events;
  // One address gets no more than its part of the limit, also of a limit that was cut down.
  connections_ = std::make_unique<net::ConnectionBudget>(
      connections, settings_.limits.connections_per_ip.value_or(
                       std::max<std::uint64_t>(1, connections - connections / 4)));
  proxy_settings_ = proxy_settings(settings_, *connections_);
  proxy_settings_.used_names = used_header_names(*set_);
  // What one worker keeps idle is no use to another, and needs descriptors.
  proxy_settings_.upstream_idle_max = shares.idle;
  proxy_settings_.buffer_bytes = buffers_ / count;
  if (!options_.record.path.empty()) {
    recording_ = std::make_unique<Recording>(options_.record, secret_, log_,
                                             metrics_->cells(count + kRecordWriter));
    if (auto opened = recording_->open(); !opened) {
      return fail(kUnreachable, "--record: can't write " + options_.record.path + ": " +
                                    opened.error().message());
    }
  }
  door_settings_ = door_settings(settings_);
  door_settings_.connections_max = shares.http_door;
  door_settings_.buffer_bytes = check_buffer_bytes(settings_.limits, proxy_settings_.buffer_bytes);
  const std::string why =
      front_doors_.make({settings_, proxy_settings_.buffer_bytes, shares.door, metrics_->rules()});
  if (!why.empty()) return fail(kUnreachable, why);
  workers_.make(count, [&](net::Worker& thread, std::size_t i) {
    auto worker = std::make_unique<ServingWorker>(
        thread, i, count, *shared_, settings_, proxy_settings_, door_settings_, front_doors_,
        metrics_->cells(i), metrics_->rules(), limitador_counters_, report_->observer(i),
        redis_ ? &*redis_ : nullptr);
    if (recording_ != nullptr) worker->gate.record_to(&recording_->add(metrics_->cells(i)));
    worker->gate.use(set_);
    if (names_ != nullptr) worker->server.use_upstreams(names_->addresses());
    const std::size_t noted = noted_requests(count, machine_.memory);
    if (access_log_ != nullptr) worker->sink = &access_log_->add(metrics_->cells(i), noted);
    if (tracing_ != nullptr) {
      worker->sink->trace(settings_.tracing.sample);
      tracing_->read(*worker->sink);
    }
    worker->server.observe(worker->sink, &latency_->cells(i));
    return worker;
  });
  if (redis_) {
    redis_watch_ =
        std::make_unique<RedisWatch>(control_, workers_, *synced_, log_, metrics_->control());
  }
  const PolicySwap::Stores stores{*counters_, *lists_, *patterns_, views_, secret_};
  swap_ = std::make_unique<PolicySwap>(stores, *feeds_, workers_, redis_.has_value(), log_);
  use_access_log(settings_);
  return kOk;
}

int Wiring::door_failed(const char* door, const config::Endpoint& at,
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
int Wiring::open_api() {
  const config::Server::Api& settings = settings_.api;
  if (settings.none) return kOk;
  const config::Endpoint at = settings.listen ? settings.listen->value : kApiDefault;
  const auto address = door_address(at, nullptr);
  if (!address) return cannot_listen("api", endpoint_text(at), address.error());
  api::ApiSettings door{*address, std::nullopt};
  if (settings.token_file) door.token_file = settings.token_file->value;
  door.hosts = settings.hosts;
  door.bodies_bytes = body_bytes(machine_.memory);
  door.connections = event_connections_;
  make_rate_limit_paths();
  door.others = rate_limit_paths_.get();
  api_ = std::make_unique<api::ApiServer>(control_, door, workers_, metrics_->control());
  if (!door_settings_.doors.empty()) return open_api_doors(*address, at);
  const auto started = api_->start();
  if (started) return kOk;
  api_.reset();
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

/// The workers take the connections, and give those that tell of events to the event API.
int Wiring::open_api_doors(const net::SocketAddress& address, const config::Endpoint& at) {
  if (const auto taken = is_taken(address)) return cannot_listen("api", endpoint_text(at), taken);
  auto sockets = net::open_listeners(address, workers_.size());
  if (!sockets) return cannot_listen("api", endpoint_text(at), sockets.error());
  const auto bound = net::SocketAddress::of_socket(sockets->front().get());
  if (!bound) return cannot_listen("api", endpoint_text(at), bound.error());
  if (auto started = api_->start_behind(*bound); !started)
    return door_failed("api", at, settings_.api.token_file, started.error());
  const auto started =
      workers_.listen(std::move(*sockets), [api = api_.get()](ServingWorker& worker, net::Fd fd) {
        worker.checks->give_others_to([api](net::Fd other, std::string sent) {
          api->adopt(std::move(other), std::move(sent));
        });
        return worker.checks->listen(std::move(fd));
      });
  return started ? int{kOk} : cannot_listen("api", endpoint_text(at), started.error());
}

int Wiring::open_doors() {
  admin::Operations& operations = *this;  // a private base: make_unique may not convert
  const admin::Stores stores{*counters_,
                             *lists_,
                             *stats_,
                             *metrics_,
                             secret_,
                             patterns_.get(),
                             latency_.get(),
                             proxy_settings_.upstream_name,
                             redis_ ? &operators_ : nullptr};
  const auto bound = [](const config::Endpoint& endpoint) {
    return door_address(endpoint, nullptr);
  };

  const config::Endpoint& at = settings_.health.listen.value;
  const auto health_address = bound(at);
  if (!health_address) return cannot_listen("health", endpoint_text(at), health_address.error());
  admin::HealthSettings health_settings{*health_address};
  health_settings.connections = operator_connections_;
  health_ = std::make_unique<admin::HealthServer>(control_, health_settings, operations, workers_,
                                                  stores);
  if (auto started = health_->start(); !started)
    return cannot_listen("health", endpoint_text(at), started.error());

  const config::Endpoint& back = settings_.admin.listen.value;
  const auto admin_address = bound(back);
  if (!admin_address) return cannot_listen("admin", endpoint_text(back), admin_address.error());
  admin::AdminSettings admin_settings{*admin_address, std::nullopt};
  if (settings_.admin.token_file) admin_settings.token_file = settings_.admin.token_file->value;
  admin_settings.hosts = settings_.admin.hosts;
  admin_settings.replicas = settings_.admin.replicas;
  admin_settings.connections = operator_connections_;
  if (fleet_ != nullptr) {
    admin_settings.tell_others =
        fleet_->join_doors([this](std::string_view text) { admin_->hear(text); });
  }
  admin_ = std::make_unique<admin::AdminServer>(control_, admin_settings, operations, stores);
  if (auto started = admin_->start(); !started)
    return door_failed("admin", back, settings_.admin.token_file, started.error());

  if (!settings_.proxy.upstream) {
    workers_.start();
    if (redis_watch_ != nullptr) redis_watch_->meet();
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
  if (redis_watch_ != nullptr) redis_watch_->meet();
  const auto started = workers_.listen(std::move(*sockets), [](ServingWorker& worker, net::Fd fd) {
    return worker.server.listen(std::move(fd));
  });
  return started ? kOk : cannot_listen("proxy", endpoint_text(front), started.error());
}

int Wiring::open_front_doors() {
  const auto listen = [this](std::vector<net::Fd> sockets, std::size_t door) {
    return workers_.listen(std::move(sockets), [door](ServingWorker& worker, net::Fd fd) {
      return worker.doors[door]->listen(std::move(fd));
    });
  };
  const auto refused = front_doors_.open(workers_.size(), listen, log_);
  return refused ? cannot_listen(refused->name, refused->at, refused->error) : int{kOk};
}

void Wiring::begin_service() {
  loaded_ = Clock::wall();
  serve_changes();
  if (fleet_ != nullptr) serve_fleet();
  tables_->files_changed();  // since the last process
  if (options_.included != nullptr) follow_included_texts();
  if (options_.watch_files) reload_->watch();
  report_->start();
  if (access_log_ != nullptr) access_log_->start();
  if (tracing_ != nullptr) tracing_->start();
  if (sharing_ != nullptr) sharing_->use(*set_);
  if (shared_views_ != nullptr) shared_views_->use(*set_);
  feeds_->use(*set_);
  if (state_ != nullptr) state_->start(clock_);
  if (recording_ != nullptr) {
    recording_->tell(*set_);
    recording_->start();
  }
  swap_->close_unused(*set_);  // lists that the state has and this configuration has not
  tick();
  give_back_memory_of_start();
  say_ready();
  manager_.ready("serving, " + std::to_string(set_->policy_count()) + " policies");
  if (const auto limit = manager_.watchdog()) tasks_.spawn(feed_watchdog(*limit));
  audit_->tell_of_own("start", "weir",
                      {{"config", set_->source_hash}, {"version", kVersion}, {"commit", commit()}});
  if (options_.started) options_.started(initial_configuration_.model(), *set_);
  initial_configuration_ = {};  // its texts are not needed any more
}

/// Reloads, and changes of tables: who is told of them.
void Wiring::serve_changes() {
  Swap& swap = *this;
  reload_ = std::make_unique<Reload>(control_, options_.load, swap, log_, metrics_->control());
  reload_->started_with(initial_configuration_, tables_->edits(), std::move(initial_overrides_));
  reload_->tell_to(
      [this](const std::string& cause, const std::string& before, const admin::LoadReport& report) {
        if (report.ok) tables_->files_changed();
        if (fleet_ != nullptr) fleet_->take_again();
        if (cause == kByApi) return;  // whose door says who asked
        audit_->tell_of_reload(cause, before, report);
      });
  reload_->tell_ends_to([this](const config::Override& ended, const std::string& problem) {
    audit_->tell_of_end(ended, problem);
  });
  tables_->serve(
      *reload_,
      [this](const std::string& table, const std::string& limits) {
        audit_->tell_of_table(table, limits);
      },
      [this](const admin::TableRecord& record) { audit(Audit::overtaken(record)); });
}

void Wiring::serve_fleet() {
  fleet_->serve(*reload_, *tables_, *audit_, [this] {
    return Fleet::Here{endpoint_text(settings_.admin.listen.value),
                       std::string(kVersion),
                       set_->source_hash,
                       loaded_,
                       started_,
                       reload_->overrides().size(),
                       reload_->unfit_overrides().size(),
                       drain_.is_on()};
  });
}

void Wiring::follow_included_texts() {
  reload_->prepare_by([included = options_.included](std::function<void()> done) {
    included->prepare(std::move(done));
  });
  options_.included->start(
      [this] {
        boost::asio::post(control_, [this] {
          if (!drain_.by_signal) reload_->ask("an included text has changed", true);
        });
      },
      log_);
}

void Wiring::say_ready() {
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
  front_doors_.say_where(line);
  line.add("api", api_ == nullptr        ? "none"
                  : settings_.api.listen ? endpoint_text(settings_.api.listen->value)
                                         : endpoint_text(kApiDefault))
      .add("threads", static_cast<std::int64_t>(workers_.size()))
      .add("policies", static_cast<std::int64_t>(set_->policy_count()))
      .add("config", set_->source_hash);
  log_.write(Level::info, line);
}

}  // namespace weir::app
