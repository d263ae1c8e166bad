#include <sys/resource.h>
#include <unistd.h>

#include <CLI/CLI.hpp>

#include "app/doctor/checks.h"
#include "app/remote/included_texts.h"
#include "app/support/command.h"
#include "app/support/configuration.h"
#include "app/support/exit_code.h"
#include "app/support/memory_plan.h"
#include "core/text.h"

namespace weir::app {
namespace {

constexpr std::string_view kDoctorExamples =
    "Examples:\n"
    "  weir doctor\n"
    "  weir doctor /etc/weir/weir.yaml\n"
    "  kubectl exec POD -c weir -- weir doctor -o json\n"
    "\n"
    "Checks from here, as this user: run it where weir runs, also beside a running "
    "one.\n"
    "It changes nothing but one key of Redis, weir:doctor:{doctor}, which it removes.\n"
    "Exit codes: 0 nothing is wrong, 1 there are problems, 3 warnings under --strict.";

struct DoctorFlags {
  std::string config;
  bool strict = false;
};

std::uint64_t hard_limit_of_files() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_max == RLIM_INFINITY) return 0;
  return limit.rlim_max;
}

void look_at_configuration(const Configuration& configuration, const std::string& path,
                           doctor::Findings& out) {
  const config::Problems& problems = configuration.loaded.problems;
  if (!configuration.good()) {
    return out.problem("config", path + " has " + counted(problems.errors(), "error", "errors"),
                       "weir would not start: weir check " + path);
  }
  const MemoryPlan plan = plan_memory(*configuration.set, configuration.model().server);
  if (!plan.fits) {
    return out.problem("config", path + ": its counters do not fit into limits.memory",
                       "weir would not start: weir check -v " + path);
  }
  if (problems.warnings() != 0) {
    return out.warning("config",
                       path + " has " + counted(problems.warnings(), "warning", "warnings"),
                       "weir check " + path);
  }
  out.ok("config", path + ": " + counted(configuration.set->policy_count(), "policy", "policies"));
}

int examine(const DoctorFlags& flags, const Globals& globals) {
  const config::Environment environment = process_environment();
  const auto path = find_config(flags.config, "weir doctor FILE", environment);
  if (!path) return kNo;
  const Configuration configuration = load_configuration(*path, environment);
  doctor::Findings out;
  look_at_configuration(configuration, *path, out);
  const Machine machine = look_at_machine();
  if (configuration.loaded.model) {
    const config::Model& model = configuration.model();
    const config::Server& server = model.server;
    const bool patterns = configuration.good() && !configuration.set->patterns.empty();
    std::vector<std::string> files;
    for (const std::string& file : model.files) {
      if (!file.starts_with('$')) files.push_back(file);
    }
    doctor::check_memory(server, machine, patterns, out);
    doctor::check_threads(server, machine, out);
    doctor::check_descriptors(server, machine, hard_limit_of_files(), out);
    doctor::check_mounts(files, out);
    doctor::check_state(server, out);
    doctor::check_logs(server, out);
    const bool running = doctor::check_ports(server, out);
    doctor::check_probes(server, running, out);
    doctor::check_trust(server, out);
    doctor::check_upstream(server, out);
    doctor::check_redis(server, out);
  }
  print(globals.output == Output::json ? out.to_json()
                                       : out.to_text(globals.colours(STDOUT_FILENO)));
  if (out.count(doctor::State::problem) != 0) return kNo;
  return flags.strict && out.count(doctor::State::warning) != 0 ? kWarnings : kOk;
}

std::function<int()> declare_doctor(CLI::App& app, const Globals& globals) {
  auto flags = std::make_shared<DoctorFlags>();
  app.add_option("CONFIG", flags->config,
                 "The main file; else $WEIR_CONFIG, ./weir.yaml, /etc/weir/weir.yaml")
      ->type_name("FILE");
  app.add_flag("--strict", flags->strict, "Warnings fail too");
  return [flags, &globals] { return examine(*flags, globals); };
}

}  // namespace

const Command kDoctor{"doctor", "Check whether weir can work on this machine", kDoctorExamples,
                      declare_doctor};

}  // namespace weir::app
