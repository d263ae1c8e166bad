#include <cstdint>

#include "policies/set/compile.h"
#include "tests/fuzz/import_check.h"

/// Any bytes as a file of envoyproxy/ratelimit, imported and loaded as it is, and as its
/// environment.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto imported = weir::config::import_envoy_rate_limits({{"limits.yaml", text, true}});
  weir::config::check_imported(imported);
  weir::config::check_imported(weir::config::import_envoy_environment(text));
  weir::config::Problems problems;
  const weir::config::Model model = weir::config::parse(
      {{"weir.yaml", "weir: 1\npolicies: []\n", false}, {"limits.yaml", text, true}}, {}, problems);
  // One reader reads both; only where it finds nothing wrong there is something to compile.
  if (problems.has_errors() == imported.error.empty()) std::abort();
  if (problems.has_errors()) return 0;
  if (weir::policies::compile(model, problems) == nullptr) std::abort();
  return 0;
}
