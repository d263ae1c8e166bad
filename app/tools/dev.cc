#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <optional>

#include "app/serve/serving.h"
#include "app/support/columns.h"
#include "app/support/command.h"
#include "app/support/exit_code.h"
#include "app/support/line_writer.h"
#include "app/support/recipes.h"
#include "app/support/usage/command_line.h"
#include "app/support/verdict_line.h"
#include "app/tools/dev_envoy.h"
#include "app/tools/dev_ports.h"
#include "app/tools/dev_watch.h"
#include "config/default_ports.h"
#include "config/text/units.h"
#include "core/text.h"
#include "policies/set/describe.h"

namespace weir::app {
namespace {

constexpr std::string_view kDevExamples =
    "Examples:\n"
    "  weir dev 3000                    before the app on port 3000; policies that only flag\n"
    "  weir dev 3000 --recipe login     also against password guessing\n"
    "  weir dev http://10.0.0.7:8080 --listen :9000\n"
    "  weir dev 3000 --recipe login --envoy > envoy.yaml    what Envoy needs to ask a weir "
    "instead\n"
    "\n"
    "Then send requests to http://127.0.0.1:8480 and watch the verdicts. No file is read or "
    "written;\n"
    "X-Forwarded-For from this machine is trusted, so that you can play many "
    "callers.";

struct DevFlags {
  std::string target;
  std::vector<std::string> recipes;
  std::string listen = "127.0.0.1:8480";
  bool envoy = false;
};

/// Explains a target that is neither a port nor a URL, and suggests the probable one. Empty: the
/// target is valid.
std::string wrong_app(const DevFlags& flags) {
  const std::string& app = flags.target;
  if (is_app(app)) return {};
  if (find_recipe(app) != nullptr) {
    return "\"" + app +
           "\" is a recipe, and no app\ntry: " + weir_line({"dev", "3000", "--recipe", app});
  }
  if (is_configuration(app)) {
    return "\"" + app + "\" is a file, which serve reads and dev does not\ntry: " +
           weir_line({"serve", "-c", app, "--upstream", app_url("3000")});
  }
  return "\"" + app + "\" has no port\ntry: " + weir_line({"dev", "3000"}) +
         " (a port on this machine), " + weir_line({"dev", app + ":3000"}) + " or " +
         weir_line({"dev", "http://" + app}) + " (port 80)";
}

/// `over 5: flag; over 10: graylist for 15m (the last 10m)`: the rungs of a policy.
std::string rungs_of(const policies::PolicySet& set, const policies::Policy& policy) {
  std::string out;
  for (std::size_t i = 0; i < policy.rungs.size(); ++i)
    out += (i == 0 ? "" : "; ") + policies::rung_text(set, policy, i);
  std::string window;
  if (policy.pattern) {
    window = policies::pattern_text(set, policy);
  } else if (!policy.counters.empty()) {
    window = policies::window_text(set.counters[policy.counters.front()]);
  }
  return window.empty() ? out : out + " (" + window + ")";
}

/// A line for each policy, below one another.
std::string policies_of(const policies::PolicySet& set) {
  Rows rows;
  for (const policies::Policy& policy : set.policies) {
    if (!policy.is_meter) rows.push_back({policy.name, rungs_of(set, policy)});
  }
  constexpr std::string_view kIndent = "                    ";
  constexpr std::string_view kHeading = "  policies          ";
  if (rows.empty()) return std::string(kHeading) + "none\n";
  return std::string(kHeading) + columns(rows, kIndent, false).substr(kIndent.size());
}

std::string banner(const config::Model& model, const policies::PolicySet& set,
                   const DevFlags& flags, bool colour) {
  const auto bold = [&](const std::string& text) {
    return colour ? "\x1b[1m" + text + "\x1b[0m" : text;
  };
  const auto at = [](const config::Endpoint& e) {
    if (e.is_unix()) return "unix:" + e.path;
    const std::string host = e.host == "0.0.0.0" || e.host == "::" ? "127.0.0.1" : e.host;
    return "http://" + (host.find(':') == std::string::npos ? host : "[" + host + "]") + ":" +
           std::to_string(e.port);
  };
  std::string out = "\n  " + bold("weir " + std::string(kVersion)) + "\n";
  out += "  send requests to  " + bold(at(model.server.proxy.listen.value)) + "\n";
  out += "  the app           " + app_url(flags.target) + "\n";
  out += policies_of(set);
  out += "  dashboard         " + at(model.server.admin.listen.value) + "/\n";
  out += "  lists, counters   " + at(model.server.admin.listen.value) + "/v1/status\n";
  out += "  metrics           " + at(model.server.health.listen.value) + "/metrics\n";
  out += "\n  Verdicts appear below; Ctrl-C ends it.\n\n";
  if (model.server.proxy.upstream && !accepts_connections(model.server.proxy.upstream->value)) {
    out += "  Nobody answers at " + app_url(flags.target) +
           " yet: until the app is started, requests get 503.\n\n";
  }
  return out;
}

/// The address of one of dev's own doors: the usual port, or a free one.
std::string door_at(const char* host, std::uint16_t port) {
  const config::Endpoint at = listenable({host, port, ""});
  return at.host + ":" + std::to_string(at.port);
}

DevWatch::Sample sample_of(const telemetry::Metrics& metrics, const policies::StatsBank& stats) {
  using telemetry::Metric;
  const auto count = [&](Metric metric) { return static_cast<std::uint64_t>(metrics.sum(metric)); };
  DevWatch::Sample out;
  for (const Metric answers :
       {Metric::requests_2xx, Metric::requests_3xx, Metric::requests_4xx, Metric::requests_5xx})
    out.answers += count(answers);
  out.failures = count(Metric::upstream_failures);
  stats.each("policy", [&](const std::string& name, const policies::StatsBank::Totals& totals) {
    out.events[name] = totals.events;
  });
  return out;
}

int dev(const DevFlags& flags, const Globals& globals) {
  if (const std::string wrong = wrong_app(flags); !wrong.empty())
    return complain_usage("APP: " + wrong);
  // Checked here, where the user wrote it: the user has not seen the environment variable that
  // passes it on.
  const auto app = config::parse_upstream(app_url(flags.target));
  const auto listen = config::parse_listen(flags.listen);
  if (!app || !listen) {
    const auto& wrong = app ? listen : app;
    complain((app ? "--listen: " : "APP: ") + wrong.message +
             (wrong.hint.empty() ? "" : "; " + wrong.hint));
    return kUsage;
  }
  std::vector<config::SourceText> texts{{"dev_defaults.yaml", std::string(dev_defaults())}};
  for (const std::string& name : flags.recipes) {
    const Recipe* recipe = find_recipe(name);
    if (recipe == nullptr) {
      complain(no_recipe(name));
      return kUsage;
    }
    const std::string file = "recipes/" + name + ".yaml";
    const bool again = std::any_of(texts.begin(), texts.end(), [&](const config::SourceText& text) {
      return text.name == file;
    });
    if (again) continue;
    texts.push_back({file, std::string(recipe->text)});
  }
  config::Environment environment = process_environment();
  environment["WEIR_PROXY_UPSTREAM"] = app_url(flags.target);
  environment["WEIR_PROXY_LISTEN"] = flags.listen;
  // The user's own environment wins over these.
  for (const auto& [name, value] :
       {std::pair{"WEIR_PROXY_CLIENT_IP_TRUST", "127.0.0.1/32,::1/128"},
        std::pair{"WEIR_DRAIN_DELAY", "0s"}, std::pair{"WEIR_DRAIN_TIMEOUT", "2s"},
        std::pair{"WEIR_LIMITS_MEMORY", "64MiB"}, std::pair{"WEIR_LOG_FORMAT", "text"},
        std::pair{"WEIR_LOG_LEVEL", "error"}}) {
    environment.emplace(name, value);
  }
  if (flags.envoy) {
    const Configuration configuration = compile(config::load_texts(texts, environment));
    if (!configuration.good()) {
      complain("these policies do not go together: \"weir check\" says why");
      return kNo;
    }
    print(envoy_bootstrap(configuration, *app.value));
    return kOk;
  }
  // Another weir may run on this machine: doors without a setting use other ports.
  environment.emplace("WEIR_ADMIN_LISTEN", door_at("127.0.0.1", config::kAdminPort));
  environment.emplace("WEIR_HEALTH_LISTEN", door_at("127.0.0.1", config::kHealthPort));
  const bool colour = globals.colours(STDOUT_FILENO);
  Serving::Options options;
  options.colours = globals.colours(STDERR_FILENO);
  options.watch_files = false;
  options.load = [texts, environment] { return compile(config::load_texts(texts, environment)); };
  // A terminal that is stopped (Ctrl-S) stops what it shows and nothing else.
  const auto lines = std::make_shared<LineWriter>(STDOUT_FILENO, [](std::uint64_t lost) {
    return "(" + std::to_string(lost) + " lines were lost: the terminal did not keep up)\n";
  });
  options.viewer = [colour, lines](const News& news) {
    // An entry that grows longer with every request would bury the rest.
    if (news.kind == News::Kind::listed && !news.created) return;
    lines->push(verdict_line(news, colour));
  };
  std::optional<DevWatch> watch;
  options.started = [&](const config::Model& model, const policies::PolicySet& set) {
    print(banner(model, set, flags, colour));
    watch.emplace(model, app_url(flags.target));
  };
  options.every_second = [&](const telemetry::Metrics& metrics, const policies::StatsBank& stats) {
    if (!watch) return;
    std::string said = watch->look(sample_of(metrics, stats));
    if (!said.empty()) lines->push(std::move(said));
  };
  options.ending = [lines](const std::string& hint) { lines->push("\n  weir " + hint + "\n"); };
  return Serving(std::move(options)).run();
}

std::function<int()> declare_dev(CLI::App& app, const Globals& globals) {
  auto flags = std::make_shared<DevFlags>();
  app.add_option("APP", flags->target, "The app: a port on this machine, or a URL")->required();
  app.add_option("--recipe", flags->recipes,
                 "Policies to add; may be repeated; \"weir init\" lists them")
      ->type_name("NAME")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_option("--listen", flags->listen, "Where requests come in")
      ->type_name("ADDRESS")
      ->capture_default_str();
  app.add_flag("--envoy", flags->envoy,
               "Print an Envoy bootstrap that asks a weir with these policies, and end");
  return [flags, &globals] { return dev(*flags, globals); };
}

}  // namespace

const Command kDev{"dev", "Try weir before an app, without a file", kDevExamples, declare_dev};

}  // namespace weir::app
