#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "policies/lang/extractors.h"

namespace weir::policies {

class Arena;

/// A form is read twice where it has raw bytes beyond ASCII. A name that has such bytes may then be
/// no longer; every parameter is unreadable beside a longer one.
inline constexpr std::size_t kRawNameMax = 4096;

/// The value of parameter `name` of a query or an application/x-www-form-urlencoded body, decoded
/// once ('+' is a blank). A value that needs no decoding is a view into `encoded`.
///
/// A parameter is taken for `name` if some application takes it for that (extractors/names.h), so a
/// parameter under another spelling is read, too. Misses: absent; ambiguous (two such parameters,
/// an element of a list or map of this name, a `;` that some applications take for `&`, or raw
/// bytes beyond ASCII in it, which some read as Latin-1 or without their highest bit); unreadable
/// (a broken escape or a raw control character in the value, a raw blank at the end of the text, a
/// value that is not UTF-8, a raw name over kRawNameMax, or the arena is full). A parameter
/// without '=' has the value "".
Extracted find_parameter(Arena& arena, std::string_view encoded, std::string_view name) noexcept;

/// The same of a field at a path (two steps or more): `user[email]` is
/// `body.user.email` (extractors/name_path.h).
Extracted find_parameter(Arena& arena, std::string_view encoded,
                         std::span<const PathStep> path) noexcept;

/// `raw` decoded, as a value of its own or a view. `plus`: '+' is a blank.
Extracted decoded_value(Arena& arena, std::string_view raw, bool plus) noexcept;

}  // namespace weir::policies
