#include "app/tools/help/complete.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <boost/json/value.hpp>

#include "app/support/columns.h"
#include "app/support/command.h"
#include "app/support/recipes.h"
#include "app/tools/ctl/ctl_call.h"
#include "app/tools/ctl/ctl_text.h"
#include "config/text/word_lists.h"

namespace weir::app {
namespace {

constexpr milliseconds kAskTimeout{500};

enum class ValueKind : std::uint8_t { words, files, directories, recipes, policies, lists, views };

/// The possible values of a flag or a positional, if the name of its type does not say them.
struct Values {
  std::string_view command;  ///< "ctl list"; empty: of all commands
  std::string_view option;   ///< a long flag without its dashes, or a positional
  ValueKind kind;
  std::string_view words = {};
};
constexpr Values kValues[] = {
    {"", "output", ValueKind::words, "human json ndjson raw csv"},
    {"", "color", ValueKind::words, "auto always never"},
    {"serve", "log-level", ValueKind::words, "trace debug info warn error"},
    {"dev", "recipe", ValueKind::recipes},
    {"init", "RECIPE", ValueKind::recipes},
    {"check", "PATH", ValueKind::files},
    {"check", "against", ValueKind::files},
    {"check", "token-file", ValueKind::files},
    {"test", "PATH", ValueKind::files},
    {"replay", "order", ValueKind::words, "arrival"},
    {"replay", "readings", ValueKind::policies},
    {"replay", "sweep", ValueKind::policies},
    {"explain", "door", ValueKind::words, "ext_authz ratelimit"},
    {"explain", "URL", ValueKind::files},
    {"completion", "SHELL", ValueKind::words, "bash zsh fish"},
    {"man", "PAGE", ValueKind::words, "weir weir.yaml"},
    {"inject", "filename", ValueKind::files},
    {"inject", "FILE", ValueKind::files},
    {"ctl policy", "name", ValueKind::policies},
    {"ctl counter", "policy", ValueKind::policies},
    {"ctl list", "name", ValueKind::lists},
    {"ctl list", "effect", ValueKind::words, config::kNamesOf<kActions, config::ListEffects>},
    {"ctl view", "name", ValueKind::views},
};

std::string command_path(const CLI::App* app) {
  std::string out;
  for (; app != nullptr && app->get_parent() != nullptr; app = app->get_parent()) {
    out = app->get_name() + (out.empty() ? "" : " " + out);
  }
  return out;
}

/// `--config`, or the name of a positional.
std::string option_name(const CLI::Option& option) {
  return option.get_lnames().empty() ? option.get_name(true) : option.get_lnames().front();
}

const Values* values_of(const CLI::App* app, const CLI::Option& option) {
  const std::string path = command_path(app);
  const std::string name = option_name(option);
  const auto found = std::find_if(std::begin(kValues), std::end(kValues), [&](const Values& v) {
    return v.command == path && v.option == name;
  });
  return found == std::end(kValues) ? nullptr : found;
}

bool takes_value(const CLI::Option& option) { return option.get_items_expected_max() != 0; }

std::vector<const CLI::Option*> positionals_of(const CLI::App& app) {
  return app.get_options([](const CLI::Option* option) { return option->get_positional(); });
}

/// Where a command line has come to.
class LineReader {
 public:
  explicit LineReader(const CLI::App& root) : app_(&root) {}

  void take(const std::string& word) {
    if (pending_ != nullptr) {
      if (word == "=") return;  // bash parts --flag=value into three words
      note_value(word);
      return;
    }
    if (word.starts_with("-") && word.size() > 1 && !only_positionals_) {
      if (word == "--") {
        only_positionals_ = true;
        return;
      }
      const std::size_t equals = word.find('=');
      pending_ = find(word.substr(0, equals), pending_of_);
      if (pending_ != nullptr && !takes_value(*pending_)) pending_ = nullptr;
      if (pending_ != nullptr && equals != std::string::npos) note_value(word.substr(equals + 1));
      return;
    }
    const auto subcommands =
        app_->get_subcommands([&](const CLI::App* sub) { return sub->get_name() == word; });
    if (!subcommands.empty() && position_ == 0) {
      app_ = subcommands.front();
    } else {
      ++position_;
    }
  }

  /// The flag of that name, of this command or one above it; `of`: whose it is.
  const CLI::Option* find(const std::string& flag, const CLI::App*& of) const {
    for (const CLI::App* app = app_; app != nullptr; app = app->get_parent()) {
      for (const CLI::Option* option : app->get_options()) {
        if (!option->get_positional() && option->check_name(flag)) {
          of = app;
          return option;
        }
      }
    }
    return nullptr;
  }

  const CLI::App* app() const { return app_; }
  const CLI::Option* pending() const { return pending_; }
  const CLI::App* pending_of() const { return pending_of_; }
  bool only_positionals() const { return only_positionals_; }
  std::size_t position() const { return position_; }
  const std::string& door() const { return door_; }
  const std::string& token_file() const { return token_file_; }

 private:
  void note_value(const std::string& value) {
    if (pending_->check_name("--admin")) door_ = value;
    if (pending_->check_name("--token-file")) token_file_ = value;
    pending_ = nullptr;
  }

