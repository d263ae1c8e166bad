#pragma once

#include <cstdio>
#include <cstdlib>

#include "config/import/imported.h"
#include "config/load.h"

namespace weir::config {

/// For any bytes, an importer writes a file that loads, or it says why there is none.
inline void check_imported(const Imported& imported) {
  if (imported.yaml.empty() == imported.error.empty()) std::abort();
  if (imported.yaml.empty()) return;
  const Loaded loaded = load_text("imported.yaml", imported.yaml);
  if (loaded.model) return;
  std::fputs(render_human(loaded.problems, loaded.views(), false).c_str(), stderr);
  std::fputs(imported.yaml.c_str(), stderr);
  std::abort();
}

}  // namespace weir::config
