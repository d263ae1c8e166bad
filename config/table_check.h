#pragma once

#include <string>
#include <string_view>

#include "config/model.h"
#include "config/text/problem.h"

/// Which keys and limits of a table make no sense (table_edit.cc).
namespace weir::config {

/// Explains why a text names no limit of the table: it has more values than the table has fields.
/// Empty: it has not, or the table has a limit there (a value of its file may have commas).
std::string wrong_path(const TableDef& table, std::string_view text);
/// Whether a limit below 0 can make sense: a policy that asks the table has readings below 0,
/// or none asks it.
bool may_be_negative(const Model& model, std::string_view table);
/// Why no rung that compares with a limit of this table can reach this one: the text after "LIMIT"
/// in a message. Empty: a rung can, or none compares with the table.
std::string beyond_reading(const Model& model, std::string_view table, const Number& limit);
/// Warns of limits below 0 that make no sense, and of the first limit of each rung that no reading
/// can reach.
void check_limits(const Model& model, Problems& problems);

}  // namespace weir::config
