#include <fcntl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstring>
#include <memory>

#include "app/support/command.h"
#include "app/support/exit_code.h"
#include "app/support/files.h"
#include "app/support/recipes.h"
#include "core/text.h"

namespace weir::app {
namespace {

constexpr std::string_view kInitExamples =
    "Examples:\n"
    "  weir init                        what recipes there are\n"
    "  weir init login                  writes login.yaml and login_test.yaml here\n"
    "  weir init login --dir policies   ... there\n"
    "\n"
    "Nothing is overwritten unless --force says so.";

struct InitFlags {
  std::string recipe, directory = ".";
  bool force = false;
};

std::string listing(const Globals& globals) {
  std::string out;
  if (globals.output == Output::json) {
    out = "[";
    for (const Recipe& recipe : recipes()) {
      out += out.size() > 1 ? ",\n{\"name\":" : "{\"name\":";
      append_json(out, recipe.name);
      out += ",\"about\":";
      append_json(out, recipe.about);
      out += "}";
    }
    return out + "]\n";
  }
  std::size_t width = 0;
  for (const Recipe& recipe : recipes()) width = std::max(width, recipe.name.size());
  const bool colour = globals.colours(STDOUT_FILENO);
  for (const Recipe& recipe : recipes()) {
    const std::string gap(width - recipe.name.size() + 2, ' ');
    out += "  " + (colour ? "\x1b[1m" + recipe.name + "\x1b[0m" : recipe.name) + gap +
           recipe.about + "\n";
  }
  return out + "\n\"weir init NAME\" writes one with its cases; docs/recipes.md says more.\n";
}

/// Returns the error; empty: the file is written.
std::string write(const std::string& path, std::string_view text, bool force) {
  const int flags = O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | (force ? O_TRUNC : O_EXCL);
  const int fd = ::open(path.c_str(), flags, 0644);
  if (fd < 0) {
    return errno == EEXIST ? path + " is there already; --force overwrites it"
                           : path + ": " + std::strerror(errno);
  }
  const auto written = write_all(fd, text);
  ::close(fd);
  return written ? std::string{} : path + ": " + written.error().message();
}

std::string next_steps(const Recipe& recipe, const std::string& file, const std::string& cases) {
  const bool records = recipe.text.find("source:") != std::string_view::npos;
  std::string out = "wrote " + file + "\nwrote " + cases + "\n\nNext:\n";
  out += "  weir test " + cases + "\n";
  out += "      its cases: change both files together\n";
  out += "  weir check " + file + "\n";
  out += "      what is wrong with it, and what fits into memory\n";
  if (records) {
    out += "  weir replay -c " + file + " --event NAME=FILE\n";
    out += "      over a file of records; or send them to POST /v1/events\n";
  } else {
    out += "  WEIR_PROXY_UPSTREAM=http://127.0.0.1:3000 weir serve -c " + file + "\n";
    out += "      before the app on port 3000\n";
  }
  return out + "or name the file under `include:` of your own weir.yaml.\n";
}

int init(const InitFlags& flags, const Globals& globals) {
  if (flags.recipe.empty()) {
    print(listing(globals));
    return kOk;
  }
  const Recipe* recipe = find_recipe(flags.recipe);
  if (recipe == nullptr) {
    complain(no_recipe(flags.recipe));
    return kUsage;
  }
  if (const auto made = make_directory(flags.directory, 0755); !made) {
    complain(flags.directory + ": " + made.error().message());
    return kUnreachable;
  }
  const std::string stem = (flags.directory == "." ? "" : flags.directory + "/") + recipe->name;
  const std::string file = stem + ".yaml";
  const std::string cases = stem + "_test.yaml";
  if (!flags.force) {  // both or none
    for (const std::string& path : {file, cases}) {
      if (::access(path.c_str(), F_OK) != 0) continue;
      complain(path + " is there already; --force overwrites it");
      return kRefused;
    }
  }
  for (const auto& [path, text] :
       {std::pair{file, recipe->text}, std::pair{cases, recipe->case_text}}) {
    if (const std::string wrong = write(path, text, flags.force); !wrong.empty()) {
      complain(wrong);
      return kRefused;
    }
  }
  print(next_steps(*recipe, file, cases));
  return kOk;
}

std::function<int()> declare_init(CLI::App& app, const Globals& globals) {
  auto flags = std::make_shared<InitFlags>();
  app.add_option("RECIPE", flags->recipe, "Its name; left out: a list of all");
  app.add_option("--dir", flags->directory, "Where the files go")
      ->type_name("DIR")
      ->capture_default_str();
  app.add_flag("--force", flags->force, "Overwrite files that are there");
  return [flags, &globals] { return init(*flags, globals); };
}

}  // namespace

const Command kInit{"init", "Write a recipe, policies with their cases, to start from",
                    kInitExamples, declare_init};

}  // namespace weir::app
