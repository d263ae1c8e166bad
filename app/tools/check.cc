#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "app/remote/included_texts.h"
#include "app/remote/list_feeds.h"
#include "app/serve/state.h"
#include "app/support/command.h"
#include "app/support/configuration.h"
#include "app/support/exit_code.h"
#include "app/support/memory_plan.h"
#include "app/tools/check_against.h"
#include "app/tools/replay/replay_threads.h"
#include "config/text/render.h"
#include "core/text.h"
#include "policies/set/recorded.h"

namespace weir::app {
namespace {

constexpr std::string_view kCheckExamples =
    "Examples:\n"
    "  weir check                      the file that \"weir serve\" would take\n"
    "  weir check weir.yaml --strict   warnings fail too (exit code 3)\n"
    "  weir check -v weir.yaml         also what fits into memory, and what a recording holds\n"
    "  weir check -o json weir.yaml    all of it as data\n"
    "  weir check weir.yaml --against http://127.0.0.1:8481\n"
    "                                  which counters and lists a reload would empty\n"
    "\n"
    "Exit codes: 0 ok, 1 errors, 3 warnings under --strict.";

struct CheckFlags {
  std::vector<std::string> paths;
  bool strict = false;
  bool verbose = false;
  std::string against;
  std::string token_file;
};

// "weir.yaml: ok: 4 policies, 7 events, 3 lists, 1 table"
std::string summary(const std::string& path, const Configuration& configuration) {
  const config::Model& model = configuration.model();
  // Where rate limit calls are judged, weir adds policies for the limits that calls bring; each has
  // an event of its own.
  const auto added = static_cast<std::size_t>(std::count_if(
      model.events.begin(), model.events.end(),
      [](const config::EventDef& event) { return event.descriptor && event.descriptor->brings; }));
  return path + ": ok: " + counted(model.policies.size() - added, "policy", "policies") +
         (added > 0 ? " (and " + std::to_string(added) + " for limits that calls bring)" : "") +
         ", " + counted(model.events.size() - added, "event", "events") + ", " +
         counted(model.lists.size(), "list", "lists") + ", " +
         counted(model.tables.size(), "table", "tables") + "\n";
}

// Lists the fields of events that a file of "weir serve --record" contains with these policies.
std::string recording_text(const policies::PolicySet& set) {
  const policies::RecordedFields fields = policies::recorded_fields(set);
  const std::string hashed = fields.text(set, true);
  return "recording: weir serve --record keeps readable: " + fields.text(set, false) +
         (hashed.empty() ? "" : "\n  and hashed: " + hashed) + "\n";
}

std::string recording_json(const policies::PolicySet& set) {
  const policies::RecordedFields fields = policies::recorded_fields(set);
  std::string out;
  for (const bool hashed : {false, true}) {
    out += hashed ? "],\"hashed\":[" : "{\"readable\":[\"method\",\"path\",\"time\",\"status\"";
    for (const std::string& name : fields.names(set, hashed)) {
      if (!out.ends_with('[')) out += ',';
      append_json(out, name);
    }
  }
  return out + "]}";
}

// Checks the state directory on this machine, which may not be the one that weir will run on: so no
// error.
void look_at_state(Configuration& configuration) {
  if (!configuration.loaded.model) return;
  const auto& directory = configuration.model().server.state.dir;
  if (!directory) return;
  const std::string obstacle = state_obstacle(directory->value);
  if (obstacle.empty()) return;
  configuration.loaded.problems.warning(
      directory->where, "state.dir: " + obstacle,
      "weir would run without it, and a restart would forget all counts and list entries");
}

/// The texts of lists are read as they would be at the start; URLs are not asked.
void look_at_lists(Configuration& configuration) {
  if (!configuration.good()) return;
  const auto wrong = fill_lists(*configuration.set, HashSecret::random(), Clock::wall(), false);
  for (const auto& [name, why] : wrong) {
    for (const config::ListDef& list : configuration.model().lists) {
      if (list.name.value == name && list.file)
        configuration.loaded.problems.error(list.file->where, why);
    }
  }
  if (wrong.empty()) return;
  configuration.loaded.problems.sort();
  configuration.set = nullptr;
}

int check(const CheckFlags& flags, const Globals& globals) {
  const config::Environment environment = process_environment();
  std::vector<std::string> paths = flags.paths;
  if (paths.empty()) {
    if (no_default_config(environment, "weir check FILE")) return kNo;
    paths.push_back(default_config_path(environment));
  }
  std::optional<std::vector<policies::Lineage>> running;
  std::vector<std::string> closed;
  if (!flags.against.empty()) {
    Against found = find_running(flags.against, flags.token_file);
    if (!found.running) {
      complain("--against: " + found.problem);
      return found.code;
    }
    running = std::move(found.running);
    closed = std::move(found.closed);
  }
  const bool json = globals.output == Output::json;
  bool errors = false;
  bool warnings = false;
  std::string out = json ? "[" : "";
  for (const std::string& path : paths) {
    Configuration configuration = load_configuration(path, environment);
    look_at_state(configuration);
    look_at_disabled(configuration);
    look_at_lists(configuration);
    const config::Problems& problems = configuration.loaded.problems;
    warnings = warnings || problems.warnings() != 0;
    std::optional<MemoryPlan> plan;
    if (configuration.good()) plan = plan_memory(*configuration.set, configuration.model().server);
    const bool good = plan && plan->fits;
    errors = errors || !good;
    std::vector<policies::ReloadEffect> changes;
    if (running && configuration.good()) {
      changes =
          policies::predict_reload(*running, policies::lineage_of(*configuration.set), closed);
      warnings = warnings || emptied(changes) != 0;
    }
    if (json) {
      out += out.size() > 1 ? ",\n{\"path\":" : "{\"path\":";
      append_json(out, path);
      out += std::string(",\"ok\":") + (good ? "true" : "false") + ",\"problems\":";
      std::string list = config::render_json(problems, configuration.loaded.views());
      while (list.ends_with('\n')) list.pop_back();
      out += list;
      if (plan) {
        out += ",\"memory\":" + to_json(*plan);
        out += ",\"recording\":" + recording_json(*configuration.set);
        out += ",\"replay\":" + threads_json(*configuration.set);
        if (running) out += ",\"reload\":" + against_json(changes);
      }
      out += "}";
      continue;
    }
    out += config::render_human(problems, configuration.loaded.views(),
                                globals.colours(STDOUT_FILENO));
    if (!plan) continue;
    if (good) out += summary(path, configuration);
    // Why nothing would start is no detail.
    if (!good || flags.verbose) out += to_text(*plan);
    if (flags.verbose) out += recording_text(*configuration.set) + threads_text(*configuration.set);
    if (running) out += against_text(changes, globals.colours(STDOUT_FILENO));
  }
  if (json) out += "]\n";
  print(out);
  return errors ? kNo : warnings && flags.strict ? kWarnings : kOk;
}

std::function<int()> declare_check(CLI::App& app, const Globals& globals) {
  auto flags = std::make_shared<CheckFlags>();
  app.add_option("PATH", flags->paths, "Main files; each is checked with what it includes");
  app.add_flag("--strict", flags->strict, "Warnings fail too");
  app.add_flag("-v,--verbose", flags->verbose,
               "Also what fits into memory, what --record would keep, and how replays are shared "
               "out to threads");
  app.add_option("--against", flags->against,
                 "Admin door of a running weir, or another file: say what a reload would empty");
  app.add_option("--token-file", flags->token_file, "With --against URL: the admin token")
      ->envname("WEIR_ADMIN_TOKEN_FILE");
  return [flags, &globals] { return check(*flags, globals); };
}

}  // namespace

const Command kCheck{"check", "Check a configuration for errors", kCheckExamples, declare_check};

}  // namespace weir::app
