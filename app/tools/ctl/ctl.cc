#include <CLI/CLI.hpp>
#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "app/support/columns.h"
#include "app/support/command.h"
#include "app/support/configuration.h"
#include "app/support/exit_code.h"
#include "app/tools/ctl/action_word.h"
#include "app/tools/ctl/ctl_call.h"
#include "app/tools/ctl/ctl_dashboard.h"
#include "app/tools/ctl/ctl_dump.h"
#include "app/tools/ctl/ctl_list.h"
#include "app/tools/ctl/ctl_policy.h"
#include "app/tools/ctl/ctl_replicas.h"
#include "app/tools/ctl/ctl_table.h"
#include "app/tools/ctl/ctl_text.h"
#include "app/tools/ctl/ctl_view.h"
#include "app/tools/ctl/ctl_watch.h"
#include "app/tools/ctl/ctl_why.h"
#include "app/tools/explain.h"
#include "app/tools/outline.h"
#include "config/text/units.h"

namespace weir::app {
namespace {

namespace json = boost::json;

constexpr std::string_view kCtlExamples =
    "Examples:\n"
    "  weir ctl status\n"
    "  weir ctl top                     which policies are busy, every two seconds\n"
    "  weir ctl top keys                who is in the verdicts most often\n"
    "  weir ctl tail                    verdicts as they come\n"
    "  weir ctl tail --policy login-per-ip --verdict deny\n"
    "  weir ctl policy login-per-ip\n"
    "  weir ctl policy login-per-ip shadow --for 10m --reason 'ticket 4711'\n"
    "  weir ctl policy login-per-ip set deny.over=80 --for 10m      restore ends it before\n"
    "  weir ctl policy login-per-ip shadow --for 10m --here   on this replica alone\n"
    "  weir ctl replicas                who runs which configuration, and who is behind\n"
    "  weir ctl counter login-per-ip 203.0.113.7\n"
    "  weir ctl list gray_users         its entries; with a key: whether it is listed\n"
    "  weir ctl list banned 203.0.113.7 --add --for 1h --why scraping\n"
    "  weir ctl list banned 203.0.113.7 --remove --reason 'ticket 4711'\n"
    "  weir ctl list login-per-ip 203.0.113.7 --forgive      the entry and its count\n"
    "  weir ctl list banned --remove --all --since 14:00 --dry-run\n"
    "  weir ctl list banned --export > banned.csv\n"
    "  weir ctl list banned --import banned.csv\n"
    "  weir ctl table gold_limit set baidu,android=3000 --reason 'ticket 4711'\n"
    "  weir ctl why 203.0.113.7         every list, counter and policy that concerns it\n"
    "  weir ctl undo                    what can be taken back; with its token: take it back\n"
    "  weir ctl explain -X POST --ip 203.0.113.7 /api/login\n"
    "  weir ctl status --replicas weir.shop.svc      every address of a headless Service\n"
    "  weir ctl hash 203.0.113.7        what the log prints for it\n"
    "  weir ctl view hot-pages\n"
    "  weir ctl dashboard               a link for the browser, good once\n"
    "  weir ctl audit                   the last changes: who, from where, what and why\n"
    "  weir ctl reload\n"
    "  weir ctl reloads                 the last loads and what they changed\n"
    "  weir ctl support-dump dump.json  what a support case needs, secrets masked\n"
    "  weir ctl drain --begin           not ready any more, but still serving; --end takes it "
    "back\n"
    "  weir ctl drain --begin --hold 10s   ... and return after 10 s: a preStop hook\n"
    "  weir ctl --admin unix:/run/weir/admin.sock status\n"
    "\n"
    "A key of several parts is several words, in the order of the policy's or list's key. -o json\n"
    "prints what the admin API answered. Exit codes: 0 done, 1 weir says no, 2 usage, 4 no\n"
    "answer, 5 not permitted.";

struct CtlFlags {
  AdminDoor door;
  std::string name;
  std::vector<std::string> key;
  bool reset = false, here = false;
  ListFlags list;
  PolicyFlags policy;
  TableFlags table;
  std::string token, replicas, person;
  std::string top;
  ExplainFlags explain;
  bool begin = false, end = false;
  std::string hold;
  unsigned windows = 12, entries = 20;
  WatchOptions watch;
};

int show_status(const CtlFlags& flags, const Globals& globals) {
  const AdminAnswer answer = ask_admin(flags.door, "GET", "/v1/status");
  if (answer.code != kOk) return complain_of(answer);
  const std::string changed = overrides_text(answer.body);
  show(globals, answer.body,
       outline(answer.body) + (changed.empty() ? "" : "\nset for a while:\n" + changed));
  return kOk;
}

int show_counter(const CtlFlags& flags, const Globals& globals) {
  std::string target = admin_target("/v1/counters/{}", flags.name, flags.key);
  if (flags.here) target += flags.key.empty() ? "?from=here" : "&from=here";
  const AdminAnswer answer = ask_admin(flags.door, flags.reset ? "DELETE" : "GET", target);
  if (answer.code != kOk)
    return complain_of_name(flags.door, answer, flags.name, "/v1/policies", "policies");
  show(globals, answer.body,
       flags.reset ? counters_emptied(answer.body) : counters_table(answer.body));
  return kOk;
}

int show_view(const CtlFlags& flags, const Globals& globals) {
  std::string target = "/v1/views";
  if (!flags.name.empty()) target += "/" + flags.name + "?windows=" + std::to_string(flags.windows);
  const AdminAnswer answer = ask_admin(flags.door, "GET", target);
  if (answer.code != kOk)
    return complain_of_name(flags.door, answer, flags.name, "/v1/views", "views");
  show(globals, answer.body,
       flags.name.empty() ? views_table(answer.body) : view_windows(answer.body));
  return kOk;
}

int show_audit(const CtlFlags& flags, const Globals& globals) {
  const AdminAnswer answer =
      ask_admin(flags.door, "GET", "/v1/audit?limit=" + std::to_string(flags.entries));
  if (answer.code != kOk) return complain_of(answer);
  show(globals, answer.body, audit_text(answer.body));
  return kOk;
}

int reload(const CtlFlags& flags, const Globals& globals) {
  const AdminAnswer answer = ask_admin(flags.door, "POST", "/v1/reload");
  // A configuration with errors is an answer, and the reason why one asked.
  const bool refused = answer.status == 422;
  if (answer.code != kOk && !refused) return complain_of(answer);
  show(globals, answer.body, reload_text(answer.body));
  return refused ? kNo : kOk;
}

int drain(const CtlFlags& flags, const Globals& globals) {
  if (flags.begin == flags.end) {
    complain("drain needs --begin or --end");
    return kUsage;
  }
  milliseconds hold{0};
  if (!flags.hold.empty()) {
    const auto parsed = config::parse_duration(flags.hold);
    if (!parsed) {
      complain("--hold: " + parsed.message);
      return kUsage;
    }
    hold = *parsed.value;
  }
  const AdminAnswer answer = ask_admin(flags.door, "POST", "/v1/drain",
                                       flags.begin ? R"({"begin":true})" : R"({"begin":false})");
  if (answer.code != kOk) return complain_of(answer);
  show(globals, answer.body, drain_text(answer.body));
  boost::asio::io_context io;
  boost::asio::steady_timer(io, hold).wait();
  return kOk;
}

/// The lines of kCtlExamples that are about one command, under a heading of their own.
std::string examples_of(std::string_view command) {
  std::string out = "Examples:\n";
  for (std::string_view rest = kCtlExamples; !rest.empty();) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    const std::string wanted = " " + std::string(command);
    const std::size_t at =
        line.starts_with("  weir ctl") ? line.find(wanted) : std::string_view::npos;
    if (at == std::string_view::npos) continue;
    const std::size_t after = at + wanted.size();
    if (after == line.size() || line[after] == ' ') out.append(line).append("\n");
  }
  return out + "\nMore: weir ctl --help";
}

using Run = int (*)(const CtlFlags&, const Globals&);
using Runs = std::vector<std::pair<CLI::App*, Run>>;

void declare_lookups(CLI::App& app, const std::shared_ptr<CtlFlags>& flags, Runs& runs) {
  const auto command = [&](const char* name, const char* help, Run run) {
    runs.emplace_back(app.add_subcommand(name, help), run);
    return runs.back().first;
  };
  command("status", "What is running: configuration, workers, memory", show_status);
  command("replicas", "Which configuration each replica runs, and who is behind (exit code 1)",
          [](const CtlFlags& f, const Globals& g) { return run_replicas(f.door, g); });
  declare_table_flags(
      *command("table", "Tables of thresholds: their limits, changes and history",
               [](const CtlFlags& f, const Globals& g) { return run_table(f.door, f.table, g); }),
      flags->table);
  declare_policy_flags(
      *command("policy", "All policies with what they have done, or one; and changes for a while",
               [](const CtlFlags& f, const Globals& g) { return run_policy(f.door, f.policy, g); }),
      flags->policy);

  CLI::App* counter =
      command("counter", "What a policy has counted for a key; never counts", show_counter);
  counter->add_option("policy", flags->name, "The policy, or one of its metrics: POLICY.METRIC")
      ->type_name("POLICY")
      ->required();
  counter->add_option("key", flags->key, "The key, a word for each part")
      ->type_name("KEY")
      ->transform(key_word);
  CLI::Option* reset = counter->add_flag("--reset", flags->reset, "Empty it (list entries stay)");
  counter
      ->add_flag("--here", flags->here,
                 "What this replica has counted itself, of counters that replicas share")
      ->excludes(reset);

  declare_list_flags(
      *command("list", "All lists, the entries of one, or those of a key; and changes of them",
               [](const CtlFlags& f, const Globals& g) { return run_list(f.door, f.list, g); }),
      flags->list);

  CLI::App* view =
      command("view", "What views have counted: all, or the windows of one", show_view);
  view->add_option("name", flags->name, "The view")
      ->type_name("NAME")
      ->check([](const std::string& s) {
        const bool name = config::is_name(s, true);
        return name ? std::string() : "\"" + s + "\" is not a view name";
      });
  view->add_option("--windows", flags->windows, "So many complete windows at most")
      ->type_name("N")
      ->check(CLI::Range(0, 100))
      ->capture_default_str();
}

void declare_questions(CLI::App& app, const std::shared_ptr<CtlFlags>& flags, Runs& runs) {
  CLI::App* why = app.add_subcommand(
      "why", "Every list, counter and policy that concerns a key, and how to lift it");
  runs.emplace_back(why,
                    [](const CtlFlags& f, const Globals& g) { return run_why(f.door, f.key, g); });
  CLI::App* hash = app.add_subcommand("hash", "What the log prints for a key");
  runs.emplace_back(hash,
                    [](const CtlFlags& f, const Globals& g) { return run_hash(f.door, f.key, g); });
  for (CLI::App* each : {why, hash}) {
    each->add_option("key", flags->key, "An address, a user or another key, a word for each part")
        ->type_name("KEY")
        ->required()
        ->transform(key_word);
  }
  runs.emplace_back(app.add_subcommand("config", "The configuration in force, secrets masked"),
                    [](const CtlFlags& f, const Globals& g) { return run_config(f.door, g); });
  runs.emplace_back(app.add_subcommand("reloads", "The last loads, and what they changed"),
                    [](const CtlFlags& f, const Globals& g) { return run_reloads(f.door, g); });
  CLI::App* dump = app.add_subcommand(
      "support-dump", "What a support case needs: secrets masked, the keys of tables not");
  runs.emplace_back(dump, [](const CtlFlags& f, const Globals& g) {
    return run_support_dump(f.door, f.name, g);
  });
  dump->add_option("file", flags->name, "Where to; else stdout")->type_name("FILE");
  dump->footer(
      "The dump leaves out the keys of counters and the entries that were put on lists. It has "
      "the\n"
      "configuration and the tables as they are, with the names and addresses in them.");
  CLI::App* explain =
      app.add_subcommand("explain", "How the running weir would judge a request; counts nothing");
  declare_request_flags(*explain, flags->explain, "What is asked for: a URL or a path");
  explain->add_flag("--live", flags->explain.live,
                    "Changes nothing: this command always asks the running weir");
  runs.emplace_back(explain, [](const CtlFlags& f, const Globals& g) {
    return explain_live(f.explain, f.door, g);
  });
  CLI::App* dashboard = app.add_subcommand("dashboard", "A one-time link to the dashboard");
  runs.emplace_back(dashboard, [](const CtlFlags& f, const Globals& g) {
    return run_dashboard(f.door, f.person, g);
  });
  dashboard
      ->add_option("--as", flags->person,
                   "Who gets it: approvals and the audit log have this name, and no other")
      ->type_name("WHO")
      ->check([](const std::string& who) {  // an unset variable of a script gives an empty name
        return who.empty() ? "is empty: give the name of a person" : std::string();
      });
  CLI::App* undo = app.add_subcommand("undo", "Take back a change of lists, or show what can be");
  runs.emplace_back(
      undo, [](const CtlFlags& f, const Globals& g) { return run_undo(f.door, f.token, g); });
  undo->add_option("token", flags->token, "The token that the change printed")
      ->type_name("TOKEN")
      ->check([](const std::string& s) {
        return s.empty() ? std::string("an empty word is not a token") : std::string();
      });
}

void declare_audit(CLI::App& app, const std::shared_ptr<CtlFlags>& flags, Runs& runs) {
  CLI::App* audit = app.add_subcommand("audit", "The last changes: who, from where, what and why");
  audit->add_option("-n,--count", flags->entries, "So many at most")
      ->type_name("N")
      ->check(CLI::Range(1, 10'000))
      ->capture_default_str();
  runs.emplace_back(audit, show_audit);
}

void declare_watches(CLI::App& app, const std::shared_ptr<CtlFlags>& flags, Runs& runs) {
  CLI::App* top = app.add_subcommand("top", "The busiest policies or keys, at an interval");
  runs.emplace_back(top, [](const CtlFlags& f, const Globals& g) {
    return f.top == "keys" ? watch_keys(f.door, f.watch, g) : watch_top(f.door, f.watch, g);
  });
  top->add_option("what", flags->top, "policies, or keys: who is in the verdicts most often")
      ->type_name("WHAT")
      ->check(CLI::IsMember({"policies", "keys"}))
      ->default_str("policies");
  CLI::App* tail = app.add_subcommand("tail", "Verdicts and listings as they come");
  runs.emplace_back(
      tail, [](const CtlFlags& f, const Globals& g) { return watch_verdicts(f.door, f.watch, g); });
  for (CLI::App* each : {top, tail}) {
    each->add_option("--interval", flags->watch.interval, "The time between two requests")
        ->type_name("DURATION")
        ->default_str(each == top ? "2s" : "500ms");
    each->add_option(
            "-n,--count", flags->watch.count,
            each == top
                ? "Stop after so many tables; else at Ctrl-C, or after one if it is not a terminal"
                : "Stop after so many verdicts; else at Ctrl-C")
        ->type_name("N")
        ->check(CLI::Range(1, 1'000'000'000));
    each->add_option("--policy", flags->watch.policy,
                     each == top ? "Of keys: only in verdicts of this policy"
                                 : "Only verdicts of this policy and of its lists")
        ->type_name("NAME");
    each->add_option("--verdict", flags->watch.verdict,
                     each == top ? "Of keys: only in these verdicts"
                                 : "Only these: " + known_actions() + "; several with commas")
        ->type_name("EFFECT");
  }
}

std::function<int()> declare_ctl(CLI::App& app, const Globals& globals) {
  auto flags = std::make_shared<CtlFlags>();
  flags->door = default_door();
  app.add_option("--admin", flags->door.address, "The admin door; else $WEIR_ADMIN_LISTEN")
      ->type_name("ADDRESS")
      ->capture_default_str();
  app.add_option("--token-file", flags->door.token_file, "Its token; else $WEIR_ADMIN_TOKEN_FILE")
      ->type_name("FILE");
  app.add_option("--replicas", flags->replicas,
                 "Several admin doors, separated by commas, or a name with several addresses (a "
                 "headless Service): the command runs at each")
      ->type_name("ADDRESSES");
  app.require_subcommand(1);
  app.fallthrough();
  Runs runs;
  declare_lookups(app, flags, runs);
  declare_questions(app, flags, runs);
  declare_watches(app, flags, runs);
  declare_audit(app, flags, runs);
  runs.emplace_back(app.add_subcommand("reload", "Load the configuration again, now"), reload);
  CLI::App* leave = app.add_subcommand("drain", "Report not ready, but keep serving");
  auto* begin = leave->add_flag("--begin", flags->begin, "Not ready any more (for a preStop hook)");
  CLI::Option* end = leave->add_flag("--end", flags->end, "Ready again")->excludes(begin);
  leave
      ->add_option("--hold", flags->hold,
                   "With --begin: return after this time; a classic sidecar's hook, which must "
                   "outlast the app's")
      ->type_name("DURATION")
      ->excludes(end);
  runs.emplace_back(leave, drain);
  for (const auto& [command, run] : runs) {
    const std::string name = command->get_name();
    if (name != "counter" && name != "list" && name != "undo" && name != "reload" &&
        name != "drain")
      continue;
    command
        ->add_option("--reason", flags->door.reason,
                     "Why, for the audit log and for a new entry: with what changes "
                     "something")
        ->type_name("TEXT");
  }
  for (const auto& [command, run] : runs) command->footer(examples_of(command->get_name()));
  return [flags, runs, &globals] {
    for (const auto& [command, run] : runs) {
      if (!command->parsed()) continue;
      if (flags->replicas.empty()) return run(*flags, globals);
      const std::string name = command->get_name();
      if (name == "top" || name == "tail" || name == "support-dump" || name == "dashboard" ||
          flags->list.exports) {
        complain("--replicas does not go with this: ask one replica at a time");
        return int{kUsage};
      }
      return run_on_replicas(flags->replicas, globals, [&, run = run](const std::string& door) {
        CtlFlags there = *flags;
        there.door.address = door;
        there.door.is_named = true;
        return run(there, globals);
      });
    }
    return int{kUsage};
  };
}

}  // namespace

const Command kCtl{"ctl", "Query and change a running weir", kCtlExamples, declare_ctl};

}  // namespace weir::app
