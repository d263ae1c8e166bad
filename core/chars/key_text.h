#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

/// Keys as one text for people, and back: the parts with commas between them, `alice, 192.0.2.7`.
/// The dashboard has the same rule (admin/dashboard/page/format.js). Pure.
namespace weir {

/// A part that a reader could take for something else is quoted; quotes are doubled within
/// it, as in CSV: an empty one, one with a comma, one with blanks at its ends, one that begins with
/// a quote or with `(`. No parts: empty.
std::string key_text(std::span<const std::string> parts);

/// The parts of such a text; blanks around them are left out. A quote that is not closed is a
/// character like others. One part at least.
std::vector<std::string> key_parts(std::string_view text);

}  // namespace weir
