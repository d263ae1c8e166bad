#pragma once

#include <span>
#include <string_view>

#include "core/event.h"
#include "policies/lang/extractors.h"

namespace weir::policies {

class Arena;

/// The value of a cookie, over all Cookie lines (a gateway from HTTP/2 may split them).
///
/// Quotes around a value are removed. Escapes of characters that a cookie cannot have (`%3A`,
/// `%20`) are decoded, as most frameworks do. Misses: absent; ambiguous (two cookies that some
/// application takes for this one, a name without a value, a character inside that some take for
/// the end, `\` in quotes, a quote without its second one, `+` beside another blank, `j:` before a
/// value, an escape of a letter or digit, a line after the value that may continue it:
/// applications differ); unreadable (broken escapes, not UTF-8, the arena is full).
Extracted find_cookie(Arena& arena, std::span<const HeaderField> headers,
                      std::string_view name) noexcept;

}  // namespace weir::policies
