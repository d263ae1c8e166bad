#pragma once

#include <string>
#include <string_view>

namespace weir::config {

/// JSON Schema (2020-12) of the main file, from the same tables that the parser walks: for
/// completion and checks in editors. Included files hold a part of the same.
std::string schema_json();

/// A cell of a table in Markdown: a `|` would end it.
std::string table_cell(std::string_view text);

/// The reference of every key as Markdown, from the same tables.
std::string reference_markdown();

}  // namespace weir::config
