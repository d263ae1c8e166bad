#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <fstream>

#include "app/remote/included_texts.h"
#include "app/support/command.h"
#include "app/support/configuration.h"
#include "app/support/exit_code.h"
#include "app/support/files.h"
#include "app/support/usage/command_line.h"
#include "app/tools/progress.h"
#include "app/tools/replay/fail_if.h"
#include "app/tools/replay/replay_bounds.h"
#include "app/tools/replay/replay_store.h"
#include "app/tools/replay/replay_sweep.h"
#include "app/tools/replay/replay_threads.h"
#include "config/text/units.h"
#include "core/chars/ascii.h"
#include "core/time_pattern.h"
#include "replay/formats.h"
#include "replay/report.h"
#include "replay/team.h"

namespace weir::app {
namespace {

constexpr std::string_view kReplayExamples =
    "Examples:\n"
    "  weir replay -c weir.yaml --event request=access.log.gz\n"
    "  weir replay -c shop.yaml --event order=orders.csv --event receipt=receipts.csv --lateness "
    "10s\n"
    "  weir replay --event request=access.log --against next.yaml --fail-if 'deny>0.5%'\n"
    "  weir replay --event login=logins.ndjson -o ndjson --readings login-per-user\n"
    "  weir replay --event request=app.ndjson --map "
    "ts=time,ip=client,method=verb,path=uri,status=code\n"
    "  weir replay --event request=app.csv --map 'ts.%d.%m.%Y "
    "%H:%M:%S=when,ip=client,request=line'\n"
    "  weir replay --event request=access.log --labels bots.txt --sweep login-per-ip=5..50:5\n"
    "  weir replay --event request=access.log.gz --threads 4 -v\n"
    "\n"
    "The policies judge the rows of files as they would have judged the traffic, at the time that "
    "each\n"
    "row says. Files may be compressed (gzip, zstd); - is the standard input. See docs/replay.md.\n"
    "Exit codes: 0 ok, 1 problems in the configuration, no row that can be read, or a --fail-if "
    "or\n"
    "--max-bad that holds, 2 usage, 4 a file can't be read, 5 this configuration can't be "
    "replayed.";

struct ReplayFlags {
  std::string config, order = "arrival", lateness, against, from, to, log_format, report, store,
                      map, labels, sweep, max_bad;
  std::vector<std::string> events, readings, fail_if;
  std::size_t threads = 0;  // 0: one for each core that this process may use
  bool flush = false, verbose = false;
};

int wrong(const std::string& message) {
  complain(message + "\ntry \"weir replay --help\"");
  return kUsage;
}

/// -c names a log, as it seems.
int wrong_log(const std::string& path, bool has_sources) {
  std::string text = "-c names the policies; is \"" + path + "\" a log?";
  if (!has_sources) {
    text += "\ntry: " + weir_line({"replay", "-c", "weir.yaml", "--event", "request=" + path});
  }
  return complain_usage(text);
}

/// `policies:`, `events: {...}`: a key of a map in block form, alone or before a value.
bool begins_with_key(std::string_view line) {
  const auto end = std::find_if_not(line.begin(), line.end(),
                                    [](char c) { return ascii::is_letter(c) || c == '_'; });
  if (end == line.begin() || end == line.end() || *end != ':') return false;
  return end + 1 == line.end() || end[1] == ' ' || end[1] == '\r';
}

/// Whether a file that is no sound configuration has neither the name nor the look of one.
bool looks_like_log(const std::string& path) {
  constexpr std::size_t kBeginning = std::size_t{64} << 10;
  std::error_code error;
  if (is_configuration(path) || !std::filesystem::is_regular_file(path, error)) return false;
  std::ifstream file(path, std::ios::binary);
  if (!file) return false;
  std::string text(kBeginning, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.find("\"weir\":") != std::string::npos) return false;
  const std::string_view view = text;
  for (std::size_t from = 0; from < view.size();) {
    const std::size_t end = std::min(view.find('\n', from), view.size());
    if (begins_with_key(view.substr(from, end - from))) return false;
    from = end + 1;
  }
  return true;
}

int nothing_to_replay(std::string_view event, std::string_view file) {
  return wrong("nothing to replay: name a file, such as --event " + std::string(event) + "=" +
               std::string(file));
}

/// The same, with an event whose rows are no requests, if the configuration has one.
int nothing_to_replay(const policies::PolicySet& set) {
  for (const policies::Event& event : set.events) {
    if (!event.source.empty()) return nothing_to_replay(event.name, "FILE");
  }
  return nothing_to_replay("request", "access.log");
}

/// `2026-11-21`, `2026-11-21T08:00:00Z`, `2026-11-21 08:00:00.5 +0800`, or Unix milliseconds.
std::optional<TimePoint> parse_time(std::string_view text) {
  for (const std::string_view pattern :
       {"%Y-%m-%dT%H:%M:%S%t%z", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S%t%z", "%Y-%m-%d %H:%M:%S",
        "%Y-%m-%d"}) {
    TimePattern::Problem problem;
    std::size_t used = 0;
    const auto compiled = TimePattern::compile(pattern, problem);
    const auto time = compiled->read(text, used);
    if (time && used == text.size()) return time;
  }
  return read_epoch(text, EpochUnit::millis);
}

/// Fills `plan` from the flags. Returns the problem of the flags; empty: none.
std::string make_plan(const ReplayFlags& flags, replay::Plan& plan) {
  for (const std::string& event : flags.events) {
    const std::size_t equals = event.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == event.size()) {
      std::string text = "--event looks like NAME=FILE, not \"" + event + "\"";
      if (equals != std::string::npos || event.find_first_of("./") == std::string::npos)
        return text;
      return text + "; write --event request=" + event + " if its rows are HTTP requests";
    }
    plan.sources.push_back({event.substr(0, equals), event.substr(equals + 1)});
  }
  const auto is_input = [](const replay::Plan::Source& source) { return source.path == "-"; };
  if (std::count_if(plan.sources.begin(), plan.sources.end(), is_input) > 1)
    return "- is standard input, which can be one event's only";
  if (flags.order != "arrival") return "--order must be arrival, not \"" + flags.order + "\"";
  if (!flags.lateness.empty()) {
    const auto lateness = config::parse_duration(flags.lateness);
    if (!lateness) return "--lateness: " + lateness.message;
    plan.lateness = *lateness.value;
  }
  for (const auto& [text, to, flag] :
       {std::tuple{&flags.from, &plan.from, "--from"}, std::tuple{&flags.to, &plan.to, "--to"}}) {
    if (text->empty()) continue;
    *to = parse_time(*text);
    if (!*to)
      return std::string(flag) + " must be a time such as 2026-11-21T08:00:00Z, not \"" + *text +
             "\"";
  }
  if (plan.from && plan.to && *plan.from >= *plan.to) return "--from is not before --to";
  plan.flush = flags.flush;
  plan.log_format = flags.log_format;
  if (!flags.log_format.empty()) {
    const std::string problem = replay::wrong_request_format(flags.log_format);
    if (!problem.empty()) return "--log: " + problem;
  }
  if (!flags.map.empty()) {
    std::string problem;
    if (!flags.log_format.empty()) return "--log and --map both say how requests are written";
    plan.mapping = replay::Mapping::parse(flags.map, problem);
    if (!plan.mapping) return "--map: " + problem;
  }
  return {};
}

std::string select_readings(const ReplayFlags& flags, const policies::PolicySet& set,
                            std::vector<bool>& out) {
  out.assign(set.policies.size(), false);
  for (const std::string& name : flags.readings) {
    const policies::Policy* policy = set.find_policy(name);
    if (policy == nullptr) {
      if (std::find(set.disabled.begin(), set.disabled.end(), name) != set.disabled.end())
        return "policy \"" + name + "\" is disabled: it reads nothing";
      std::vector<std::string_view> known;
      for (const policies::Policy& each : set.policies) known.push_back(each.name);
      const std::string hint = config::suggest(name, known);
      return "there is no policy \"" + name + "\"" + (hint.empty() ? "" : "; " + hint);
    }
    out[policy->index] = true;
    for (const policies::PolicyIndex meter : policy->meters) out[meter] = true;
  }
  return {};
}

void tell_faults(const replay::Report& report) {
  for (const replay::FileReport& file : report.files) {
    for (const std::string& fault : file.faults) complain(fault);
    if (file.bad > file.shown) {
      complain(file.path + ": and " + std::to_string(file.bad - file.shown) + " more bad rows");
    }
  }
}

int run(replay::Team& team, const ReplayFlags& flags, const Globals& globals,
        const std::vector<FailIf>& conditions, const std::vector<replay::Plan::Source>& sources) {
  Progress progress(::isatty(STDERR_FILENO) == 1);
  while (team.run(20'000)) {
    const auto now = team.replay().progress();
    progress.show(now.rows, now.bytes, now.bytes_total);
  }
  progress.clear();
  if (!team.restarted().empty()) complain("began again with one thread: " + team.restarted());
  if (!team.failed().empty()) {
    complain(team.failed());
    return kUnreachable;
  }
  const replay::Replay& replay = team.replay();
  const replay::Report report = replay::make_report(replay, sources, flags.against);
  if (globals.output == Output::ndjson || globals.output == Output::csv) {
    team.finish_rows();
    tell_faults(report);
  } else if (globals.output == Output::json) {
    print(replay::report_json(report));
  } else {
    print(replay::report_text(report, globals.colours(STDOUT_FILENO)));
  }
  if (!flags.report.empty()) {
    const auto written = write_file(flags.report, replay::report_html(report, "weir replay"));
    if (!written) {
      complain(flags.report + ": can't be written: " + written.error().message());
      return kUnreachable;
    }
  }
  if (const std::string error = replay.read_error(); !error.empty()) {
    complain(error);
    return kUnreachable;
  }
  bool failed = tell_unread(report, flags.from.empty() && flags.to.empty());
  if (const auto bound = BadBound::parse(flags.max_bad); bound && !bound->allows(report)) {
    complain("--max-bad " + flags.max_bad + ": " + std::to_string(report.bad) + " of " +
             std::to_string(rows_read(report)) + " rows are bad");
    failed = true;
  }
  for (const replay::Tally* tally : {&replay.tally(), replay.other_tally()}) {
    if (tally == nullptr) continue;
    const std::string by = tally == &replay.tally() ? "" : " by " + flags.against;
    for (const FailIf& condition : conditions) {
      const std::uint64_t hits = tally->effect(condition.action);
      if (!condition.holds(hits, report.events)) continue;
      complain("--fail-if " + condition.text + ": " + std::to_string(hits) + " of " +
               std::to_string(report.events) + " events" + by);
      failed = true;
    }
  }
  return failed ? kNo : kOk;
}

/// Checks the names of events, and the flags for HTTP requests. Returns the problem; empty: none.
std::string look_at_sources(const replay::Plan& plan, const policies::PolicySet& set) {
  bool any_log = false;
  for (const replay::Plan::Source& source : plan.sources) {
    const auto event = std::find_if(set.events.begin(), set.events.end(),
                                    [&](const auto& each) { return each.name == source.event; });
    if (event == set.events.end()) {
      std::vector<std::string_view> known;
      for (const policies::Event& each : set.events) known.push_back(each.name);
      const std::string hint = config::suggest(source.event, known);
      return "there is no event \"" + source.event + "\"" + (hint.empty() ? "" : "; " + hint);
    }
    any_log = any_log || event->source.empty();
  }
  if (!plan.log_format.empty() && !any_log)
    return "--log is how access logs are written, and no --event is one: they have a `source`";
  if (plan.mapping && !any_log)
    return "--map is for HTTP requests, and no --event is one: they have a `source`";
  return {};
}

/// Why the flags are wrong, or do not go together; empty: they are right.
std::string wrong_flags(const ReplayFlags& flags, bool gives_rows) {
  if (!flags.readings.empty() && !gives_rows)
    return "--readings are rows of -o ndjson and -o csv: give one of them as well";
  if (!flags.max_bad.empty() && !BadBound::parse(flags.max_bad))
    return "--max-bad is a share of 0% to 100%, or a number of rows, not \"" + flags.max_bad + "\"";
  if (!flags.against.empty() && gives_rows && flags.report.empty() && flags.fail_if.empty())
    return "--against shows in reports only, and -o ndjson has rows only: add --report FILE";
  return {};
}

std::string read_conditions(const ReplayFlags& flags, std::vector<FailIf>& out) {
  for (const std::string& text : flags.fail_if) {
    std::string problem;
    const auto condition = FailIf::parse(text, problem);
    if (!condition) return "--fail-if: " + problem;
    out.push_back(*condition);
  }
  return {};
}

std::string read_sweep(const ReplayFlags& flags, const replay::Plan& plan, Output output,
                       std::optional<Sweep>& out) {
  if (flags.sweep.empty()) return {};
  std::string problem;
  out = Sweep::parse(flags.sweep, problem);
  if (!out) return "--sweep: " + problem;
  for (const replay::Plan::Source& source : plan.sources) {
    if (source.path == "-") return "--sweep reads its files several times, and - only once";
  }
  if (!flags.against.empty() || !flags.fail_if.empty() || !flags.report.empty() ||
      !flags.store.empty() || output == Output::ndjson) {
    return "--sweep prints a table of its own (also -o csv, -o json), and nothing else";
  }
  return {};
}

/// The options of a replay, other than its sources.
struct ReplayRequest {
  const ReplayFlags& flags;
  const Globals& globals;
  bool gives_rows;
  replay::Plan plan;
  std::vector<FailIf> conditions;
  std::optional<Sweep> sweep;
  std::optional<replay::Labels> labels;

  const replay::Labels* known_bad() const { return labels ? &*labels : nullptr; }
};

/// Runs the task and reports. `path`: of the configuration.
int run_task(replay::Task task, const ReplayRequest& asked, const std::string& path,
             const Threads& threads) {
  const ReplayFlags& flags = asked.flags;
  std::string problem;
  std::unique_ptr<ReplayStore> store;
  if (!flags.store.empty()) {
    store = ReplayStore::connect(flags.store, problem);
    if (store == nullptr) {
      complain("--store: " + problem);
      return parse_redis_url(flags.store) ? kUnreachable : kUsage;
    }
    task.prepare = [&store](replay::Engine& engine) {
      engine.use_store(store->sharing(), [&store](policies::StoreOps& operations, TimePoint now) {
        store->ask(operations, now);
      });
    };
  }
  replay::Team::Failure failure = replay::Team::Failure::none;
  const auto team = replay::Team::make(std::move(task), failure, problem);
  if (team == nullptr) {
    const bool refused = failure == replay::Team::Failure::configuration;
    complain(refused ? path + ": " + problem : problem);
    return refused ? kRefused : kUnreachable;
  }
  tell_threads(team->split(), threads, flags.verbose);
  const int code = run(*team, flags, asked.globals, asked.conditions, asked.plan.sources);
  if (store != nullptr && !store->failure().empty()) {
    complain("--store: " + store->failure() + "; some events were counted without it");
    return kUnreachable;
  }
  return code;
}

/// Replays by this configuration. `against`: the one to compare with; null: none.
int replay_by(const Configuration& configuration, const Configuration* against,
              const std::string& path, const ReplayRequest& asked) {
  const ReplayFlags& flags = asked.flags;
  std::vector<bool> readings;
  if (std::string problem = select_readings(flags, *configuration.set, readings); !problem.empty())
    return wrong(problem);
  if (std::string problem = look_at_sources(asked.plan, *configuration.set); !problem.empty())
    return wrong(problem);
  const Threads threads = threads_for(flags.threads, asked.plan, !flags.store.empty());
  if (asked.sweep) {
    return run_sweep(*asked.sweep, asked.plan, configuration.loaded, asked.known_bad(),
                     threads.most, asked.globals);
  }
  replay::Task task;
  task.plan = asked.plan;
  task.side = {&configuration.model(), configuration.set};
  if (against != nullptr) task.other = {&against->model(), against->set};
  if (asked.gives_rows) {
    task.rows = {[](std::string_view text) { print_data(text); }, readings,
                 asked.globals.output == Output::csv ? replay::RowWriter::Form::csv
                                                     : replay::RowWriter::Form::ndjson};
  }
  task.labels = asked.known_bad();
  task.threads = threads.most;
  for (const policies::List& list : configuration.set->lists) {
    if (list.file || list.url)
      complain("list \"" + list.name + "\": a replay does not read the entries of its file or URL");
  }
  return run_task(std::move(task), asked, path, threads);
}

/// Reads the configurations, and replays by them.
int load_and_replay(const ReplayRequest& asked) {
  const ReplayFlags& flags = asked.flags;
  const bool has_sources = !asked.plan.sources.empty();
  const bool colours = asked.globals.colours(STDERR_FILENO);
  const config::Environment environment = process_environment();
  const auto path = find_config(flags.config, "--config FILE", environment);
  if (!path) return kNo;
  const Configuration configuration = load_configuration(*path, environment);
  if (!configuration.good()) {
    // Problems of a log that is parsed as YAML would not help the user.
    if (looks_like_log(*path)) return wrong_log(*path, has_sources);
    print_problems(configuration, colours);
    return kNo;
  }
  if (!has_sources) return nothing_to_replay(*configuration.set);
  std::optional<Configuration> against;
  if (!flags.against.empty()) {
    against = load_configuration(flags.against, environment);
    if (!against->good()) {
      print_problems(*against, colours);
      return kNo;
    }
  }
  return replay_by(configuration, against ? &*against : nullptr, *path, asked);
}

int replay_command(const ReplayFlags& flags, const Globals& globals) {
  const bool gives_rows = globals.output == Output::ndjson || globals.output == Output::csv;
  ReplayRequest asked{flags, globals, gives_rows, {}, {}, {}, {}};
  if (std::string problem = make_plan(flags, asked.plan); !problem.empty()) return wrong(problem);
  if (asked.plan.sources.empty() && flags.config.empty())
    return nothing_to_replay("request", "access.log");
  std::string problem = wrong_flags(flags, gives_rows);
  if (problem.empty()) problem = read_conditions(flags, asked.conditions);
  if (problem.empty()) problem = read_sweep(flags, asked.plan, globals.output, asked.sweep);
  if (!problem.empty()) return wrong(problem);
  if (!flags.labels.empty()) {
    asked.labels = read_labels(flags.labels, problem);
    if (!asked.labels) {
      complain("--labels: " + problem);
      return kUnreachable;
    }
  }
  return load_and_replay(asked);
}

void repeat(CLI::Option* option, const char* type) {
  option->type_name(type)->expected(1)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

void declare_inputs(CLI::App& app, ReplayFlags& flags) {
  app.add_option("-c,--config", flags.config,
                 "The main file; else $WEIR_CONFIG, ./weir.yaml, /etc/weir/weir.yaml")
      ->type_name("FILE");
  repeat(
      app.add_option("--event", flags.events,
                     "Rows of FILE are this event; request, or an event with `match`: lines of an "
                     "access log are HTTP requests. May be repeated"),
      "NAME=FILE");
  app.add_option("--log", flags.log_format,
                 "How such access logs are written: common, combined, vhost_combined or directives "
                 "such as '%h %t \"%r\" %>s'; %{%Y-%m-%d %H:%M:%S}t, %{sec}t, %{msec}t and "
                 "%{usec}t are other "
                 "forms of the time")
      ->type_name("FORMAT");
  app.add_option("--map", flags.map,
                 "JSON lines or csv as HTTP requests: which of their names is which part, such as "
                 "ts=time,ip=remote_addr,method=verb,path=uri,status=code,header.x_user_id=user,"
                 "body.username=login; ts.seconds, ts.millis, ts.micros, ts.nanos and "
                 "'ts.%d.%m.%Y %H:%M:%S' say how the time is written")
      ->type_name("PART=NAME,...");
}

void declare_run(CLI::App& app, ReplayFlags& flags) {
  const auto something = [](const std::string& text) {
    return text.empty() ? std::string("it is empty") : std::string();
  };
  CLI::Option* const order =
      app.add_option("--order", flags.order,
                     "arrival: rows count when they come, at the largest time so far")
          ->type_name("ORDER")
          ->capture_default_str();
  app.add_option("--lateness", flags.lateness,
                 "Sort rows by time instead, waiting so long for stragglers; later ones are "
                 "dropped and counted")
      ->type_name("DURATION")
      ->check(something)
      ->excludes(order);
  app.add_option(
         "--store", flags.store,
         "Ask this Redis about policies with share: redis, at the rows' times and under keys "
         "of this run; else replay counts them")
      ->type_name("redis://HOST:PORT");
  app.add_option("--threads", flags.threads,
                 "Use this many threads, with the same result; 0: one for each "
                 "core that weir may use")
      ->type_name("N")
      ->check(CLI::Range(0, 64).description(""));
  app.add_flag("-v,--verbose", flags.verbose, "Say on stderr how the work is shared out");
  app.add_flag("--flush", flags.flush, "At the end, also end windows and timers that are open");
  app.add_option("--from", flags.from,
                 "Leave out rows before this time: 2026-11-21T08:00:00Z, 2026-11-21, or Unix "
                 "milliseconds")
      ->type_name("TIME")
      ->check(something);
  app.add_option("--to", flags.to, "Leave out rows from this time on")
      ->type_name("TIME")
      ->check(something);
  repeat(app.add_option("--readings", flags.readings,
                        "With -o ndjson: a row for every event that POLICY counts or reads"),
         "POLICY");
}

void declare_results(CLI::App& app, ReplayFlags& flags) {
  app.add_option("--against", flags.against,
                 "Judge by this configuration too, and say where they differ")
      ->type_name("FILE");
  app.add_option("--labels", flags.labels,
                 "Keys that are known to be bad, one a line: says how many of them each policy "
                 "hits (recall), and how many of the keys that it hits are among them (precision)")
      ->type_name("FILE");
  app.add_option(
         "--sweep", flags.sweep,
         "Replay with this threshold at each of several values: login-per-ip=5,10,20, "
         "login-per-ip:deny.over=10..50:10 (steps of 10) or login-per-ip:2=10,20 (the third rung, "
         "for the first one is 0 here)")
      ->type_name("POLICY[:THRESHOLD]=LIMITS");
  app.add_option("--max-bad", flags.max_bad,
                 "Exit with 1 if more rows than this can't be read: 1%, or a number")
      ->type_name("BOUND");
  repeat(app.add_option("--fail-if", flags.fail_if,
                        "Exit with 1 if this holds, by either configuration: "
                        "'deny>0.5%', 'flag>=100'"),
         "CONDITION");
  app.add_option("--report", flags.report, "Write the report as one HTML page too")
      ->type_name("FILE");
}

std::function<int()> declare_replay(CLI::App& app, const Globals& globals) {
  auto flags = std::make_shared<ReplayFlags>();
  declare_inputs(app, *flags);
  declare_run(app, *flags);
  declare_results(app, *flags);
  return [flags, &globals] { return replay_command(*flags, globals); };
}

}  // namespace

const Command kReplay{"replay",
                      "Judge yesterday's traffic: rows of files, at the times in the rows",
                      kReplayExamples, declare_replay};

}  // namespace weir::app
