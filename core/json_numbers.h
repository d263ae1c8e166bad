#pragma once

#include <string>

#include "core/number.h"

namespace weir {

/// Appends the number as JSON, in plain decimal form. An infinite one becomes the nearest finite.
void append_json_number(std::string& out, Number number);

/// The same JSON with its numbers in plain decimal form: `8.656E0` is 8.656, `1e-7` 0.0000001. Some
/// libraries write every double with an exponent, which shells, spreadsheets and people misread.
/// The text must be valid JSON; strings stay as they are.
std::string plain_numbers(std::string json);

}  // namespace weir
