#include <CLI/CLI.hpp>
#include <cstdlib>

#include "app/support/command.h"
#include "app/support/exit_code.h"
#include "app/tools/help/roff.h"
#include "config/environment.h"
#include "config/schema.h"
#include "core/chars/ascii.h"
#include "policies/set/reference.h"

/// The man pages, written from the tables of the command line and the configuration.
namespace weir::app {
namespace {

constexpr std::string_view kManExamples =
    "Examples:\n"
    "  weir man > weir.1                    weir(1)\n"
    "  weir man weir.yaml > weir.yaml.5     weir.yaml(5)\n"
    "  weir man weir.yaml | man -l -        read it at once";

std::string page_title(std::string_view name, int section, std::string_view about) {
  return "." + std::string("TH ") + roff_text(ascii::uppered(name)) + " " +
         std::to_string(section) + " \"\" \"weir " + std::string(kVersion) +
         "\" \"weir\"\n.nh\n.ad l\n.SH NAME\n" + roff_text(name) + " \\- " + roff_text(about) +
         "\n";
}

/// `-c, --config FILE`, and a positional as it is written.
std::string option_head(const CLI::Option& option) {
  std::string names;
  for (const std::string& name : option.get_snames()) names += (names.empty() ? "-" : ", -") + name;
  for (const std::string& name : option.get_lnames())
    names += (names.empty() ? "--" : ", --") + name;
  if (names.empty()) names = option.get_name(true);
  std::string out = "\\fB" + roff_text(names) + "\\fR";
  const bool takes_value = option.get_items_expected_max() != 0 && !option.get_positional();
  if (takes_value && !option.get_type_name().empty())
    out += " \\fI" + roff_text(option.get_type_name()) + "\\fR";
  return out;
}

void append_options(const CLI::App& app, std::string& out) {
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) continue;  // hidden
    out += ".TP\n" + option_head(*option) + "\n" + roff_text(option->get_description());
    if (!option->get_default_str().empty())
      out += "\n.br\nDefault: " + roff_text(option->get_default_str());
    out += "\n";
  }
}

/// The text below the options of --help, line by line.
void append_examples(const std::string& text, std::string& out) {
  out += ".PP\n.EX\n";
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    out += roff_text(rest.substr(0, end)) + "\n";
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  out += ".EE\n";
}

std::string synopsis_of(const CLI::App& app, const std::string& path) {
  std::string out = "\\fB" + roff_text(path) + "\\fR [\\fIOPTIONS\\fR]";
  for (const CLI::Option* option : app.get_options()) {
    if (!option->get_positional()) continue;
    const std::string name =
        roff_text(option->get_name(true)) + (option->get_items_expected_max() > 1 ? "..." : "");
    out += option->get_required() ? " \\fI" + name + "\\fR" : " [\\fI" + name + "\\fR]";
  }
  return out;
}

void append_command(const CLI::App& app, const std::string& path, std::string& out) {
  out += ".SS \"" + roff_text(path) + "\"\n" + roff_text(app.get_description()) + ".\n.PP\n" +
         synopsis_of(app, path) + "\n";
  append_options(app, out);
  if (const std::string examples = app.get_footer(); !examples.empty())
    append_examples(examples, out);
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; }))
    append_command(*sub, path + " " + sub->get_name(), out);
}

std::string man_weir(const CLI::App& root) {
  std::string out = page_title("weir", 1, "rate limiter and counter in front of an app");
  out += ".SH SYNOPSIS\n\\fBweir\\fR \\fICOMMAND\\fR [\\fIOPTIONS\\fR] [\\fIARGUMENTS\\fR]\n";
  out += ".SH DESCRIPTION\n" + roff_of_markdown(root.get_description()).substr(4);  // without .PP
  append_examples(root.get_footer(), out);
  out += ".SH \"GLOBAL OPTIONS\"\nThese are allowed at any place.\n";
  append_options(root, out);
  out += ".SH COMMANDS\n";
  for (const CLI::App* sub : root.get_subcommands([](const CLI::App*) { return true; }))
    append_command(*sub, "weir " + sub->get_name(), out);
  out +=
      ".SH SIGNALS\n"
      ".TP\n\\fBSIGTERM\\fR, \\fBSIGINT\\fR\nDrain: not ready any more, still accepting for "
      "\\fBdrain.delay\\fR, then what is in flight ends; exit code 0. A second one ends weir at "
      "once.\n"
      ".TP\n\\fBSIGHUP\\fR\nRead the configuration again.\n";
  out +=
      ".SH ENVIRONMENT\n"
      ".TP\n\\fBWEIR_CONFIG\\fR\nThe main file, where no flag names one.\n"
      ".TP\n\\fBNOTIFY_SOCKET\\fR, \\fBWATCHDOG_USEC\\fR\nOf systemd: whom to tell that weir is "
      "ready, reloads, stops, and is alive.\n"
      ".TP\n\\fBNO_COLOR\\fR\nNo colours.\n"
      ".PP\nEach server setting has a variable, which wins over the file; weir.yaml(5) says what "
      "they mean:\n";
  for (const std::string& name : config::environment_names()) out += ".br\n\\fB" + name + "\\fR\n";
  out +=
      ".SH FILES\n.TP\n\\fI./weir.yaml\\fR, \\fI/etc/weir/weir.yaml\\fR\nThe main file, in this "
      "order.\n.SH \"SEE ALSO\"\nweir.yaml(5)\n";
  return out;
}

std::string man_configuration() {
  return page_title("weir.yaml", 5, "configuration and policies of weir") + ".SH DESCRIPTION\n" +
         roff_of_markdown(config::reference_markdown()).substr(4) +
         roff_of_markdown(policies::language_reference()) + ".SH \"SEE ALSO\"\nweir(1)\n";
}

std::function<int()> declare_man(CLI::App& app, const Globals&) {
  auto page = std::make_shared<std::string>("weir");
  app.add_option("PAGE", *page, "weir or weir.yaml")
      ->capture_default_str()
      ->check(CLI::IsMember({"weir", "weir.yaml"}).description(""));
  return [page, &app] {
    print(*page == "weir" ? man_weir(*app.get_parent()) : man_configuration());
    return int{kOk};
  };
}

}  // namespace

const Command kMan{"man", "Print a man page", kManExamples, declare_man};

}  // namespace weir::app
