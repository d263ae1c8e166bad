#include "policies/lang/expr/time_hint.h"

#include <cstddef>

#include "core/clock.h"
#include "core/time_pattern.h"

namespace weir::policies::expr {

std::string time_hint(std::string_view text) {
  for (const std::string_view pattern :
       {"%Y-%m-%d", "%Y-%m-%dT%H:%M:%S%t%z", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M",
        "%Y-%m-%d %H:%M:%S%t%z", "%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M"}) {
    TimePattern::Problem problem;
    std::size_t used = 0;
    const auto time = TimePattern::compile(pattern, problem)->read(text, used);
    if (!time || used != text.size()) continue;
    const bool zone = pattern.ends_with("%z");
    return "write " + std::to_string(to_ms(*time)) + ": times are Unix milliseconds" +
           (zone ? "" : ", and this is " + std::string(text) + " in UTC");
  }
  return "times are Unix milliseconds, such as 1767225600000 for 2026-01-01 in UTC; for the hour "
         "of "
         "the day write hour(\"UTC\") >= 8";
}

}  // namespace weir::policies::expr
