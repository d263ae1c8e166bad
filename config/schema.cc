#include "config/schema.h"

#include "config/cases.h"
#include "config/environment.h"
#include "config/text/reader.h"
#include "core/text.h"

namespace weir::config {
namespace {

constexpr std::string_view kSharedDefinitions = R"(
    "name": {"type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_-]{0,63}$"},
    "names": {"anyOf": [{"type": "string", "minLength": 1}, {"type": "array", "minItems": 1, "items": {"type": "string", "minLength": 1}}]},
    "place": {"type": "object", "properties": {"near": {"$ref": "#/$defs/near"}}, "required": ["near"], "additionalProperties": false},
    "texts": {"anyOf": [{"type": ["string", "number", "boolean"]}, {"type": "array", "minItems": 1, "items": {"type": ["string", "number", "boolean"]}}]},
    "expression": {"description": "An expression: a typed subset of CEL.", "type": ["string", "number", "boolean"]},
    "fields": {"type": "object", "propertyNames": {"pattern": "^[A-Za-z_][A-Za-z0-9_]{0,63}$"}, "additionalProperties": {"$ref": "#/$defs/expression"}},
    "duration": {"description": "A duration such as 500ms, 15m or 1h30m.", "type": "string", "pattern": "^([0-9]+d)?([0-9]+h)?([0-9]+m)?([0-9]+s)?([0-9]+ms)?$", "minLength": 2},
    "size": {"description": "A size such as 64KiB or 256MiB.", "type": "string", "pattern": "^[0-9]+(B|KiB|MiB|GiB)$"},
    "endpoint": {"description": "HOST:PORT or unix:/path.", "type": "string", "pattern": "^(unix:/.+|.*:[0-9]+)$"},
    "limit": {"description": "A number, the name of a table, or an expression.", "type": ["number", "string"]})";

void append_table(std::string& out, const TableDoc& table) {
  out += R"("type": "object", "additionalProperties": false, "properties": {)";
  std::string required;
  bool first = true;
  for (std::size_t i = 0; i < table.size; ++i) {
    KeyDoc doc;
    if (!table.row(i, doc)) continue;
    if (!first) out += ",";
    first = false;
    std::string help(doc.help);
    if (!doc.fallback.empty() && doc.fallback != "required")
      help += " Default: " + std::string(doc.fallback) + ".";
    if (doc.fallback == "required" || doc.name == "weir") {
      required += (required.empty() ? "\"" : ", \"") + std::string(doc.name) + "\"";
    }
    // The schema of a key is an object: its description goes in as the first member.
    out += "\n      \"" + std::string(doc.name) + R"(": {"description": )";
    append_json(out, help);
    out += ", " + std::string(doc.schema.substr(1));
  }
  out += "}";
  if (!required.empty()) out += ",\n      \"required\": [" + required + "]";
}

void append_reference(std::string& out, const TableDoc& table) {
  out += "\n## " + std::string(table.title) + "\n";
  if (!table.intro.empty()) out += "\n" + std::string(table.intro) + "\n";
  out += "\n| key | values | default | |\n|---|---|---|---|\n";
  for (std::size_t i = 0; i < table.size; ++i) {
    KeyDoc doc;
    if (!table.row(i, doc)) continue;
    out += "| `" + std::string(doc.name) + "` | " + table_cell(doc.values) + " | " +
           table_cell(doc.fallback) + " | " + table_cell(doc.help) + " |\n";
  }
}

}  // namespace

std::string table_cell(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '|') out += '\\';
    out += c;
  }
  return out;
}

std::string schema_json() {
  const std::vector<TableDoc>& tables = all_tables();
  std::string out =
      "{\n  \"$schema\": \"https://json-schema.org/draft/2020-12/schema\",\n  \"title\": "
      "\"weir\",\n  ";
  append_table(out, tables.front());
  out += ",\n  \"$defs\": {";
  out += kSharedDefinitions;
  for (std::size_t i = 1; i < tables.size(); ++i) {
    if (tables[i].id == "server") continue;  // its keys are those of the file itself
    out += ",\n    \"" + std::string(tables[i].id) + "\": {";
    append_table(out, tables[i]);
    out += "}";
  }
  return out + "\n  }\n}\n";
}

std::string reference_markdown() {
  std::string out =
      "# Reference of the configuration\n\nweir writes this page from the tables of its parser "
      "(`weir schema --reference`); "
      "do not edit. Each value's form:\na *duration* is `500ms`, `15m`, `1h30m` or `7d`; a *size* "
      "`64KiB` or `256MiB`; an *expression* is a typed subset of CEL.\n";
  for (const TableDoc& table : all_tables()) {
    if (table.id != "server") append_reference(out, table);
  }
  out +=
      "\n## Environment\n\nEach server setting has a variable that wins over the file; the items "
      "of a list are separated by commas.\n\n";
  for (const std::string& name : environment_names()) out += "- `" + name + "`\n";
  for (const TableDoc& table : case_tables()) append_reference(out, table);
  return out;
}

}  // namespace weir::config
