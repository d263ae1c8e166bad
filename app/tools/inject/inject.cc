#include <unistd.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <iterator>

#include "app/support/command.h"
#include "app/support/exit_code.h"
#include "app/support/files.h"
#include "app/tools/inject/manifest.h"

namespace weir::app {
namespace {

constexpr std::size_t kManifestMost = std::size_t{16} << 20;

constexpr std::string_view kInjectExamples =
    "Examples:\n"
    "  weir inject -f deployment.yaml | kubectl apply -f -\n"
    "  weir inject -f deployment.yaml --app-port 8080 --image registry.example/weir:0.1.0\n"
    "  kubectl get deployment shop -o yaml | weir inject -f - --classic\n"
    "\n"
    "The manifests come out as they went in, with weir as a native sidecar of every pod (or as a "
    "second\n"
    "container: --classic), and with the Services of these pods pointed at it. Pods that have weir "
    "stay\n"
    "as they are. The policies are the key weir.yaml of a ConfigMap, which weir follows as it "
    "changes:\n"
    "  kubectl create configmap weir --from-file=weir.yaml\n"
    "Exit codes: 0 done, 1 there is nothing to put it into, or no way to, 4 a file can't be read.";

struct InjectFlags {
  std::string file;
  InjectOptions options;
};

Result<std::string> read_manifests(const std::string& file) {
  if (file != "-") return read_file(file, kManifestMost);
  return std::string(std::istreambuf_iterator<char>(std::cin), {});
}

int run_inject(const InjectFlags& flags) {
  const auto text = read_manifests(flags.file);
  if (!text) {
    complain(flags.file + ": " + text.error().message());
    return kUnreachable;
  }
  const Injected result = inject(*text, flags.file, flags.options);
  if (!result.problem.empty()) {
    complain(result.problem);
    return kNo;
  }
  for (const std::string& note : result.notes) complain(note);
  print(result.text);
  return kOk;
}

std::function<int()> declare_inject(CLI::App& app, const Globals&) {
  auto flags = std::make_shared<InjectFlags>();
  flags->options.image = "registry.example/weir:" + std::string(kVersion);
  app.add_option("-f,--filename", flags->file,
                 "Manifests, as YAML or JSON; - is the standard input")
      ->type_name("FILE")
      ->required();
  app.add_flag("--classic", flags->options.classic,
               "A second container instead of a native sidecar: before Kubernetes 1.29");
  app.add_option("--app-port", flags->options.app_port,
                 "Where the app listens; else what a Service or the container says")
      ->type_name("PORT")
      ->check(CLI::Range(1, 65535).description(""));
  app.add_option("--image", flags->options.image, "The image of weir")
      ->type_name("IMAGE")
      ->capture_default_str();
  app.add_option("--config-map", flags->options.config_map,
                 "The ConfigMap whose weir.yaml is the configuration")
      ->type_name("NAME")
      ->capture_default_str();
  return [flags] { return run_inject(*flags); };
}

}  // namespace

const Command kInject{"inject", "Put weir into the pods of Kubernetes manifests", kInjectExamples,
                      declare_inject};

}  // namespace weir::app
