#include "tests/support/golden.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace weir::test {

std::string compare_golden(std::string_view source_dir, std::string_view name,
                           std::string_view actual) {
  const auto path = std::filesystem::path(source_dir) / "tests" / "golden" / name;
  if (std::getenv("WEIR_UPDATE_GOLDEN") != nullptr) {
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << actual;
    return {};
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) return "no golden file " + path.string() + "; the text is:\n" + std::string(actual);
  std::ostringstream expected;
  expected << file.rdbuf();
  if (expected.str() == actual) return {};
  return "differs from " + path.string() + "\n--- expected\n" + expected.str() + "--- actual\n" +
         std::string(actual);
}

}  // namespace weir::test
