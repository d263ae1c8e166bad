#pragma once

#include <string>
#include <string_view>

namespace weir::policies::expr {

/// The number to write instead of a text that is compared with `time`: the Unix milliseconds of a
/// date, in UTC if the text names no zone.
std::string time_hint(std::string_view text);

}  // namespace weir::policies::expr
