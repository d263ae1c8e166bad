#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/model.h"

namespace weir::config {

/// A limit of a table: the values of its fields, outermost first (`*`: any other), fewer than it
/// has fields where one limit applies to all that follow.
struct TableCell {
  std::vector<std::string> path;
  std::optional<Number> limit;  ///< plus infinity: `unlimited`; none: there is none
  friend bool operator==(const TableCell& a, const TableCell& b) {
    return a.path == b.path && a.limit.has_value() == b.limit.has_value() &&
           (!a.limit || a.limit->to_string() == b.limit->to_string());
  }
};

/// The limits that operators have set in a table over its files. Like an Override, an edit is put
/// over a copy of the model, which is then compiled like any other; unlike an Override, it stays.
struct TableEdit {
  std::string table;
  std::vector<TableCell> cells;  ///< one of each path
  friend bool operator==(const TableEdit&, const TableEdit&) = default;
};

/// Puts the edit over its table. Returns the error, for people; empty: it is done. A cell that
/// removes a missing limit is done as well.
std::string apply(const TableEdit& edit, Model& model);

/// All limits of a table, in the order of the file.
std::vector<TableCell> cells_of(const TableDef& table);
/// The limit at this path itself; none: there is none.
std::optional<Number> limit_at(const TableDef& table, const std::vector<std::string>& path);
bool same_limit(const std::optional<Number>& a, const std::optional<Number>& b);
/// Puts a cell into the list in the place of one of the same path.
void merge_cell(std::vector<TableCell>& cells, TableCell cell);

/// `baidu,android` as a path: commas between the values, or `/` or `.` if there is no comma and
/// the table has several fields.
std::vector<std::string> read_path(const TableDef& table, std::string_view text);
std::string path_text(const std::vector<std::string>& path);
/// `1500`, `unlimited`, `none`.
std::string limit_text(const std::optional<Number>& limit);

}  // namespace weir::config
