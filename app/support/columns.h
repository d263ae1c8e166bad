#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/support/json_members.h"

/// Answers of the admin API in columns, for people. Escapes texts from elsewhere; members that are
/// missing or of another shape are empty.
namespace weir::app {

using Rows = std::vector<std::vector<std::string>>;

/// Columns side by side, each as wide as its widest cell, without blanks at the end of a line. With
/// a heading (the first row), a column that has nothing below it is left out.
std::string columns(const Rows& rows, std::string_view indent = {}, bool heading = true);

/// A value as the text of a cell: numbers in shortest form, lists joined by commas, null empty.
std::string plain(const boost::json::value& value);
std::string cell(const boost::json::value& of, std::string_view name);
/// A member that is a key, as one text for people (core/chars/key_text.h); empty: it has no parts.
std::string key_cell(const boost::json::value& of, std::string_view name);

}  // namespace weir::app
