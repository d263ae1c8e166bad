#pragma once

#include <string>

/// Tries whether files can be written. Rights alone do not say it: they never refuse root, and file
/// systems such as /proc have rules of their own. For one thread; may block on a slow disk.
namespace weir::app::doctor {

/// Makes a directory in `directory` and removes it. Returns 0 or the errno of the failure.
int try_to_write_in(const std::string& directory);

/// Opens the file at `path` as a log is opened, and writes nothing. Removes the file if it was not
/// there before. Returns 0 or the errno of the failure.
int try_to_append(const std::string& path);

}  // namespace weir::app::doctor
