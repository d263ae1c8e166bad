#include <unistd.h>

#include <CLI/CLI.hpp>

#include "app/serve/serving.h"
#include "app/support/command.h"
#include "app/support/exit_code.h"
#include "config/text/units.h"

namespace weir::app {
namespace {

constexpr std::string_view kServeExamples =
    "Examples:\n"
    "  weir serve --config weir.yaml\n"
    "  weir serve --upstream http://127.0.0.1:3000 --listen 127.0.0.1:8480\n"
    "  WEIR_PROXY_UPSTREAM=unix:/run/app.sock weir serve\n"
    "\n"
    "A flag wins over the environment (WEIR_*), and that over the file. Changed policies are taken "
    "over\n"
    "while weir runs; SIGHUP asks for it. SIGTERM and Ctrl-C drain, a second one ends at once.";

struct ServeFlags {
  std::string config, listen, upstream, log_level, record_size = "100MiB";
  Recording::Options record;
};

/// A flag takes the place of a setting's variable; errors name the flag, not the variable.
template <class T>
bool is_good(const char* flag, const std::string& given,
             config::Parsed<T> (*parse)(std::string_view)) {
  if (given.empty()) return true;
  const auto parsed = parse(given);
  if (!parsed) complain(std::string(flag) + ": " + parsed.message);
  return static_cast<bool>(parsed);
}

int serve(const ServeFlags& flags, const Globals& globals) {
  if (!is_good("--listen", flags.listen, config::parse_listen) ||
      !is_good("--upstream", flags.upstream, config::parse_upstream)) {
    return kUsage;
  }
  config::Environment environment = process_environment();
  const std::string path = flags.config.empty() ? default_config_path(environment) : flags.config;
  const auto set = [&](const char* name, const std::string& value) {
    if (!value.empty()) environment[name] = value;
  };
  set("WEIR_PROXY_LISTEN", flags.listen);
  set("WEIR_PROXY_UPSTREAM", flags.upstream);
  set("WEIR_LOG_LEVEL", flags.log_level);
  // If a flag or variable names the upstream, weir runs without a file too: a plain proxy with
  // metrics.
  const bool no_file = flags.config.empty() && !environment.contains("WEIR_CONFIG") &&
                       ::access(path.c_str(), F_OK) != 0 &&
                       environment.contains("WEIR_PROXY_UPSTREAM");

  Serving::Options options;
  options.record = flags.record;
  const auto size = config::parse_size(flags.record_size);
  if (!size.value || *size.value < RotatedFile::kSizeMin) {
    complain("--record-size is a size of 1MiB or more, such as 100MiB");
    return kUsage;
  }
  options.record.size = *size.value;
  if (!no_file && flags.config.empty() && no_default_config(environment, "--config FILE"))
    return kNo;
  options.colours = globals.colours(STDERR_FILENO);
  options.watch_files = !no_file;
  if (no_file) {
    options.load = [environment] {
      return compile(config::load_texts({{"(no file)", "weir: 1\n"}}, environment));
    };
  } else {
    options.included = std::make_shared<IncludedTexts>(path, environment);
    options.included->prepare();
    options.load = [included = options.included] { return included->load(); };
  }
  return Serving(std::move(options)).run();
}

std::function<int()> declare_serve(CLI::App& app, const Globals& globals) {
  auto flags = std::make_shared<ServeFlags>();
  app.add_option("-c,--config", flags->config,
                 "The main file; else $WEIR_CONFIG, ./weir.yaml, /etc/weir/weir.yaml")
      ->type_name("FILE");
  app.add_option("--listen", flags->listen, "Where requests come in (proxy.listen)")
      ->type_name("ADDRESS");
  app.add_option("--upstream", flags->upstream, "The app (proxy.upstream)")->type_name("URL");
  app.add_option("--log-level", flags->log_level, "trace, debug, info, warn or error")
      ->type_name("LEVEL")
      ->check(CLI::IsMember({"trace", "debug", "info", "warn", "error"}).description(""));
  app.add_option("--record", flags->record.path,
                 "Write every event to this file, for weir replay --event request=FILE; what only "
                 "names callers is hashed")
      ->type_name("FILE");
  app.add_option("--record-sample", flags->record.sample,
                 "Record this part of the callers only, such as 0.1, each with all its events")
      ->type_name("PART")
      ->check(CLI::Range(1e-6, 1.0).description(""));
  app.add_option("--record-by", flags->record.subject,
                 "Sample by this field's values instead of by callers")
      ->type_name("FIELD");
  app.add_option("--record-size", flags->record_size, "The file is then moved aside, to FILE.1")
      ->type_name("SIZE")
      ->capture_default_str();
  app.add_option("--record-files", flags->record.files,
                 "Files moved aside are kept up to this many")
      ->type_name("N")
      ->check(CLI::Range(0, 1000).description(""))
      ->capture_default_str();
  return [flags, &globals] { return serve(*flags, globals); };
}

}  // namespace

const Command kServe{"serve", "Run weir before an app", kServeExamples, declare_serve};

}  // namespace weir::app
