#pragma once

#include <string_view>

#include "config/model.h"
#include "config/text/problem.h"

namespace weir::config {

/// Fills a table from the text of its csv file (RFC 4180): a column for each field of `by`, then
/// the limit, a number or `unlimited`; `*` stands for any other value. A first line that repeats
/// the fields' names is a header; empty lines and lines that begin with `#` are skipped. Problems
/// are reported at the place of `file:` with the line of the csv file, at most ten of them.
void fill_table(TableDef& table, std::string_view text, Problems& problems);

}  // namespace weir::config
