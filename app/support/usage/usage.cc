#include "app/support/usage/usage.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <optional>

#include "app/support/command.h"
#include "app/support/exit_code.h"
#include "app/support/usage/command_line.h"
#include "app/support/usage/literal_words.h"
#include "config/text/problem.h"

namespace weir::app {
namespace {

using Words = std::vector<std::string>;

std::string with_suggestion(const std::string& message, std::string_view found,
                            const Words& allowed) {
  const std::vector<std::string_view> views(allowed.begin(), allowed.end());
  const std::string_view near = config::nearest(found, views);
  return near.empty() ? message : message + "; did you mean \"" + std::string(near) + "\"?";
}

Words flags_of(const CLI::App& app) {
  Words out;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) out.push_back("--" + name);
  }
  if (app.get_parent() != nullptr) {
    for (std::string& name : flags_of(*app.get_parent())) out.push_back(std::move(name));
  }
  return out;
}

/// A command line, split by the options that the command knows.
struct Given {
  Words options;         ///< that it knows, with their values, as the user wrote them
  Words known;           ///< their long names
  Words places;          ///< words that are neither options nor values
  std::string config;    ///< of a -c that the command does not have
  std::string format;    ///< json of a --json
  bool strange = false;  ///< something else is wrong

  bool has(std::string_view option) const {
    return std::find(known.begin(), known.end(), option) != known.end();
  }
};

const CLI::Option* find_option(const CLI::App& command, const std::string& flag) {
  for (const CLI::App* app = &command; app != nullptr; app = app->get_parent()) {
    if (const CLI::Option* option = app->get_option_no_throw(flag)) return option;
  }
  return nullptr;
}

/// `words`: those after the names of the command, and between them.
Given take_apart(const CLI::App& command, const Words& words) {
  Given out;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word.size() < 2 || word.front() != '-') {
      out.places.push_back(word);
      continue;
    }
    const bool is_long = word.starts_with("--");
    const std::size_t end = is_long ? std::min(word.find('='), word.size()) : 2;
    const std::string flag = word.substr(0, end);
    const bool whole = end == word.size();
    const std::string value = whole ? std::string() : word.substr(end + (is_long ? 1 : 0));
    if (const CLI::Option* option = find_option(command, flag)) {
      out.options.push_back(word);
      if (!option->get_lnames().empty()) out.known.push_back(option->get_lnames().front());
      if (whole && option->get_items_expected_min() > 0) {
        if (i + 1 < words.size())
          out.options.push_back(words[++i]);
        else
          out.strange = true;  // its value is missing
      }
    } else if (flag == "-c" || flag == "--config") {
      out.config = !whole ? value : i + 1 < words.size() ? words[++i] : "weir.yaml";
    } else if (flag == "--json" || flag == "--raw" ||
               (command.get_name() == kReplay.name && (flag == "--ndjson" || flag == "--csv"))) {
      out.format = flag.substr(2);
    } else {
      out.strange = true;
    }
  }
  return out;
}

/// The command line that the user probably means.
struct Meant {
  std::string why;  ///< what is wrong, in a sentence; empty: nothing is known
  Words line;       ///< without `weir`; empty: no line is known
};

Words command_line(std::string_view command, const Given& given, const Words& more) {
  Words out;
  for (std::size_t at = 0; at <= command.size();) {  // `ctl status` is two words
    const std::size_t blank = std::min(command.find(' ', at), command.size());
    out.emplace_back(command.substr(at, blank - at));
    at = blank + 1;
  }
  out.insert(out.end(), given.options.begin(), given.options.end());
  if (!given.format.empty()) out.insert(out.end(), {"-o", given.format});
  out.insert(out.end(), more.begin(), more.end());
  return out;
}

Meant meant_serve(const Given& given) {
  Words more;
  std::string why;
  for (const std::string& place : given.places) {
    const bool file = is_configuration(place) || ::access(place.c_str(), F_OK) == 0;
    if (!file && !is_app(place)) return {};
    if (why.empty())
      why = file ? "\"" + place + "\": a file is named by -c"
                 : "\"" + place + "\": the app is named by --upstream";
    more.insert(more.end(), {file ? "-c" : "--upstream", file ? place : app_url(place)});
  }
  return {why, command_line("serve", given, more)};
}

Meant meant_replay(const Given& given) {
  Words config, events;
  std::string why;
  for (const std::string& place : given.places) {
    const bool is_config = is_configuration(place);
    if (why.empty()) {
      why = is_config ? "\"" + place + "\": the policies are named by -c"
                      : "\"" + place + "\": a file is named by --event, with what its rows are";
    }
    if (is_config) config = {"-c", place};
    if (!is_config) events.insert(events.end(), {"--event", "request=" + place});
  }
  if (config.empty() && !given.has("config")) config = {"-c", "weir.yaml"};
  if (events.empty() && !given.has("event")) events = {"--event", "request=access.log"};
  config.insert(config.end(), events.begin(), events.end());
  return {why, command_line("replay", given, config)};
}

