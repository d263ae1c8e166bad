#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "config/load.h"

/// Any bytes: a model or at least one error, problems that point into the text, and texts for
/// people and machines. Run with -timeout=1 -rss_limit_mb=256 (the loader's own bounds: 100 ms, 64
/// MB).
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const weir::config::Loaded loaded = weir::config::load_text("weir.yaml", text);
  if (loaded.model.has_value() == loaded.problems.has_errors()) std::abort();
  for (const auto& problem : loaded.problems.all()) {
    if (problem.where.line == 0 || problem.where.file >= loaded.files.size()) std::abort();
  }
  const std::string human = weir::config::render_human(loaded.problems, loaded.views(), true);
  const std::string json = weir::config::render_json(loaded.problems, loaded.views());
  if (human.empty() != loaded.problems.all().empty() || json.empty()) std::abort();
  return 0;
}
