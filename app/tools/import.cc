#include <glob.h>
#include <re2/re2.h>
#include <sys/stat.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "app/support/command.h"
#include "app/support/configuration.h"
#include "app/support/exit_code.h"
#include "app/support/files.h"
#include "config/import/imported.h"
#include "policies/lang/expr/pattern.h"

namespace weir::app {
namespace {

constexpr std::string_view kImportExamples =
    "Examples:\n"
    "  weir import envoy-ratelimit config/        a directory of its YAML files, or one of them\n"
    "  weir import envoy-ratelimit --env ratelimit.env > weir.yaml\n"
    "  weir import limitador limits.yaml\n"
    "  weir import nginx /etc/nginx/nginx.conf > weir.yaml\n"
    "  weir import haproxy haproxy.cfg\n"
    "\n"
    "What could not be carried over, and why, is in comments at the top of the output. Files\n"
    "of envoyproxy/ratelimit can also be used as they are: ratelimit: {files: "
    "[ratelimit/*.yaml]}.\n"
    "docs/migrating.md has a section for each.";

constexpr std::size_t kFilesMax = 1'000;
constexpr std::size_t kBytesMax = std::size_t{4} << 20;

struct ImportFlags {
  std::string path;
  std::string environment;  ///< a file; empty: none
};

/// The file, or the YAML files of the directory in the order of their names.
std::vector<std::string> files_of(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) return {path};
  std::vector<std::string> out;
  for (const char* const end : {"/*.yaml", "/*.yml"}) {
    std::string pattern;
    for (const char c : path) {
      if (std::string_view("*?[]\\").find(c) != std::string_view::npos) pattern += '\\';
      pattern += c;
    }
    glob_t found{};
    if (::glob((pattern + end).c_str(), GLOB_NOSORT, nullptr, &found) == 0) {
      for (std::size_t i = 0; i < found.gl_pathc && out.size() < kFilesMax; ++i)
        out.emplace_back(found.gl_pathv[i]);
    }
    ::globfree(&found);
  }
  std::sort(out.begin(), out.end());
  return out;
}

/// Why RE2 does not compile a pattern of another program.
std::string refused_pattern(std::string_view pattern) {
  std::string why;
  return policies::expr::compile_pattern(pattern, why) == nullptr ? why : std::string();
}

template <class Read>
int import(const ImportFlags& flags, bool directories, Read read) {
  std::vector<config::SourceText> texts;
  const std::vector<std::string> paths =
      directories ? files_of(flags.path) : std::vector<std::string>{flags.path};
  if (paths.empty()) {
    complain(flags.path + ": there is no YAML file in it");
    return kUnreachable;
  }
  for (const std::string& path : paths) {
    auto text = read_file(path, kBytesMax);
    if (!text) {
      complain(path + ": " + text.error().message());
      return kUnreachable;
    }
    texts.push_back({path, std::move(*text), true});
  }
  const config::Imported imported = read(texts);
  if (!imported.error.empty()) {
    complain((directories ? "" : flags.path + ": ") + imported.error);
    return kNo;
  }
  print_data(imported.yaml);
  for (const config::ImportNote& note : imported.left_out) {
    const std::string place =
        directories || note.line == 0 ? flags.path : flags.path + ":" + std::to_string(note.line);
    complain(place + ": " + note.what + ": " + note.why);
  }
  if (!imported.left_out.empty()) {
    complain(std::to_string(imported.left_out.size()) +
             (imported.left_out.size() == 1 ? " thing was" : " things were") +
             " not carried over: see the comments at the top");
  }
  return imported.none ? kNo : kOk;
}

int import_envoy_rate_limits(const ImportFlags& flags) {
  if (flags.path.empty() == flags.environment.empty()) {
    complain(flags.path.empty()
                 ? "say what to read: CONFIG, or --env FILE"
                 : "CONFIG becomes policies, and --env leaves the files as they are: "
                   "name one of them");
    return kUsage;
  }
  if (flags.environment.empty()) return import(flags, true, config::import_envoy_rate_limits);
  return import({flags.environment, {}}, false, [](const auto& texts) {
    return config::import_envoy_environment(texts.front().text);
  });
}

std::function<int()> declare_import(CLI::App& app, const Globals&) {
  app.require_subcommand(1);
  struct Kind {
    const char* name;
    const char* help;
    const char* argument;
    int (*run)(const ImportFlags& flags);
    const char* environment_help = nullptr;  // of --env; null: there is none
  };
  static constexpr Kind kKinds[] = {
      {"envoy-ratelimit", "Files of envoyproxy/ratelimit, or its environment", "CONFIG",
       import_envoy_rate_limits,
       "Its environment instead: lines NAME=VALUE, or /proc/PID/environ; makes the settings with "
       "which weir reads its files where they lie"},
      {"limitador", "A file of limitador's limits", "FILE",
       [](const ImportFlags& flags) {
         return import(flags, false, [](const auto& texts) {
           return import_what_compiles(texts.front().text, config::import_limitador);
         });
       }},
      {"nginx", "limit_req and limit_conn", "FILE",
       [](const ImportFlags& flags) {
         return import(flags, false, [](const auto& texts) {
           return config::import_nginx(texts.front().text, refused_pattern);
         });
       }},
      {"haproxy", "stick-tables and the rules that read them", "FILE",
       [](const ImportFlags& flags) {
         return import(flags, false, [](const auto& texts) {
           return import_what_compiles(texts.front().text, config::import_haproxy);
         });
       }}};
  auto flags = std::make_shared<ImportFlags>();
  std::vector<std::pair<CLI::App*, const Kind*>> kinds;
  for (const Kind& kind : kKinds) {
    CLI::App* sub = app.add_subcommand(kind.name, kind.help);
    sub->set_help_flag("-h,--help", "Print this help");
    CLI::Option* const path = sub->add_option(kind.argument, flags->path, "What to read");
    if (kind.environment_help == nullptr) {
      path->required();
    } else {
      sub->add_option("--env", flags->environment, kind.environment_help)->type_name("FILE");
    }
    kinds.emplace_back(sub, &kind);
  }
  return [flags, kinds] {
    for (const auto& [sub, kind] : kinds) {
      if (sub->parsed()) return kind->run(*flags);
    }
    return static_cast<int>(kUsage);
  };
}

}  // namespace

const Command kImport{"import", "Read the limits of another program as policies", kImportExamples,
                      declare_import};

}  // namespace weir::app
