#pragma once

#include <string>
#include <string_view>
#include <vector>

/// Comma-separated values (RFC 4180), as weir writes them for spreadsheets and reads the files of
/// people. Replay has a reader of its own, which is faster. Pure.
namespace weir {

/// Whether a cell needs a `'` before it: a spreadsheet would take it for a formula (it begins with
/// `=`, `+`, `-`, `@`, a tab or a carriage return, and is no number), and cells hold what clients
/// have sent. A formula that has such quotes already needs one more, because readers take one off.
bool is_formula(std::string_view cell) noexcept;

/// In quotes where the cell needs them; a formula with a `'` before it.
void append_csv_cell(std::string& out, std::string_view cell);

/// Takes the next record off `rest`, with the end of its line. A cell in quotes may have several
/// lines. False: a quote is not closed.
bool take_csv_record(std::string_view& rest, std::vector<std::string>& cells);

}  // namespace weir
