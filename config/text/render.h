#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/text/problem.h"

namespace weir::config {

/// A file as a renderer needs it: its name, and its text for the line under a problem.
struct FileView {
  std::string_view name;
  std::string_view text;
};

/// For people: `FILE:LINE:COLUMN: error: MESSAGE`, the line, a caret line with the hint, per
/// problem in the order given, and last a summary. Control characters are escaped, tabs widened to
/// eight columns, long lines cut around the place. `colour`: ANSI escapes. Linear in the texts.
std::string render_human(const Problems& problems, const std::vector<FileView>& files, bool colour);

/// `3 errors, 1 warning in 2 files`; empty without problems. Files are those with a problem.
std::string render_summary(const Problems& problems);

/// For machines: a JSON array of {file, line, column, length, severity, message, hint}, one per
/// line.
std::string render_json(const Problems& problems, const std::vector<FileView>& files);

}  // namespace weir::config
