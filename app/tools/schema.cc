#include "config/schema.h"

#include <CLI/CLI.hpp>
#include <memory>

#include "app/support/command.h"
#include "app/support/exit_code.h"
#include "policies/set/reference.h"

namespace weir::app {
namespace {

constexpr std::string_view kSchemaExamples =
    "Example:\n"
    "  weir schema > weir.schema.json\n"
    "then put this line on top of the file, and editors complete and check it:\n"
    "  # yaml-language-server: $schema=./weir.schema.json";

std::function<int()> declare_schema(CLI::App& app, const Globals&) {
  auto reference = std::make_shared<bool>(false);
  app.add_flag("--reference", *reference,
               "Every key with its values, default and meaning, as Markdown");
  return [reference] {
    std::string text = *reference
                           ? config::reference_markdown() + "\n" + policies::language_reference()
                           : config::schema_json();
    if (!text.ends_with('\n')) text += '\n';
    print(text);
    return int{kOk};
  };
}

}  // namespace

const Command kSchema{"schema", "Print the JSON Schema of the configuration", kSchemaExamples,
                      declare_schema};

}  // namespace weir::app
