#pragma once

#include <string>
#include <string_view>

namespace weir::test {

/// Compares `actual` with the golden file tests/golden/<name>. With WEIR_UPDATE_GOLDEN=1 in the
/// environment the file is rewritten instead; look at the diff before you commit it.
/// Returns an empty string if equal, else what to print.
std::string compare_golden(std::string_view source_dir, std::string_view name,
                           std::string_view actual);

}  // namespace weir::test
