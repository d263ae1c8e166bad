#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <filesystem>
#include <iostream>
#include <memory>

#include "app/support/command.h"
#include "app/support/exit_code.h"
#include "app/support/files.h"
#include "app/tools/inject/manifest.h"

namespace weir::app {
namespace {

constexpr std::size_t kManifestMax = std::size_t{16} << 20;  // of all files together

constexpr std::string_view kInjectExamples =
    "Examples:\n"
    "  weir inject -f deployment.yaml | kubectl apply -f -\n"
    "  weir inject -f deployment.yaml --app-port 8080 --image registry.example/weir:0.1.0\n"
    "  weir inject -f manifests/ -f more.yaml | kubectl apply -f -\n"
    "  kubectl get deployment shop -o yaml | weir inject -f - --classic\n"
    "  weir inject --remove -f injected.yaml > deployment.yaml\n"
    "\n"
    "The manifests come out as they went in, with weir as a native sidecar of every pod (or as a "
    "second\n"
    "container: --classic), and with the Services of these pods pointed at it. Several files come "
    "out as one\n"
    "stream. Pods that have weir stay as they are; so do pods with hostNetwork, and pods that say "
    "otherwise by an\n"
    "annotation of their template:\n"
    "  weir.example/inject: \"false\"      not here\n"
    "  weir.example/app-port: \"3000\"     where the app listens\n"
    "The policies are the key weir.yaml of a ConfigMap, which weir follows as it changes:\n"
    "  kubectl create configmap weir --from-file=weir.yaml\n"
    "Where no manifest names a port of the app, proxy.upstream of weir.yaml says it.\n"
    "--remove gives the manifests back as they were before, except for the targetPort of a "
    "Service, "
    "which is then a\n"
    "number. The annotation weir.example/added of a template names what is taken beside weir; "
    "without it, a grace\n"
    "period and hooks stay, and a note names them.\n"
    "Exit codes: 0 done, 1 there is no pod in the manifests, or it cannot be done, 4 a file can't "
    "be read.";

struct InjectFlags {
  std::vector<std::string> named, files;  // by -f, and without it
  bool recursive = false;
  bool remove = false;
  InjectOptions options;
};

Result<std::string> read_input(std::size_t most) {
  std::string text;
  std::array<char, 16 << 10> piece;
  while (std::cin.read(piece.data(), piece.size()) || std::cin.gcount() > 0) {
    text.append(piece.data(), static_cast<std::size_t>(std::cin.gcount()));
    if (text.size() > most) return make_error_code(Error::too_large);
  }
  return text;
}

/// The files that kubectl would take of a directory, by name.
template <class Iterator>
void list_manifests(const std::string& directory, std::vector<std::string>& out,
                    std::error_code& error) {
  const std::size_t before = out.size();
  for (Iterator each(directory, error); !error && each != Iterator(); each.increment(error)) {
    const std::filesystem::path& path = each->path();
    const std::string kind = path.extension().string();
    if (kind != ".yaml" && kind != ".yml" && kind != ".json") continue;
    if (each->is_regular_file(error)) out.push_back(path.string());
  }
  std::sort(out.begin() + static_cast<std::ptrdiff_t>(before), out.end());
}

/// The files that a name means: the file itself, or the files of a directory.
Result<std::vector<std::string>> files_of(const std::string& name, bool recursive) {
  std::error_code error;
  if (name == "-" || !std::filesystem::is_directory(name, error)) return std::vector{name};
  std::vector<std::string> out;
  namespace fs = std::filesystem;
  recursive ? list_manifests<fs::recursive_directory_iterator>(name, out, error)
            : list_manifests<fs::directory_iterator>(name, out, error);
  if (error) return boost::system::error_code(error);
  return out;
}

/// An exit code, if it is not kOk.
int read_manifests(const InjectFlags& flags, std::vector<Manifest>& out) {
  std::vector<std::string> names = flags.named;
  names.insert(names.end(), flags.files.begin(), flags.files.end());
  if (names.empty()) {
    complain("no manifests: say -f FILE, -f DIRECTORY, or -f - for the standard input");
    return kUsage;
  }
  if (std::count(names.begin(), names.end(), "-") > 1) {
    complain("the standard input (-) can be read once only");
    return kUsage;
  }
  std::size_t room = kManifestMax;
  for (const std::string& name : names) {
    const auto files = files_of(name, flags.recursive);
    if (files && files->empty()) {
      complain(name + ": no file in it ends with .yaml, .yml or .json" +
               (flags.recursive ? "" : " (-R looks into the directories below as well)"));
      return kNo;
    }
    for (const std::string& file : files ? *files : std::vector<std::string>{}) {
      auto text = file == "-" ? read_input(room) : read_file(file, room);
      if (!text) {
        complain(file + ": " + text.error().message());
        return kUnreachable;
      }
      room -= text->size();
      out.push_back({file, std::move(*text)});
    }
    if (files) continue;
    complain(name + ": " + files.error().message());
    return kUnreachable;
  }
  return kOk;
}

int run_inject(const InjectFlags& flags) {
  std::vector<Manifest> manifests;
  if (const int code = read_manifests(flags, manifests); code != kOk) return code;
  const Injected result = flags.remove ? take_out(std::move(manifests), flags.options)
                                       : inject(std::move(manifests), flags.options);
  if (!result.problem.empty()) {
    complain(result.problem);
    return kNo;
  }
  for (const std::string& note : result.notes) complain(note);
  print_data(result.text);
  return kOk;
}

std::function<int()> declare_inject(CLI::App& app, const Globals&) {
  auto flags = std::make_shared<InjectFlags>();
  flags->options.image = "registry.example/weir:" + std::string(kVersion);
  app.add_option("-f,--filename", flags->named,
                 "Manifests, as YAML or JSON: a file, a directory, or - for the standard input; "
                 "may be repeated")
      ->type_name("FILE")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_option("FILE", flags->files, "As with -f: what a shell makes of -f *.yaml")
      ->type_name("");
  app.add_flag("-R,--recursive", flags->recursive, "The directories below a directory as well");
  app.add_flag(
      "--remove", flags->remove,
      "Take weir out of manifests that this command has changed (native sidecar or --classic)");
  app.add_flag("--classic", flags->options.classic,
               "A second container instead of a native sidecar: before Kubernetes 1.30");
  app.add_option("--app-port", flags->options.app_port,
                 "Where the app listens; else what the pod's annotation, a Service or the "
                 "container says")
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