Meant meant_explain(const Given& given) {
  Words more;
  std::string why, url;
  for (const std::string& place : given.places) {
    const bool method = place.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ") == std::string::npos;
    if (is_configuration(place)) {
      if (why.empty()) why = "\"" + place + "\": a file is named by -c";
      more.insert(more.end(), {"-c", place});
    } else if (method && !given.has("request")) {
      if (why.empty()) why = "\"" + place + "\": the method is named by -X";
      more.insert(more.end(), {"-X", place});
    } else if (url.empty()) {
      url = place;
    } else {
      return {};
    }
  }
  if (url.empty() && why.empty() && given.format.empty())
    why = "URL is required: what is asked for, a path or a URL";
  more.push_back(url.empty() ? "/api/login" : url);
  return {why, command_line("explain", given, more)};
}

Meant meant_dev(const Given& given) {
  const std::string app = given.places.empty() ? "3000" : given.places.front();
  if (given.config.empty()) {
    std::string why;
    if (given.places.empty() && given.format.empty())
      why = "APP is required: the app, a port on this machine or a URL";
    if (given.places.size() > 1) return {};
    return {why, command_line("dev", given, {app})};
  }
  if (given.has("recipe") || given.has("envoy")) return {"dev reads no file", {}};
  return {"dev reads no file; serve does",
          command_line("serve", given, {"-c", given.config, "--upstream", app_url(app)})};
}

Meant meant_check(std::string_view command, const Given& given) {
  Words more = given.places;
  if (!given.config.empty()) more.insert(more.begin(), given.config);
  return {given.config.empty() ? std::string()
                               : "\"" + given.config + "\": a configuration needs no flag here",
          command_line(command, given, more)};
}

Meant meant_by(std::string_view command, const Given& given) {
  if (given.strange) return {};
  if (command == "serve") return meant_serve(given);
  if (command == "replay") return meant_replay(given);
  if (command == "explain") return meant_explain(given);
  if (command == "dev") return meant_dev(given);
  if (command == "check" || command == "doctor") return meant_check(command, given);
  if (!given.config.empty())
    return {std::string(command.substr(0, command.find(' '))) + " reads no configuration", {}};
  return {{}, command_line(command, given, given.places)};
}

/// Prints the command line that the user probably means, with its reason. False: it is unknown.
bool say_meant(const CLI::App& command, const std::string& name, const Words& words) {
  const Given given = take_apart(command, words);
  Meant meant = meant_by(name, given);
  if (!given.format.empty()) {
    const std::string format = "--" + given.format + " is written -o " + given.format;
    meant.why = meant.why.empty() ? format : meant.why + "; " + format;
  }
  if (meant.why.empty()) return false;
  complain(meant.why +
           "\ntry: " + (meant.line.empty() ? "weir " + name + " --help" : weir_line(meant.line)));
  return true;
}

}  // namespace

int usage(const std::string& message, const std::string& see) {
  complain(message + "\ntry \"" + see + " --help\"");
  return kUsage;
}

int explain_unknown_command(const std::string& word, const std::vector<std::string>& names) {
  if (is_configuration(word)) {
    complain("\"" + word + "\" is not a command\ntry: " + weir_line({"serve", "-c", word}) +
             ", or " + weir_line({"check", word}));
    return kUsage;
  }
  return usage(with_suggestion("unknown command \"" + word + "\"", word, names), "weir");
}

int explain_usage(const CLI::App& root, const CLI::ParseError& error, Words words) {
  const CLI::App* command = &root;
  std::string see = "weir", name;
  for (const CLI::App* used = command; used != nullptr;) {
    command = used;
    if (command != &root) {
      see += " " + command->get_name();
      name += (name.empty() ? "" : " ") + command->get_name();
      const auto said = std::find(words.begin(), words.end(), command->get_name());
      if (said != words.end()) words.erase(said);
    }
    const auto chosen = used->get_subcommands();
    used = chosen.empty() ? nullptr : chosen.front();
  }
  Words names;
  for (const CLI::App* each : command->get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(each->get_name());
  const bool wants_name = command != &root && !names.empty();
  if (command != &root && !wants_name && say_meant(*command, name, words)) return kUsage;
  for (const std::string& left : root.remaining(true)) {
    if (left.starts_with('-')) {
      const std::string flag = left.substr(0, left.find('='));
      return usage(with_suggestion("unknown flag " + flag, flag, flags_of(*command)), see);
    }
    if (wants_name) {
      return usage(with_suggestion("unknown command \"" + command->get_name() + " " + left + "\"",
                                   left, names),
                   see);
    }
  }
  if (wants_name) {
    std::string all;
    for (const std::string& each : names) all += (all.empty() ? "" : ", ") + each;
    return usage(command->get_name() + " needs one of: " + all, see);
  }
  return usage(literal_message(error.what()), see);
}

}  // namespace weir::app
