#include <unistd.h>

#include <CLI/CLI.hpp>

#include "app/command.h"
#include "app/exit_code.h"
#include "app/wiring.h"

namespace weir::app {
namespace {

constexpr std::string_view kExamples =
    "Examples:\n"
    "  weir serve --config weir.yaml\n"
    "  weir serve --upstream http://127.0.0.1:3000 --listen 127.0.0.1:8480\n"
    "  WEIR_PROXY_UPSTREAM=unix:/run/app.sock weir serve\n"
    "\n"
    "A flag goes before the environment (WEIR_*), that before the file. Changed policies are taken "
    "over\n"
    "while weir runs; SIGHUP asks for it. SIGTERM and Ctrl-C drain, a second one ends at once.";

struct Flags {
  std::string config, listen, upstream, log_level;
};

int serve(const Flags& flags, const Globals& globals) {
  config::Environment environment = process_environment();
  const std::string path = flags.config.empty() ? default_config_path(environment) : flags.config;
  const auto set = [&](const char* name, const std::string& value) {
    if (!value.empty()) environment[name] = value;
  };
  set("WEIR_PROXY_LISTEN", flags.listen);
  set("WEIR_PROXY_UPSTREAM", flags.upstream);
  set("WEIR_LOG_LEVEL", flags.log_level);
  // With an upstream said otherwise, weir runs without a file too: a plain proxy with metrics.
  const bool no_file = flags.config.empty() && !environment.contains("WEIR_CONFIG") &&
                       ::access(path.c_str(), F_OK) != 0 &&
                       environment.contains("WEIR_PROXY_UPSTREAM");

  Wiring::Options options;
  options.colours = globals.colours(STDERR_FILENO);
  options.watch_files = !no_file;
  if (no_file) {
    options.load = [environment] {
      return compile(config::load_texts({{"(no file)", "weir: 1\n"}}, environment));
    };
  } else {
    options.load = [path, environment] { return compile(config::load_file(path, environment)); };
  }
  return Wiring(std::move(options)).run();
}

std::function<int()> declare(CLI::App& app, const Globals& globals) {
  auto flags = std::make_shared<Flags>();
  app.add_option("-c,--config", flags->config,
                 "The main file; else $WEIR_CONFIG, ./weir.yaml, /etc/weir/weir.yaml")
      ->type_name("FILE");
  app.add_option("--listen", flags->listen, "Where requests come in (proxy.listen)")
      ->type_name("ADDRESS");
  app.add_option("--upstream", flags->upstream, "The app (proxy.upstream)")->type_name("URL");
  app.add_option("--log-level", flags->log_level, "trace, debug, info, warn or error")
      ->type_name("LEVEL");
  return [flags, &globals] { return serve(*flags, globals); };
}

}  // namespace

const Command kServe{"serve", "Run weir before an app", kExamples, declare};

}  // namespace weir::app
