#include "policies/set/reference.h"

#include "config/schema.h"
#include "core/words.h"
#include "policies/lang/expr/functions.h"
#include "policies/lang/extractors.h"

namespace weir::policies {
namespace {

std::string spelled(const ExtractorRow& row) {
  const std::string name(row.name);
  switch (row.form) {
    case ArgumentForm::none:
      return name;
    case ArgumentForm::name:
      return name + ".x";
    case ArgumentForm::header:
      return name + ".x_y";
    case ArgumentForm::path:
      return name + ".x.y[0]";
    case ArgumentForm::index:
      break;
  }
  return name;
}

std::string signature(const expr::FunctionRow& row) {
  std::string name(row.name);
  std::string arguments;
  for (std::size_t i = 0; i < row.params.size(); ++i) {
    if (i == 0 && row.method) {
      name = std::string(row.params[i].name) + "." + name;
      continue;
    }
    if (!arguments.empty()) arguments += ", ";
    arguments += row.params[i].name;
  }
  if (row.max > row.params.size()) arguments += ", ...";
  return name + "(" + arguments + ")";
}

}  // namespace

std::string language_reference() {
  std::string out = R"(## Actions

What `do` may say, in the order of severity: of all that apply to a request the severest effect wins. `none` is a rung
without `do`, and may be the `effect` of a gray list.

| action | refuses | with `for` | |
|---|---|---|---|
)";
  for (const ActionRow& row : kActions) {
    out += "| `" + std::string(row.name) + "` | " +
           (row.refuses ? "yes, " + std::to_string(row.status) : "no") + " | " +
           (row.remembers ? "remembers the key" : "") + " | " + config::table_cell(row.help) +
           " |\n";
  }
  out += R"(
## Expressions

A typed subset of [CEL](https://cel.dev), compiled when the file is loaded: literals, fields, `[]`, `== != < <= > >=`,
`+ - * / %`, `in`, `&& || !` (also `and or not`), `? :` and the functions below. No loops, no side effects; what an
expression costs is bounded by the length of its text. Where CEL defines a result, it is CEL's: 64-bit integers whose
overflow is an error, `&&` and `||` that absorb errors, `int` and `double` compared by value.

One difference from CEL: a missing field is `null`. Equality is CEL's (`null != "x"` is true); `<`, `<=`, `>`, `>=`, `in`,
functions and arithmetic with null give null; a condition that is null or fails is false; a key part or amount that is null or
fails is *missing*, and then the policy's `missing` applies. What applications could read differently (a name that is
there twice, `user[]`, a broken body) fails, in `==` and `has()` too, and a policy that refuses answers 400
(docs/security.md, "Where a policy reads a field").

### What can be read

An event's own fields and the file's `fields` by their names, and:

| name | type | known | |
|---|---|---|---|
)";
  for (const ExtractorRow& row : extractor_rows()) {
    if (row.form == ArgumentForm::index) continue;
    out += "| `" + spelled(row) + "` | " + std::string(type_name(row.type)) + " | " +
           (row.side == Side::answer ? "with the answer" : "at the request") + " | " +
           config::table_cell(row.help) + " |\n";
  }
  out += R"(| `event` | string | at the request | The name of the event that is judged. |
| `value` | number | in rungs | The reading of the rung's window. |
| `limit` | number | in rungs | The rung's threshold. |

### Functions

`x.f(y)` and `f(x, y)` are the same.

| function | result | |
|---|---|---|
)";
  for (const expr::FunctionRow& row : expr::function_rows()) {
    out += "| `" + signature(row) + "` | " + std::string(type_name(row.result)) + " | " +
           config::table_cell(row.help) + " |\n";
  }
  return out;
}

}  // namespace weir::policies