  const CLI::App* app_;
  const CLI::Option* pending_ = nullptr;  // a flag whose value comes next
  const CLI::App* pending_of_ = nullptr;
  bool only_positionals_ = false;
  std::size_t position_ = 0;
  std::string door_, token_file_;
};

void add_value_words(std::string_view words, std::vector<Candidate>& out) {
  while (!words.empty()) {
    const std::size_t end = std::min(words.find(' '), words.size());
    out.push_back({std::string(words.substr(0, end)), {}});
    words.remove_prefix(std::min(end + 1, words.size()));
  }
}

void add_values(const CLI::App* of, const CLI::Option& option, const LineReader& reader,
                const AskNames& ask, std::vector<Candidate>& out) {
  const Values* const values = values_of(of, option);
  const std::string type = option.get_type_name();
  ValueKind kind = ValueKind::words;
  if (values != nullptr) {
    kind = values->kind;
  } else if (type == "FILE" || type == "NAME=FILE") {
    kind = ValueKind::files;
  } else if (type == "DIR") {
    kind = ValueKind::directories;
  }
  const auto add_names = [&](AdminNames what) {
    for (std::string& name : ask(what, reader.door(), reader.token_file()))
      out.push_back({std::move(name), {}});
  };
  switch (kind) {
    case ValueKind::words:
      if (values != nullptr) add_value_words(values->words, out);
      break;
    case ValueKind::files:
      out.push_back({":files", {}});
      break;
    case ValueKind::directories:
      out.push_back({":dirs", {}});
      break;
    case ValueKind::recipes:
      for (const Recipe& recipe : recipes()) out.push_back({recipe.name, recipe.about});
      break;
    case ValueKind::policies:
      add_names(AdminNames::policies);
      break;
    case ValueKind::lists:
      add_names(AdminNames::lists);
      break;
    case ValueKind::views:
      add_names(AdminNames::views);
      break;
  }
}

void add_flags(const CLI::App* app, const std::string& begun, std::vector<Candidate>& out) {
  for (; app != nullptr; app = app->get_parent()) {
    for (const CLI::Option* option : app->get_options()) {
      if (option->get_positional()) continue;
      for (const std::string& name : option->get_lnames())
        out.push_back({"--" + name, option->get_description()});
      if (begun.starts_with("--")) continue;
      for (const std::string& name : option->get_snames())
        out.push_back({"-" + name, option->get_description()});
    }
  }
}

}  // namespace

std::vector<Candidate> complete(const CLI::App& root, const std::vector<std::string>& words,
                                const AskNames& ask) {
  std::vector<Candidate> out;
  if (words.empty()) return out;
  LineReader reader(root);
  for (std::size_t i = 0; i + 1 < words.size(); ++i) reader.take(words[i]);
  std::string begun = words.back();
  std::string before;  // the part of the last word that stays: `--flag=`
  if (reader.pending() != nullptr) {
    if (begun == "=") begun.clear();
    add_values(reader.pending_of(), *reader.pending(), reader, ask, out);
  } else if (begun.starts_with("-") && !reader.only_positionals()) {
    if (const std::size_t equals = begun.find('='); equals != std::string::npos) {
      const CLI::App* of = nullptr;
      const CLI::Option* const flag = reader.find(begun.substr(0, equals), of);
      before = begun.substr(0, equals + 1);
      begun.erase(0, equals + 1);
      if (flag != nullptr && takes_value(*flag)) add_values(of, *flag, reader, ask, out);
    } else {
      add_flags(reader.app(), begun, out);
    }
  } else {
    if (reader.position() == 0) {
      for (const CLI::App* sub :
           reader.app()->get_subcommands([](const CLI::App*) { return true; }))
        out.push_back({sub->get_name(), sub->get_description()});
    }
    const auto positionals = positionals_of(*reader.app());
    if (!positionals.empty()) {
      const std::size_t last = positionals.size() - 1;
      const CLI::Option& next = *positionals[std::min(reader.position(), last)];
      if (reader.position() <= last || next.get_items_expected_max() > 1)
        add_values(reader.app(), next, reader, ask, out);
    }
  }
  std::erase_if(out, [&](const Candidate& candidate) {
    return !candidate.word.starts_with(':') && !candidate.word.starts_with(begun);
  });
  for (Candidate& candidate : out) {
    if (!candidate.word.starts_with(':')) candidate.word.insert(0, before);
  }
  return out;
}

std::vector<std::string> ask_names(AdminNames what, const std::string& door,
                                   const std::string& token_file) {
  constexpr const char* kWords[] = {"policies", "lists", "views"};
  const char* const word = kWords[static_cast<std::size_t>(what)];
  AdminDoor at = default_door();
  if (!door.empty()) at.address = door;
  if (!token_file.empty()) at.token_file = token_file;
  const AdminAnswer answer = ask_admin(at, "GET", std::string("/v1/") + word, {}, kAskTimeout);
  std::vector<std::string> out;
  if (answer.problem.empty()) {
    for (const boost::json::value& each : items(answer.body, word)) {
      std::string name = cell(each, "name");
      // A blank would part the word, and a colon in front means files.
      if (name.find_first_of(" \t\n") == std::string::npos && !name.starts_with(':'))
        out.push_back(std::move(name));
    }
  }
  return out;
}

std::string completions(const CLI::App& root, const std::vector<std::string>& words) {
  std::string out;
  for (const Candidate& candidate : complete(root, words, ask_names)) {
    out += candidate.word;
    if (!candidate.about.empty())
      out += '\t' + candidate.about.substr(0, candidate.about.find('\n'));
    out += '\n';
  }
  return out;
}

}  // namespace weir::app
